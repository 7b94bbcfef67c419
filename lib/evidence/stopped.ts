/** Tests that stopped running: their job goes on without them. */
import type { Run, SelectedTests, TestList } from "../analysis/run.ts";
import { exceptionsOf } from "./outcomes_of_runs.ts";
import { STOPPED_RUNS } from "./states.ts";

type JobRun = Run<"job" | "environment" | "shard">;

/** The runs of each job, in an environment and a shard; they are added from the newest to the oldest. */
export class LaterRuns {
  readonly #times = new Map<string, number[]>();

  /** When the job of a run ran after it, in seconds since 1970, the newest first. */
  after({ job, environment, shard }: JobRun): readonly number[] {
    return this.#times.get(keyOf(job, environment, shard)) ?? [];
  }

  add({ job, environment, shard, recordedAt }: JobRun): void {
    const key = keyOf(job, environment, shard);
    const times = this.#times.get(key);
    if (times) times.push(recordedAt);
    else this.#times.set(key, [recordedAt]);
  }
}

function keyOf(...place: string[]): string {
  return JSON.stringify(place);
}

/**
 * For each run, when its job had run 20 more times, in seconds since 1970; `null` if it has not. A test whose last
 * run it is stopped then.
 *
 * @param runs without outages, oldest first
 */
export function stopTimesOf(runs: readonly JobRun[]): (number | null)[] {
  const later = new LaterRuns();
  return runs.toReversed().map((run) => {
    const stoppedAt = later.after(run).at(-STOPPED_RUNS) ?? null;
    later.add(run);
    return stoppedAt;
  }).reverse();
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
