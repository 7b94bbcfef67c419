import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { parseBranches } from "../../../lib/query/branches.ts";

describe("the parameter branch", () => {
  it("is a list of patterns, in any order and each once", () => {
    assert.deepEqual(parseBranches("release/*,main, main ,release/**"), ["main", "release/*"]);
  });

  it("selects everything when it has no pattern", () => {
    for (const text of ["", ",", " , "]) assert.equal(parseBranches(text), null);
  });

  it("has a bounded length and number of patterns", () => {
    const patterns = (count: number) => Array.from({ length: count }, (_, index) => `b${index}`);
    assert.equal(parseBranches(patterns(20).join())!.length, 20);
    assert.deepEqual(parseBranches("🚀".repeat(2000)), ["🚀".repeat(2000)]);
    for (const text of [patterns(21).join(), "x".repeat(2001)]) {
      assert.throws(() => parseBranches(text), {
        message: "invalid branch: expected at most 20 patterns and 2000 characters",
      });
    }
  });
});
