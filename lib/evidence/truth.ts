// Tests: tests/lib/evidence/record_test.ts tests/lib/evidence/shares_test.ts
/** Whether a failure was due to the change: what later runs of the same code, and of its branch, showed. */

/** `not_the_change`: the same code passed, too; `the_change`: that, or the environment. */
export type Truth = "not_the_change" | "the_change";

/** Runs of a test at one code version. */
export interface VersionRuns {
  /** Submissions in which it passed or failed. */
  runCount: number;
  /** Whether it passed in one of them, or in a retry. */
  hasPassed: boolean;
}

/** The first run and two more. */
const MIN_FAILED_RUNS = 3;

/** Code versions of a branch at which a test fails until this is due to the code. */
export const MIN_FAILED_VERSIONS = 3;

/**
 * The truth of the failure at the code version at `index`, `null` while it is open: the same code passed;
 * or it ran twice more and never passed, or it failed at three code versions in a row.
 *
 * @param versions code versions of a branch at which the test ran, in the order of their first runs
 */
export function truthAt(versions: readonly VersionRuns[], index: number): Truth | null {
  const { runCount, hasPassed } = versions[index]!;
  if (hasPassed) return "not_the_change";
  if (runCount >= MIN_FAILED_RUNS) return "the_change";
  const hasFailed = (at: number) => versions[at]?.hasPassed === false;
  let start = index;
  while (hasFailed(start - 1)) start--;
  let end = index + 1;
  while (hasFailed(end)) end++;
  return end - start >= MIN_FAILED_VERSIONS ? "the_change" : null;
}
