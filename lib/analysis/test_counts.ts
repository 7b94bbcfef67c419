/** How many tests of a run ran, were skipped and failed; what a mass failure is. */
import { forEachException } from "./columns.ts";

/** Tests of a run. One whose outcomes are all unknown is in none of the counts. */
export interface TestCounts {
  /** Tests that passed or failed at least once. */
  ran: number;
  /** Tests that were only skipped. */
  skipped: number;
  /** Tests that failed at least once. */
  failed: number;
}

/** Counts the tests of a list from the ones that did not pass once. */
export function countTests(exceptions: Uint8Array, listedCount: number): TestCounts {
  const counts = { ran: listedCount, skipped: 0, failed: 0 };
  forEachException(exceptions, (_index, { kinds, counts: { positive, negative } }) => {
    if (negative > 0) counts.failed++;
    if (positive + negative > 0) return;
    counts.ran--;
    if (kinds.every((kind) => kind === "skipped")) counts.skipped++;
  });
  return counts;
}

/** The indexes of the tests of a run that failed in one attempt and passed in another. */
export function failedAndPassed(exceptions: Uint8Array): number[] {
  const indexes: number[] = [];
  forEachException(exceptions, (index, { counts: { positive, negative } }) => {
    if (positive > 0 && negative > 0) indexes.push(index);
  });
  return indexes;
}

/** Whether a test of a run passed in one attempt and failed in its last. */
export function hasFailedAfterPass(exceptions: Uint8Array): boolean {
  let found = false;
  forEachException(exceptions, (_index, { counts, outcome }) => {
    found = outcome === "negative" && counts.positive > 0;
    return !found;
  });
  return found;
}

/** A mass failure has at least this many tests, of which more than this share failed. */
export const MASS_FAILURE = { minTests: 20, failedPercent: 20 };

/** Whether enough tests of a run failed that they probably have one reason. */
export function isMassFailure({ ran, failed }: Pick<TestCounts, "ran" | "failed">): boolean {
  return ran >= MASS_FAILURE.minTests && failed * 100 > ran * MASS_FAILURE.failedPercent;
}

/** The median of the counts, rounded down; `null` without any. */
export function medianOf(counts: readonly number[]): number | null {
  if (counts.length === 0) return null;
  const sorted = counts.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return Math.floor((sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2);
}
