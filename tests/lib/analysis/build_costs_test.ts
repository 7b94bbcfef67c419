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
    const costs = costliestTests(failures, { ...failures, limit: 4 });
    const single = { togetherIds: [], testCount: 1 };
    assert.deepEqual(costs, [
      { testId: "b", buildCount: 2, disruptionCount: 2, ...single },
      { testId: "a", buildCount: 1, disruptionCount: 3, ...single },
      { testId: "e", buildCount: 1, disruptionCount: 2, ...single },
      { testId: "c", buildCount: 1, disruptionCount: 1, ...single },
    ]);
  });

  it("has tests that failed together in one row", () => {
    const failures = failuresOf(
      "x 1, x 2, x 3, y 1, y 2, y 3, z 1, z 2, z 3, c 9, b 9, a 9, d 8, d 9, e 8, f 8",
    );
    const costs = costliestTests(failures, { ...failures, limit: 10 })
      .map(({ testId, testCount, togetherIds }) => [testId, testCount, togetherIds.join()]);
    assert.deepEqual(costs, [
      ["x", 1, ""],
      ["y", 1, ""],
      ["z", 1, ""],
      ["d", 1, ""],
      ["a", 3, "a,b,c"],
      ["e", 1, ""],
      ["f", 1, ""],
    ]);
  });

  it("counts two builds as the same in whichever order their runs came", () => {
    const failures = failuresOf("x 1, a 2, b 1, b 2, c 1, c 2, a 1");
    const [first] = costliestTests(failures, { ...failures, limit: 1 });
    assert.deepEqual([first?.togetherIds, first?.testCount], [["a", "b", "c"], 3]);
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
