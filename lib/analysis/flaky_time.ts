/** The test time that flaky failures cost. */
import type { Run } from "./run.ts";

/** A run at a code version with disruptions; its durations are left out until they are needed. */
export type FlakyRun =
  & Run<"codeVersion" | "job" | "tests" | "results">
  & Partial<Run<"durations">>
  & {
    /** The tests of which a failure in this run is a disruption. */
    disrupted: Pick<ReadonlySet<number>, "has">;
    /** As {@linkcode eventOf} names it. */
    event: string;
  };

/**
 * Names what made CI run: a nightly run of the same code is another event. On the base branch that is the build;
 * on another branch all builds of one code, which nothing but its author runs again.
 */
export function eventOf(
  { buildUrl, branch, isOnBase }: { buildUrl: string; branch: string | null; isOnBase: boolean },
): string {
  return !isOnBase && branch ? `branch ${branch}` : `build ${buildUrl}`;
}

/** The period of a moment, -1 before the first one. */
function periodOf(recordedAt: number, starts: readonly number[]): number {
  return starts.findLastIndex((start) => recordedAt >= start);
}

/**
 * {@linkcode flakyTime} of the code whose flaky failures were all followed by a pass in their run, so that no other
 * run repeats them, and the disrupted runs of other code.
 *
 * @param runs with a disruption
 */
export function timeOfRetries<
  Given extends Pick<FlakyRun, "recordedAt" | "results" | "disrupted"> & Run<"code">,
>(
  runs: readonly Given[],
  starts: readonly number[],
): { microseconds: number[]; repeatable: Given[] } {
  const failures = runs.map((run) => flakyFailures(run));
  const failed = new Set(
    runs.flatMap(({ code }, index) => failures[index]!.failedTests.length > 0 ? [code] : []),
  );
  const microseconds = starts.map(() => 0);
  const repeatable: Given[] = [];
  for (const [index, run] of runs.entries()) {
    const period = periodOf(run.recordedAt, starts);
    if (failed.has(run.code)) repeatable.push(run);
    else if (period >= 0) microseconds[period]! += failures[index]!.failedMicroseconds;
  }
  return { microseconds, repeatable };
}

/**
 * Microseconds that flaky failures caused, by period: the failed attempts of flaky tests and, of runs that repeat a
 * test whose flaky failure is open on the same code for the same event, the time of all tests. Such a run is a job
 * that was run again. A failure is open until the test passes: later runs were for another reason.
 *
 * @param runs oldest first
 * @param starts of the periods, in seconds since 1970, ascending: the time of earlier runs does not count, they only
 * tell what is repeated
 * @returns also the runs whose time is missing because it takes their durations
 */
export function flakyTime<Given extends FlakyRun>(
  runs: readonly Given[],
  starts: readonly number[],
): { microseconds: number[]; incomplete: Given[] } {
  const microseconds = starts.map(() => 0);
  const incomplete: Given[] = [];
  /** The tests with an open flaky failure, by code version, job and event. */
  const openFailures = new Map<string, Set<number>>();
  for (const run of runs) {
    const { tests, durations } = run;
    const version = `${run.codeVersion} ${run.job} ${run.event}`;
    const open = openFailures.get(version) ?? new Set();
    const repeated = [...open].filter((testNo) => tests.indexOf(testNo) >= 0);
    const isRepeated = repeated.length > 0;
    const { failedMicroseconds, failedTests } = flakyFailures(run);
    const period = periodOf(run.recordedAt, starts);
    if (period >= 0) {
      const isComplete = !isRepeated && failedTests.length === 0;
      if (!isComplete && !durations) incomplete.push(run);
      else if (!isRepeated) microseconds[period]! += failedMicroseconds;
      else for (const one of durations!.microseconds()) microseconds[period]! += one;
    }
    if (isRepeated) passedTests(run, repeated).forEach((testNo) => open.delete(testNo));
    if (failedTests.length === 0) continue;
    failedTests.forEach((testNo) => open.add(testNo));
    openFailures.set(version, open);
  }
  return { microseconds, incomplete };
}

/** Which of some tests of a run passed at last in it. */
function passedTests(
  { results }: Pick<FlakyRun, "results">,
  testNos: readonly number[],
): Set<number> {
  const passed = new Set(testNos);
  results.eachException((testNo, { outcome }) => {
    if (outcome !== "positive") passed.delete(testNo);
  });
  return passed;
}

/**
 * The failed attempts of the disrupted tests: their time, and the tests that failed at last. A last attempt
 * took the rest of a total, so the time of these is missing without durations.
 */
function flakyFailures(
  { results, disrupted, durations }: Pick<FlakyRun, "results" | "disrupted" | "durations">,
) {
  let failedMicroseconds = 0;
  const failedTests: number[] = [];
  // A disrupted test did not pass exactly once: the other tests need not be decoded.
  const isDisrupted = (testNo: number) => disrupted.has(testNo);
  results.eachFailedTime(isDisrupted, durations ?? null, (testNo, microseconds, outcome) => {
    failedMicroseconds += microseconds;
    if (outcome === "negative") failedTests.push(testNo);
  });
  return { failedMicroseconds, failedTests };
}
