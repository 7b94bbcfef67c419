import { compareTexts } from "../base/text.ts";
import type { TrackedTest } from "./tracked_test.ts";

/** The values of `sort`, the default first. */
export const TEST_ORDERS = ["disruptivenessRatio", "recency"] as const;

export type TestOrder = typeof TEST_ORDERS[number];

const COMPARISONS: Record<TestOrder, (a: TrackedTest, b: TrackedTest) => number> = {
  disruptivenessRatio: (a, b) =>
    compareRatio(b, a) || compareLatest(b, a) || compareTexts(a.id, b.id),
  recency: (a, b) => compareLatest(b, a) || compareTexts(a.id, b.id),
};

/**
 * Sorts tests into a new array: `disruptivenessRatio` by the exact ratio, greatest first;
 * `recency` by the latest disruption, latest first. Ties go to the latest disruption, then to the
 * smaller id. Tests that were never disruptive come last.
 */
export function sortTests<T extends TrackedTest>(tests: readonly T[], order: TestOrder): T[] {
  return tests.toSorted(COMPARISONS[order]);
}

// Two ratios can differ by less than the precision of a division: a/b < c/d is a*d < c*b, whose
// products are exact, far below 2^53. Without results the ratio is 0.
function compareRatio(a: TrackedTest, b: TrackedTest): number {
  return a.disruptionCount * Math.max(b.countedResultCount, 1) -
    b.disruptionCount * Math.max(a.countedResultCount, 1);
}

// A test that was never disruptive sorts as the oldest.
function compareLatest(a: TrackedTest, b: TrackedTest): number {
  return (a.latestDisruption?.recordedAt ?? -1) - (b.latestDisruption?.recordedAt ?? -1);
}
