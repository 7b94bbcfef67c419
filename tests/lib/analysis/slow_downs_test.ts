import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { testsAsGroups } from "../../../lib/analysis/durations.ts";
import { dailyRuns, findSlowDowns, type TimedRun } from "../../../lib/analysis/slow_downs.ts";
import { runOf } from "./run_of.ts";

const HOUR = 3600;
const TESTS = 40;

/** Pseudo-random numbers from 0 to 1, the same in every run. */
function random(seed: number): () => number {
  return () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** Runs of 40 tests of 3 s, every 4 hours; `seconds` may change the duration of a test. */
function runsOf(
  count: number,
  seconds: (test: number, run: number) => number,
  { noise = 0.1, seed = 1, tests: testCount = TESTS } = {},
): TimedRun[] {
  const next = random(seed);
  return Array.from({ length: count }, (_, run) => {
    const tests = Array.from({ length: testCount }, (_, test) => {
      const factor = 1 + noise * (next() - 0.5);
      const durationMicroseconds = 1000 * Math.round(1000 * factor * seconds(test, run));
      return [test, [{ kind: "positive" as const, durationMicroseconds }]] as const;
    });
    return runOf(run * 4 * HOUR, new Map(tests), { commitOid: `c${run}` });
  });
}

function find(runs: TimedRun[]) {
  return findSlowDowns(runs, new Float64Array(TESTS).fill(3_000_000));
}

describe("a test that became slower", () => {
  it("is found with the runs before and since", () => {
    const found = find(runsOf(40, (test, run) => test === 7 && run >= 25 ? 5 : 3));
    assert.deepEqual([...found.keys()], [7]);
    const { beforeMicroseconds, afterMicroseconds, lastBefore, firstAfter } = found.get(7)!;
    assert.ok(Math.abs(beforeMicroseconds - 3_000_000) < 200_000, String(beforeMicroseconds));
    assert.ok(Math.abs(afterMicroseconds - 5_000_000) < 300_000, String(afterMicroseconds));
    assert.deepEqual([lastBefore.commitOid, firstAfter.commitOid], ["c24", "c25"]);
    assert.equal(firstAfter.recordedAt, 25 * 4 * HOUR);
  });

  it("is found after five runs, or when only five were before, if all are slower since", () => {
    for (const from of [5, 8, 19]) {
      const found = find(runsOf(24, (test, run) => test === 7 && run >= from ? 5 : 3));
      assert.deepEqual([...found.keys()], [7], `since ${from}`);
      assert.equal(found.get(7)!.firstAfter.commitOid, `c${from}`);
    }
    assert.equal(find(runsOf(24, (test, run) => test === 7 && run >= 20 ? 5 : 3)).size, 0);
  });

  it("is found in runs of three tests, not of two", () => {
    const speeds = [1, 2.2, 0.7];
    for (const tests of [3, 5, 9]) {
      const slow = (test: number, run: number) =>
        speeds[run % 3]! * (test === 1 && run >= 25 ? 5 : 3);
      assert.deepEqual([...find(runsOf(50, slow, { tests })).keys()], [1], `${tests} tests`);
      assert.equal(find(runsOf(50, (_, run) => run >= 25 ? 6 : 3, { tests })).size, 0);
    }
    const ofTwo = runsOf(50, (test, run) => test === 1 && run >= 25 ? 5 : 3, { tests: 2 });
    assert.equal(find(ofTwo).size, 0);
  });

  it("is found on machines of different speed, and with outliers", () => {
    const speeds = [1, 2.5, 0.7, 1.3];
    const found = find(runsOf(60, (test, run) => {
      const outlier = (run * 7 + test) % 23 === 0 ? 4 : 1;
      return speeds[run % 4]! * outlier * (test === 7 && run >= 30 ? 4.5 : 3);
    }));
    assert.deepEqual([...found.keys()], [7]);
  });

  it("is not found because of one day on a slow machine", () => {
    assert.equal(find(runsOf(40, (_test, run) => run >= 34 ? 9 : 3)).size, 0);
    assert.equal(find(runsOf(40, (_test, run) => run >= 20 ? 9 : 3)).size, 0);
  });

  it("is not found by chance", () => {
    for (let seed = 1; seed <= 20; seed++) {
      assert.equal(find(runsOf(30, () => 3, { noise: 1, seed })).size, 0, `seed ${seed}`);
      const ofFew = runsOf(30, () => 3, { noise: 1, seed, tests: 3 });
      assert.equal(find(ofFew).size, 0, `seed ${seed}`);
    }
  });

  it("needs 20 runs, 3 days, 20 % and a second", () => {
    const since = (from: number, seconds: number) => (test: number, run: number) =>
      test === 7 && run >= from ? seconds : 3;
    assert.equal(find(runsOf(19, since(10, 5))).size, 0);
    assert.equal(find(runsOf(20, since(10, 5))).size, 1);
    const quick = runsOf(20, since(10, 5)).map((run) => ({
      ...run,
      recordedAt: run.recordedAt / 4,
    }));
    assert.equal(find(quick).size, 0);
    assert.equal(find(runsOf(40, since(20, 3.9), { noise: 0 })).size, 0);
    const long = (from: number, seconds: number) => (test: number, run: number) =>
      test === 7 ? run >= from ? seconds : 30 : 3;
    assert.equal(find(runsOf(40, long(20, 35), { noise: 0 })).size, 0);
    assert.equal(find(runsOf(40, long(20, 37), { noise: 0 })).size, 1);
  });

  it("is not one that became faster, or is skipped at times", () => {
    assert.equal(find(runsOf(40, (test, run) => test === 7 && run >= 20 ? 1 : 3)).size, 0);
    assert.equal(find(runsOf(40, (test, run) => test === 7 && run < 20 ? 0 : 3)).size, 0);
  });
});

describe("the runs in which slow-downs are looked for", () => {
  const at = (hour: number, environment = "linux") =>
    runOf(hour * HOUR, { 1: ["positive"] }, { environment });
  const found = (runs: ReturnType<typeof at>[]) => {
    const newestFirst = runs.toReversed();
    return dailyRuns(newestFirst, testsAsGroups(newestFirst).groups)
      .map(({ recordedAt }) => recordedAt / HOUR);
  };

  it("are the latest eight of each day", () => {
    const runs = Array.from({ length: 30 }, (_, hour) => at(hour));
    assert.deepEqual(found(runs), [29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16]);
  });

  it("are of the environment of most runs, the first by name of several", () => {
    assert.deepEqual(found([at(0, "windows"), at(1), at(2), at(3, "windows"), at(4)]), [4, 2, 1]);
    assert.deepEqual(found([at(0, "windows"), at(1)]), [1]);
    assert.deepEqual(found([]), []);
  });
});
