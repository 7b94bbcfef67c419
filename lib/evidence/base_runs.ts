// Tests: tests/lib/evidence/evidence_test.ts
/** How tests ran on the base branch. */
import { type ImpliedPasses, NO_IMPLIED_PASSES } from "../analysis/repetition/implied_passes.ts";
import { type Run, SelectedTests } from "../analysis/run.ts";
import type { BaseRuns } from "./evidence.ts";

/** A submission on the base branch. */
interface BaseRun extends Run<"job" | "environment" | "results"> {
  branch: string;
  isSameCode: boolean;
  isOutage: boolean;
}

export const NO_BASE_RUNS: BaseRuns = { runCount: 0, failedCount: 0, latest: null };

/**
 * The runs of tests on the base branch by test_no: those of the same job in the same environment, or all if
 * it has none there. A skipped test did not run, and a run with one failed attempt has failed.
 *
 * @param runs newest first
 */
export function countBaseRuns(
  runs: Iterable<BaseRun>,
  { testNos, implied = NO_IMPLIED_PASSES, job, environment }: {
    testNos: Iterable<number>;
    /** Of the set-ups among the tests. */
    implied?: ImpliedPasses;
    job: string;
    environment: string;
  },
): Map<number, BaseRuns> {
  const selected = new SelectedTests(testNos);
  const same = new Map<number, BaseRuns>();
  const all = new Map<number, BaseRuns>();
  for (const run of runs) {
    const isSame = run.job === job && run.environment === environment;
    const addRun = (testNo: number, hasFailed: boolean) => {
      add(all, testNo, run, hasFailed);
      if (isSame) add(same, testNo, run, hasFailed);
    };
    run.results.each(selected, (testNo, { counts: { positive, negative } }) => {
      if (positive + negative > 0) addRun(testNo, negative > 0);
    });
    for (const testNo of implied.in(run.results)) addRun(testNo, false);
  }
  for (const [testNo, ofJob] of same) all.set(testNo, ofJob);
  return all;
}

function add(
  found: Map<number, BaseRuns>,
  testNo: number,
  { submissionId, branch, isSameCode, isOutage }: BaseRun,
  hasFailed: boolean,
): void {
  const { runCount, failedCount, latest } = found.get(testNo) ?? NO_BASE_RUNS;
  found.set(testNo, {
    runCount: runCount + 1,
    failedCount: failedCount + Number(hasFailed),
    latest: latest ?? (isSameCode || isOutage ? null : { submissionId, branch, hasFailed }),
  });
}
