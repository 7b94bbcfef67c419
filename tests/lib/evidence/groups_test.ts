import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { groupedBy, groupsByBuilds, rowsOfGroups } from "../../../lib/evidence/groups.ts";

/** Failures of tests in runs: by test, its runs, a letter each, and its causes. */
function failed(...tests: [runs: string, ...causes: string[]][]) {
  return tests.map(([runs, ...causes], index) => ({
    test: index + 1,
    runs: Array.from(runs, (run) => run.charCodeAt(0) - "a".charCodeAt(0)),
    causes,
  }));
}

function testsOf(groups: { tests: ReturnType<typeof failed> }[]): number[][] {
  return groups.map(({ tests }) => tests.map(({ test }) => test));
}

/** Every pair compared, without a thought for time. */
function slowGroups(tests: ReturnType<typeof failed>): number[][] {
  const groups = tests.map(({ test }) => [test]);
  for (const one of tests) {
    for (const other of tests) {
      const common = one.runs.filter((run) => other.runs.includes(run)).length;
      const either = one.runs.length + other.runs.length - common;
      if (common < 3 || 2 * common < either) continue;
      const [of, into] = [one, other].map(({ test }) =>
        groups.findIndex((group) => group.includes(test))
      ) as [number, number];
      if (of !== into) groups[into]!.push(...groups.splice(of, 1, [])[0]!);
    }
  }
  return groups.filter((group) => group.length > 0).map((group) => group.sort((a, b) => a - b))
    .sort((a, b) => a[0]! - b[0]!);
}

describe("groups of failures", () => {
  it("join tests whose failing runs overlap by half, at least three", () => {
    assert.deepEqual(testsOf(groupsByBuilds(failed(["abcd"], ["abce"], ["fgh"]))), [[1, 2], [3]]);
    // Two common runs of two, and three of seven.
    assert.deepEqual(testsOf(groupsByBuilds(failed(["ab"], ["ab"]))), [[1], [2]]);
    assert.deepEqual(testsOf(groupsByBuilds(failed(["abcde"], ["abcfg"]))), [[1], [2]]);
  });

  it("join tests with a common cause, across others", () => {
    const groups = groupsByBuilds(failed(["a", "x"], ["b", "x", "y"], ["c", "y"]));
    assert.deepEqual(testsOf(groups), [[1, 2, 3]]);
    assert.equal(groups[0]!.builds, 3);
  });

  it("are of runs that overlap, of a common cause, or of both", () => {
    assert.equal(groupedBy(failed(["abcd"], ["abce"])), "runs");
    assert.equal(groupedBy(failed(["abcd", "x"], ["abce", "x"])), "runs");
    assert.equal(groupedBy(failed(["a", "x"], ["b", "x"], ["c", "x"])), "cause");
    // Two common runs are an accident as well.
    assert.equal(groupedBy(failed(["ab", "x"], ["ab", "x"])), "cause");
    assert.equal(groupedBy(failed(["abcd"], ["abce", "x"], ["f", "x"])), "both");
  });

  it("do not join failures of unknown cause", () => {
    assert.equal(groupsByBuilds(failed(["a"], ["a"])).length, 2);
  });

  it("count a build once and come with the most expensive first", () => {
    // The first two runs are one build.
    const buildOf = (run: number) => Math.max(run, 1);
    const groups = groupsByBuilds(failed(["ab", "x"], ["cd", "y"]), buildOf);
    assert.deepEqual(groups.map(({ tests, builds }) => [tests[0]!.test, builds]), [[2, 2], [
      1,
      1,
    ]]);
  });

  it("are those of all pairs, with runs in which few tests failed, many, and all", () => {
    let seed = 7;
    const random = () => (seed = seed * 48_271 % 2_147_483_647) / 2_147_483_647;
    for (let round = 0; round < 200; round++) {
      const outages = Math.floor(random() * 5);
      const tests = Array.from({ length: 2 + Math.floor(random() * 40) }, () => {
        const rate = random() < 0.5 ? 0.3 : 0.05;
        const runs = Array.from({ length: 60 }, (_, run) => run)
          .filter((run) => random() < (run < outages ? 0.9 : rate));
        return [String.fromCharCode(...runs.map((run) => run + "a".charCodeAt(0)))] as [string];
      }).filter(([runs]) => runs !== "");
      const groups = testsOf(groupsByBuilds(failed(...tests)));
      assert.deepEqual(groups.sort((a, b) => a[0]! - b[0]!), slowGroups(failed(...tests)));
    }
  });
});

describe("rows of groups", () => {
  it("put the tests of a group behind the first of them, in their order", () => {
    const tests = ["a", "b", "c", "d"].map((id) => ({ id }));
    const group = {};
    const rows = rowsOfGroups(tests, ({ id }) => "bd".includes(id) ? group : undefined);
    assert.deepEqual(rows.map((row) => row.map(({ id }) => id)), [["a"], ["b", "d"], ["c"]]);
  });
});
