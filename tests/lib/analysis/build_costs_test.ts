import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { buildKey, costliestTests, failedTestsByBuild } from "../../../lib/analysis/build_costs.ts";

/** `test build`, with `!` for a failure that is no disruption. */
function failuresOf(text: string) {
  return text.split(", ").map((failure) => {
    const [testId = "", build = ""] = failure.replace("!", "").split(" ");
    return { testId, build, isDisruption: !failure.includes("!") };
  });
}

describe("the cost of failures", () => {
  it("is the number of builds, then of disruptions, then decided by id", () => {
    const failures = failuresOf("a 1, a 1, a 1, b 1, b 2, d 3, c 3, e 4, e 4, f 1!, f 2!, f 3!");
    const costs = costliestTests(failedTestsByBuild(failures).values(), 4);
    assert.deepEqual(costs, [
      { testId: "b", buildCount: 2, disruptionCount: 2 },
      { testId: "a", buildCount: 1, disruptionCount: 3 },
      { testId: "e", buildCount: 1, disruptionCount: 2 },
      { testId: "c", buildCount: 1, disruptionCount: 1 },
    ]);
  });

  it("keeps flaky and other failures of a build apart", () => {
    const builds = failedTestsByBuild(failuresOf("a 1, a 1, b 1!, a 2!"));
    assert.deepEqual([...builds], [
      ["1", { flaky: new Map([["a", 2]]), others: new Set(["b"]) }],
      ["2", { flaky: new Map(), others: new Set(["a"]) }],
    ]);
  });

  it("takes a submission without a build URL for a build", () => {
    assert.equal(buildKey({ submissionId: "s", buildUrl: "" }), "s");
    assert.equal(buildKey({ submissionId: "s", buildUrl: "https://ci/1" }), "https://ci/1");
  });
});
