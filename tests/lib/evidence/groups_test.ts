import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { groupFailures, rowsOfGroups } from "../../../lib/evidence/groups.ts";

/** Failures of a test in runs, each a build of its own. */
function failures(testNo: number, runs: string, ...fingerprints: string[]) {
  return [...runs].map((runId) => ({ testNo, runId, buildId: runId, fingerprints }));
}

function testsOf(groups: ReturnType<typeof groupFailures>): number[][] {
  return groups.map(({ testNos }) => testNos);
}

describe("groups of failures", () => {
  it("join tests whose failing runs overlap by half, at least three", () => {
    assert.deepEqual(
      testsOf(
        groupFailures([...failures(1, "abcd"), ...failures(2, "abce"), ...failures(3, "fgh")]),
      ),
      [[1, 2], [3]],
    );
    // Two common runs of two, and three of seven.
    assert.deepEqual(testsOf(groupFailures([...failures(1, "ab"), ...failures(2, "ab")])), [[1], [
      2,
    ]]);
    assert.deepEqual(
      testsOf(groupFailures([...failures(1, "abcde"), ...failures(2, "abcfg")])),
      [[1], [2]],
    );
  });

  it("join tests with a common cause, across others", () => {
    const [group, ...others] = groupFailures([
      ...failures(1, "a", "x"),
      ...failures(2, "b", "x", "y"),
      ...failures(3, "c", "y"),
    ]);
    assert.deepEqual(others, []);
    assert.deepEqual(group, { testNos: [1, 2, 3], fingerprints: ["x", "y"], builds: 3 });
  });

  it("do not join failures of unknown cause", () => {
    assert.equal(groupFailures([...failures(1, "a"), ...failures(2, "a")]).length, 2);
  });

  it("count a build once and come with the most expensive first", () => {
    const sameBuild = failures(1, "ab", "x").map((one) => ({ ...one, buildId: "1" }));
    const found = groupFailures([...sameBuild, ...failures(2, "cd", "y")]);
    assert.deepEqual(found.map(({ testNos, builds }) => [testNos[0], builds]), [[2, 2], [1, 1]]);
  });
});

describe("rows of groups", () => {
  it("put the tests of a group behind the first of them, in their order", () => {
    const tests = ["a", "b", "c", "d"].map((id) => ({ id }));
    const rows = rowsOfGroups(tests, [["d", "b", "x"]]);
    assert.deepEqual(rows.map((row) => row.map(({ id }) => id)), [["a"], ["b", "d"], ["c"]]);
  });
});
