/** Tests that stopped running: their job goes on without them. */
import type { Run, SelectedTests, TestList } from "../analysis/run.ts";
import { exceptionsOf } from "./outcomes_of_runs.ts";
import { STOPPED_RUNS, stoppedIndex } from "./stop_rule.ts";

type JobRun = Run<"job" | "environment" | "shard">;

/** A job in an environment and a shard. */
export function jobKeyOf({ job, environment, shard }: JobRun): string {
  return JSON.stringify([job, environment, shard]);
}

/** That the job of a test runs without it. Times are in seconds since 1970. */
export interface Stopped {
  /** The last run with the test. */
  lastRunAt: number;
  /** When its job had run often enough without it. */
  stoppedAt: number;
  /** Runs of its job, in its environment and shard, that came after its last run. */
  jobRuns: number;
}

/** Runs by their job, for the question when each of thousands of tests stopped running. */
export class JobRuns {
  readonly #runs: readonly JobRun[];
  /** By job: its runs, oldest first. */
  readonly #runNos: Map<string, number[]>;

  /** @param runs those that count, oldest first */
  constructor(runs: readonly JobRun[]) {
    this.#runs = runs;
    this.#runNos = Map.groupBy(runs.keys(), (runNo) => jobKeyOf(runs[runNo]!));
  }

  /** The last run after which a test may have stopped, whatever test it is; -1 without one. */
  get lastBeforeStop(): number {
    return Math.max(
      -1,
      ...[...this.#runNos.values()].map((own) => own.at(-STOPPED_RUNS - 1) ?? -1),
    );
  }

  /**
   * Where a test stopped running; `null` while it runs.
   *
   * @param options.last its last run, -1 without one
   * @param options.ranIn whether it ran in a run
   */
  stopOf({ last, ranIn }: { last: number; ranIn(runNo: number): boolean }): Stopped | null {
    const own = last < 0 ? [] : this.#runNos.get(jobKeyOf(this.#runs[last]!))!;
    // Nearly all tests are in the latest runs.
    if ((own.at(-STOPPED_RUNS) ?? -1) <= last) return null;
    const stop = stoppedIndex(own.map(ranIn));
    if (stop === null) return null;
    const at = (runNo: number) => this.#runs[runNo]!.recordedAt;
    const jobRuns = own.length - 1 - own.lastIndexOf(last);
    return { lastRunAt: at(last), stoppedAt: at(own[stop]!), jobRuns };
  }
}

/**
 * By the places of some tests: the last run in which each of them passed or failed, -1 without one.
 *
 * @param runs oldest first
 */
export function lastRunsOf(runs: readonly Run<"results">[], selected: SelectedTests): Int32Array {
  const last = new Int32Array(selected.testNos.length).fill(-1);
  const { testNos, outcomes, starts } = exceptionsOf(runs);
  // Those in each list whose last run is not found yet: after some runs there are few.
  const openIn = new Map<TestList, number[]>();
  for (let runNo = runs.length - 1; runNo >= 0; runNo--) {
    const { results: { tests } } = runs[runNo]!;
    const listed = openIn.get(tests) ??
      Array.from(selected.indexesIn(tests), (index) => selected.placeOf(tests.testNos[index]!));
    const open = listed.filter((place) => last[place] === -1);
    openIn.set(tests, open);
    if (open.length === 0) continue;
    for (const place of open) last[place] = runNo;
    for (let at = starts[runNo]!; at < starts[runNo + 1]!; at++) {
      if (outcomes[at] !== 0) continue;
      const place = selected.placeOf(testNos[at]!);
      // It was only skipped.
      if (last[place] === runNo) last[place] = -1;
    }
  }
  return last;
}
