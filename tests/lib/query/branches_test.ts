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
    assert.throws(() => parseBranches(patterns(21).join()), {
      message: /^invalid branch "b0,b1,.*": expected at most 20 patterns$/,
    });
    assert.deepEqual(parseBranches("🚀".repeat(2000)), ["🚀".repeat(2000)]);
    assert.throws(() => parseBranches("x".repeat(2001)), {
      message: "invalid branch of 2001 characters: expected at most 2000",
    });
  });
});
