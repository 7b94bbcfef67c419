import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { parsePatterns } from "../../../lib/query/submission_filter.ts";

describe("the parameter branch", () => {
  it("is a list of patterns, in any order and each once", () => {
    assert.deepEqual(parsePatterns("release/*,main, main ,release/**"), ["main", "release/*"]);
  });

  it("takes branches as uploads store them, without the remote", () => {
    const text = "origin/main,refs/heads/release/*,HEAD";
    assert.deepEqual(parsePatterns(text), ["HEAD", "main", "release/*"]);
    assert.deepEqual(parsePatterns("origin/x", "environment"), ["origin/x"]);
  });

  it("selects everything when it has no pattern", () => {
    for (const text of ["", ",", " , "]) assert.equal(parsePatterns(text), null);
  });

  it("has a bounded length and number of patterns", () => {
    const patterns = (count: number) => Array.from({ length: count }, (_, index) => `b${index}`);
    assert.equal(parsePatterns(patterns(20).join())!.length, 20);
    assert.deepEqual(parsePatterns("🚀".repeat(2000)), ["🚀".repeat(2000)]);
    for (const text of [patterns(21).join(), "x".repeat(2001)]) {
      assert.throws(() => parsePatterns(text), {
        message: "invalid branch: expected at most 20 patterns and 2000 characters",
      });
    }
  });
});
