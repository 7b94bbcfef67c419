import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import type { AttemptKind } from "../../../lib/analysis/columns.ts";
import { SelectedTests } from "../../../lib/analysis/run.ts";
import { passesNeeded } from "../../../lib/evidence/calm.ts";
import { JobRuns, lastRunsOf } from "../../../lib/evidence/stopped.ts";
import {
  retiredEnvironments,
  STOPPED_RUNS,
  stoppedIndex,
} from "../../../lib/evidence/stop_rule.ts";
import { runOf } from "../analysis/run_of.ts";

const run = (
  place: number,
  job: string,
  ended: Record<number, AttemptKind[]> = {},
  { environment = "", shard = "" } = {},
) => runOf(place, ended, { job, environment, shard });

/** Runs in an environment: `.` passed, `F` failed. */
function runsIn(environment: string, signs: string) {
  return Array.from(signs, (sign) => ({ environment, hasFailed: sign === "F" }));
}

describe("a test that stopped running", () => {
  /** When a test stopped that ran where it is marked, one run of its job a second. */
  const stopTime = (turns: string) => stoppedIndex([...turns].map((sign) => sign === "x"));

  it("stopped when its job had run 20 more times", () => {
    assert.equal(stopTime(`xxx${"-".repeat(STOPPED_RUNS)}`), 2 + STOPPED_RUNS);
    assert.equal(stopTime(`xxx${"-".repeat(STOPPED_RUNS - 1)}`), null);
    assert.equal(stopTime("-".repeat(60)), null);
  });

  it("stopped later where it takes turns with others: after as many as there were in 20 of its turns", () => {
    const nights = `x${"-".repeat(24)}`.repeat(4);
    assert.equal(stopTime(nights), null);
    // Three nights had 24 others each.
    const needed = STOPPED_RUNS * 72 / 4;
    assert.equal(stopTime(`${nights}${"-".repeat(needed - 24)}`), 75 + needed);
    assert.equal(stopTime(`${nights}${"-".repeat(needed - 25)}`), null);
    // It ran each time of late.
    assert.equal(stopTime(`${nights}${"x".repeat(20)}${"-".repeat(20)}`), 139);
    // Once in two runs.
    assert.equal(stopTime(`${"x-".repeat(30)}${"-".repeat(19)}`), 78);
  });

  it("did not stop while only other jobs, environments and shards run", () => {
    const others = Array.from({ length: 60 }, (_, place) =>
      [
        run(1 + place, "nightly"),
        run(1 + place, "ci", {}, { environment: "windows" }),
        run(1 + place, "ci", {}, { shard: "2/2" }),
      ][place % 3]!);
    const ranIn = (runNo: number) => runNo === 0;
    assert.equal(new JobRuns([run(0, "ci"), ...others]).stopOf({ last: 0, ranIn }), null);
    const own = Array.from({ length: 20 }, (_, place) => run(61 + place, "ci"));
    const jobRuns = new JobRuns([run(0, "ci"), ...others, ...own]);
    assert.equal(jobRuns.stopOf({ last: 0, ranIn })?.stoppedAt, 80);
    assert.equal(jobRuns.stopOf({ last: -1, ranIn: () => false }), null);
  });

  it("stopped in an environment while it goes on in others, but never in all of them", () => {
    const retired = (...parts: [environment: string, count: number][]) => [
      ...retiredEnvironments(parts.flatMap(([name, count]) => runsIn(name, ".".repeat(count)))),
    ];
    assert.deepEqual(retired(["node-16", 9], ["node-20", 20]), ["node-16"]);
    assert.deepEqual(retired(["node-16", 9], ["node-20", 19]), []);
    assert.deepEqual(retired(["a", 9], ["b", 20], ["c", 20]), ["a", "b"]);
    // A nightly run on Windows.
    const nights = Array(4).fill([["windows", 1], ["linux", 30]]).flat();
    assert.deepEqual(retired(...nights), []);
  });

  it("stopped in an environment where it failed when it has passed elsewhere as often as calm needs", () => {
    const retired = (before: string, after: string) => [
      ...retiredEnvironments([...runsIn("ubuntu-22.04", before), ...runsIn("ubuntu-24.04", after)]),
    ];
    const flaky = ".........F".repeat(10);
    const needed = passesNeeded({ runs: 100, failures: 10 });
    assert.deepEqual(retired(flaky, ".".repeat(needed - 1)), []);
    assert.deepEqual(retired(flaky, ".".repeat(needed)), ["ubuntu-22.04"]);
    assert.deepEqual(retired("F".repeat(5), ".".repeat(20)), ["ubuntu-22.04"]);
    assert.deepEqual(retired("F".repeat(5), "F".repeat(20)), []);
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
