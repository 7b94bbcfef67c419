// Tests: tests/db/read/tracked_tests_test.ts tests/lib/analysis/order_test.ts
import type { TestIdentity } from "../base/identity.ts";
import type { Quarantine } from "./quarantine.ts";
import type { RunTotals } from "./run_counts.ts";

/** A positive result of a test at a code version where the test is nondeterministic. */
export interface LatestPositive {
  /** Seconds since 1970. */
  recordedAt: number;
  buildUrl: string;
}

/** A negative result of a test at a code version where the test is nondeterministic. */
export interface LatestDisruption extends LatestPositive {
  commitOid: string;
  message: string;
}

/** A test that lists can show: disruptive or quarantined. Totals count the window. */
export interface TrackedTest extends TestIdentity, RunTotals {
  /** 24 lower-case hex digits. */
  id: string;
  /** The same by number, within its repository. */
  repositoryId: number;
  testNo: number;
  /** Sorted. */
  tags: string[];
  /** Disruptions in the window. */
  disruptionCount: number;
  /** Seconds since 1970 of the first disruption ever, `null` when there was none. */
  firstDisruptionAt: number | null;
  /** The latest ever, `null` when there was none. */
  latestDisruption: LatestDisruption | null;
  /** The latest ever, `null` when the test was never disruptive. */
  latestPositive: LatestPositive | null;
  /** `null` when the test is not quarantined. */
  quarantine: Quarantine | null;
}

/** Passes in the positive and negative results, in truncated thousandths; `null` without any. */
export function passRateThousandths(
  { countedResultCount, negativeResultCount }: Omit<RunTotals, "timeConsumed" | "resultCount">,
): number | null {
  if (countedResultCount === 0) return null;
  return Math.floor(((countedResultCount - negativeResultCount) * 1000) / countedResultCount);
}

/** Average duration in tenths of a millisecond, rounded half up; `null` without any result. */
export function averageDurationTenths({ timeConsumed, resultCount }: RunTotals): number | null {
  if (timeConsumed === null || resultCount === 0) return null;
  // Microseconds; exact, because the integers are safe.
  return Math.floor((timeConsumed + 50 * resultCount) / (100 * resultCount));
}

/** Share of disruptions in the positive and negative results of a test, in truncated thousandths. */
export function disruptivenessThousandths(
  test: Pick<TrackedTest, "disruptionCount" | "countedResultCount">,
): number {
  if (test.countedResultCount === 0) return 0;
  return Math.floor((test.disruptionCount * 1000) / test.countedResultCount);
}
