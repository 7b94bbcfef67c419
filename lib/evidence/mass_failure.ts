// Tests: tests/lib/cli/gate_run/lookup_test.ts tests/lib/evidence/evidence_test.ts
/** Runs in which many tests fail: outages, which others have too, and changes that break much. */
import { isMassFailure, type TestCounts } from "../analysis/test_counts.ts";
import type { MassFailure } from "./evidence.ts";

/** How far back other branches are searched for the causes of a run in which many tests failed. */
export const OUTAGE_SECONDS = 2 * 3600;

/** How far back other branches are searched for the causes of tests that failed together. */
export const TOGETHER_SECONDS = 24 * 3600;

/** Tests of a run that failed with the same causes. */
export interface CauseCount {
  /** Fingerprints, without unknown causes. */
  causes: readonly string[];
  testCount: number;
}

/**
 * What kind of mass failure a run is, `null` for none: an outage if at least half of its failed tests have a
 * cause that mass failures of others had in the last two hours. That one test of another branch failed with a common
 * message, such as that of a `TypeError`, is no sign of an outage.
 *
 * @param ofOthers the causes of these mass failures, as `causesOfOthers`
 */
export function massFailureOf(
  counts: Pick<TestCounts, "ran" | "failed">,
  failed: Iterable<CauseCount>,
  ofOthers: ReadonlySet<string>,
): MassFailure | null {
  if (!isMassFailure(counts)) return null;
  // As mostly. The causes of a million failures take a second to list.
  if (ofOthers.size === 0) return "together";
  let seen = 0;
  for (const { causes, testCount } of failed) {
    if (causes.some((cause) => ofOthers.has(cause))) seen += testCount;
  }
  return seen * 2 >= counts.failed ? "outage" : "together";
}

/** What kind of mass failure a stored submission is. */
export function storedMassFailure(
  { isOutage, ranTestCount: ran, failedTestCount: failed }: {
    isOutage: boolean;
    ranTestCount: number | null;
    failedTestCount: number | null;
  },
): MassFailure | null {
  if (isOutage) return "outage";
  return isMassFailure({ ran: ran ?? 0, failed: failed ?? 0 }) ? "together" : null;
}
