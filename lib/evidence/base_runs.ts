// Tests: tests/lib/evidence/base_runs_test.ts
/** Which runs on the base branch say how its tests are. */
import type { Run } from "../analysis/run.ts";
import { MIN_BROKEN_RUNS } from "./states.ts";
import { jobKeyOf } from "./stopped.ts";

type BaseRun = Run<"isOutage" | "code" | "job" | "environment" | "shard">;

/**
 * The runs without those of outages, in their order. An ongoing outage of a job that spans at least three code versions
 * counts: that is a breakage.
 *
 * @param runs oldest first
 */
export function countedRuns<Given extends BaseRun>(runs: readonly Given[]): Given[] {
  if (!runs.some(({ isOutage }) => isOutage)) return [...runs];
  const counted = new Set<Given>();
  for (const own of Map.groupBy(runs, jobKeyOf).values()) {
    const latest = own.slice(own.findLastIndex(({ isOutage }) => !isOutage) + 1);
    const codes = new Set(latest.map(({ code }) => code));
    if (codes.size >= MIN_BROKEN_RUNS) latest.forEach((run) => counted.add(run));
  }
  return runs.filter((run) => !run.isOutage || counted.has(run));
}
