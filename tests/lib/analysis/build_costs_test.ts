import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { buildKey, costliestTests, failedTestsByBuild } from "../../../lib/analysis/build_costs.ts";
import { failureColumnsOf } from "./grouped_failures.ts";

const tests = "abcdefxyz";

/** `test build`, with `!` for a failure that is no disruption. */
function failuresOf(text: string) {
  const builds: string[] = [];
  const runs = text.split(", ").map((failure, run) => {
    const [test = "", build = ""] = failure.replace("!", "").split(" ");
    if (!builds.includes(build)) builds.push(build);
    const isDisruption = !failure.includes("!");
    return { run, test: tests.indexOf(test), build: builds.indexOf(build), isDisruption };
  });
  const failures = failureColumnsOf(runs);
  const idOf = (test: number) => tests[failures.testNos[test]!]!;
  return { failures, builds: Int32Array.from(runs, ({ build }) => build), idOf };
}

describe("the cost of failures", () => {
  it("is the number of builds, then of disruptions, then decided by id", () => {
    const failures = failuresOf("a 1, a 1, a 1, b 1, b 2, d 3, c 3, e 4, e 4, f 1!, f 2!, f 3!");
    const groups = [...failures.failures.testNos.keys()].map((test) => [test]);
    const costs = costliestTests(failures, { ...failures, groups, limit: 4 });
    assert.deepEqual(costs.map(({ group: _, ...cost }) => cost), [
      { testIds: ["b"], testCount: 1, buildCount: 2, disruptionCount: 2 },
      { testIds: ["a"], testCount: 1, buildCount: 1, disruptionCount: 3 },
      { testIds: ["e"], testCount: 1, buildCount: 1, disruptionCount: 2 },
      { testIds: ["c"], testCount: 1, buildCount: 1, disruptionCount: 1 },
    ]);
  });

  it("is that of all flaky tests that fail together, in one row", () => {
    const failures = failuresOf("x 1, y 1, y 2, z 3!, a 1, a 2, b 9");
    const numbers = new Map(
      Array.from(failures.failures.testNos.keys(), (test) => [failures.idOf(test), test]),
    );
    const groups = ["xyz", "a", "b"].map((group) => [...group].map((id) => numbers.get(id)!));
    assert.deepEqual(costliestTests(failures, { ...failures, groups, limit: 2 }), [
      { testIds: ["y", "x"], testCount: 2, group: groups[0], buildCount: 2, disruptionCount: 3 },
      { testIds: ["a"], testCount: 1, group: groups[1], buildCount: 2, disruptionCount: 2 },
    ]);
  });

  it("keeps flaky and other failures of a build apart", () => {
    const failures = failuresOf("a 1, a 1, b 1!, a 2!, c 3");
    const [a, b] = [0, 1];
    assert.deepEqual([...failedTestsByBuild(failures, [0, 1])], [
      [0, { flaky: new Set([a]), others: new Set([b]) }],
      [1, { flaky: new Set(), others: new Set([a]) }],
    ]);
  });

  it("takes a submission without a build URL for a build", () => {
    assert.equal(buildKey({ submissionId: "s", buildUrl: "" }), "s");
    assert.equal(buildKey({ submissionId: "s", buildUrl: "https://ci/1" }), "https://ci/1");
  });
});
