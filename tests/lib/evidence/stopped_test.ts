import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import type { AttemptKind } from "../../../lib/analysis/columns.ts";
import { SelectedTests } from "../../../lib/analysis/run.ts";
import { STOPPED_RUNS } from "../../../lib/evidence/states.ts";
import { lastRunsOf, LaterRuns, stopTimesOf } from "../../../lib/evidence/stopped.ts";
import { runOf } from "../analysis/run_of.ts";

const run = (
  place: number,
  job: string,
  ended: Record<number, AttemptKind[]> = {},
  { environment = "", shard = "" } = {},
) => runOf(place, ended, { job, environment, shard });

describe("a test that stopped running", () => {
  it("stopped when its job had run 20 more times", () => {
    const runs = Array.from({ length: STOPPED_RUNS + 2 }, (_, place) => run(place, "ci"));
    assert.deepEqual(stopTimesOf(runs).slice(0, 3), [STOPPED_RUNS, STOPPED_RUNS + 1, null]);
  });

  it("did not stop while only other jobs, environments and shards run", () => {
    const others = Array.from({ length: 60 }, (_, place) =>
      [
        run(1 + place, "nightly"),
        run(1 + place, "ci", {}, { environment: "windows" }),
        run(1 + place, "ci", {}, { shard: "2/2" }),
      ][place % 3]!);
    assert.equal(stopTimesOf([run(0, "ci"), ...others])[0], null);
  });

  it("is found by the runs that are known when its last run is met", () => {
    const later = new LaterRuns();
    for (const place of [9, 7, 5]) later.add(run(place, place === 7 ? "nightly" : "ci"));
    assert.deepEqual(later.after(run(3, "ci")), [9, 5]);
    assert.deepEqual(later.after(run(3, "other")), []);
  });

  it("ran last where it passed or failed, not where it was only skipped", () => {
    const runs = [
      run(0, "ci", { 1: ["positive"], 2: ["negative"], 3: ["skipped"] }),
      run(1, "ci", { 1: ["positive"], 4: ["positive"] }),
      run(2, "ci", { 1: ["skipped"], 2: ["skipped", "positive"] }),
      run(3, "ci", { 1: ["skipped"], 4: ["positive"] }),
    ];
    const selected = new SelectedTests([4, 3, 2, 1, 9]);
    assert.deepEqual([...lastRunsOf(runs, selected)], [3, -1, 2, 1, -1]);
  });
});
