/** Which tests made a build fail. */
import { type Run, SelectedTests } from "./run.ts";

/**
 * The tests whose latest run in a job failed, of those that failed in a build. Of several runs of one job in
 * one environment the latest in which a test ran decides: a job that was run again and passed is not red, but
 * one that failed on Windows is, whatever passed on Linux.
 *
 * @param runs newest first
 */
export function failedTests(
  runs: readonly Run<"environment" | "job" | "results">[],
  testNos: Iterable<number>,
): Set<number> {
  const selected = new SelectedTests(testNos);
  const failed = new Set<number>();
  const jobs = Map.groupBy(runs, ({ environment, job }) => JSON.stringify([environment, job]));
  for (const runsOfJob of jobs.values()) {
    const decided = new Set<number>();
    for (const { results } of runsOfJob) {
      results.each(selected, (testNo, { outcome }) => {
        // Where it was skipped, an earlier run decides.
        if (outcome === "skipped" || decided.has(testNo)) return;
        decided.add(testNo);
        if (outcome === "negative") failed.add(testNo);
      });
    }
  }
  return failed;
}
