import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import type { Attempt, AttemptKind } from "../../../lib/analysis/columns.ts";
import { SelectedTests } from "../../../lib/analysis/run.ts";
import { runOf } from "./run_of.ts";

/** Attempts that took 1, 2, 3 ... milliseconds. */
function attempts(...kinds: AttemptKind[]): Attempt[] {
  return kinds.map((kind, index) => ({ kind, durationMicroseconds: (index + 1) * 1000 }));
}

const TESTS = new Map([
  [7, attempts("positive")],
  [3, attempts("skipped")],
  [9, attempts("negative", "positive")],
  [1, attempts("positive")],
  [4, attempts("negative")],
]);

describe("a run", () => {
  const run = runOf(1, TESTS);

  it("counts the results of a test, and has none of one that did not run", () => {
    assert.deepEqual(run.results.counts(7), { positive: 1, negative: 0, skipped: 0, unknown: 0 });
    assert.deepEqual(run.results.counts(9), { positive: 1, negative: 1, skipped: 0, unknown: 0 });
    assert.deepEqual(run.results.counts(4), { positive: 0, negative: 1, skipped: 0, unknown: 0 });
    assert.equal(run.results.counts(2), null);
  });

  it("has the attempts of a test with their durations", () => {
    const total = run.durations.microseconds();
    for (const [index, [testNo, own]] of [...TESTS].entries()) {
      assert.deepEqual(run.results.attempts(testNo, total[index]!), own);
    }
    assert.deepEqual(run.results.attempts(2, 0), []);
    assert.deepEqual([...run.results.allAttempts(run.durations)], [...TESTS]);
  });

  it("visits some tests in the order of its list, those that passed once included", () => {
    const visited = (...testNos: number[]) => {
      const found: [number, string][] = [];
      const selected = new SelectedTests(testNos);
      run.results.each(selected, (testNo, { kinds }) => found.push([testNo, kinds.join()]));
      return found;
    };
    assert.deepEqual(visited(1, 9, 7, 2, 100), [
      [7, "positive"],
      [9, "negative,positive"],
      [1, "positive"],
    ]);
    assert.deepEqual(visited(4), [[4, "negative"]]);
    assert.deepEqual(visited(1), [[1, "positive"]]);
    assert.deepEqual(visited(2), []);
    assert.deepEqual(visited(), []);
    assert.equal(visited(...TESTS.keys()).length, 5);
  });

  it("visits the tests that did not pass exactly once", () => {
    const found: [number, string][] = [];
    run.results.eachException((testNo, { kinds }) => found.push([testNo, kinds.join()]));
    assert.deepEqual(found, [[3, "skipped"], [9, "negative,positive"], [4, "negative"]]);
  });

  it("knows the time of earlier failures without durations, but not of the last attempt", () => {
    const failures = (durations: typeof run.durations | null) => {
      const found: [number, number, string][] = [];
      run.results.eachFailedTime(
        (testNo) => testNo !== 3,
        durations,
        (testNo, microseconds, outcome) => found.push([testNo, microseconds, outcome]),
      );
      return found;
    };
    assert.deepEqual(failures(null), [[9, 1000, "positive"], [4, 0, "negative"]]);
    assert.deepEqual(failures(run.durations), [[9, 1000, "positive"], [4, 1000, "negative"]]);
  });

  it("has the time of some tests as of all", () => {
    const all = [...run.durations.microseconds()];
    for (const indexes of [[], [0], [2], [4], [0, 3, 4], [0, 1, 2, 3, 4]]) {
      assert.deepEqual(
        [...run.durations.microsecondsAt(Int32Array.from(indexes))],
        indexes.map((index) => all[index]),
      );
    }
  });

  it("has the time of each test, and how many ran", () => {
    assert.deepEqual([...run.durations.microseconds()], [1000, 1000, 3000, 1000, 1000]);
    assert.deepEqual(run.results.testCounts(), { ran: 4, skipped: 1, failed: 2 });
  });

  it("shares the places of tests with runs of the same list", () => {
    const selected = new SelectedTests([1]);
    const other = runOf(2, TESTS);
    assert.equal(selected.indexesIn(run.tests), selected.indexesIn(other.tests));
    assert.deepEqual([...selected.indexesIn(runOf(3, { 1: ["positive"] }).tests)], [0]);
  });
});
