import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  groupsOf,
  LatestDurations,
  latestRuns,
  runsByWeek,
  testsAsGroups,
} from "../../../lib/analysis/durations.ts";
import { runOf } from "./run_of.ts";

/** A run of tests that took these milliseconds. */
function run(at: number, milliseconds: Record<number, number>) {
  const tests = Object.entries(milliseconds).map(([testNo, own]) =>
    [
      Number(testNo),
      [{ kind: "positive" as const, durationMicroseconds: own * 1000 }],
    ] as const
  );
  return runOf(at, new Map(tests));
}

const times = (runs: { recordedAt: number }[]) => runs.map(({ recordedAt }) => recordedAt);

describe("the latest runs", () => {
  it("are those in which a group has not run often enough since", () => {
    const runs = [run(5, { 1: 1 }), run(4, { 1: 1 }), run(3, { 1: 1 }), run(2, { 2: 1 })];
    const { groups } = testsAsGroups(runs);
    assert.deepEqual(times(latestRuns(runs, groups, { maxRuns: 2 })), [5, 4, 2]);
    assert.deepEqual(times(latestRuns(runs, groups)), [5, 4, 3, 2]);
  });

  it("are those of the tests in groups", () => {
    const runs = [run(3, { 2: 1 }), run(2, { 1: 1, 2: 1 }), run(1, { 3: 1 })];
    assert.deepEqual(times(latestRuns(runs, groupsOf([Int32Array.of(1)]))), [2]);
  });

  it("have a median and a percentile for each group, of all its tests together", () => {
    const groups = groupsOf([Int32Array.of(1, 2), Int32Array.of(3)]);
    const latest = new LatestDurations(groups);
    for (const one of [run(3, { 1: 5, 2: 2 }), run(2, { 1: 9 }), run(1, { 1: 1, 3: 4 })]) {
      latest.add(one);
    }
    const found = latest.finish().map((
      one,
    ) => [one.medianMicroseconds, one.p90Microseconds, one.runCount]);
    assert.deepEqual(found, [[7000, 9000, 3], [4000, 4000, 1]]);
  });

  it("of weeks end with the last of them", () => {
    const WEEK = 7 * 24 * 3600;
    const runs = [run(3 * WEEK, {}), run(2 * WEEK, {}), run(WEEK, {}), run(WEEK - 1, {})];
    const weeks = [...runsByWeek(runs, { since: 0, weeks: 3 })];
    assert.deepEqual(weeks.map(([week, own]) => [week, own.length]), [[2, 1], [1, 1], [0, 1]]);
  });
});
