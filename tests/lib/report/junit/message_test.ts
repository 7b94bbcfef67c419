import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { FailureText } from "../../../../lib/report/junit/failure_text.ts";
import { firstLine } from "../../../../lib/report/junit/failure_text.ts";

describe("firstLine", () => {
  it("is the first line that is not blank, trimmed", () => {
    assert.equal(firstLine(" \n\t\r\n  expected 1 \n was 2"), "expected 1");
    assert.equal(firstLine("one\rtwo"), "one");
    assert.equal(firstLine("one\u2028two"), "one");
    assert.equal(firstLine("\u0085one\u0085two"), "one");
  });

  it("is empty when there are only blanks", () => {
    assert.equal(firstLine(""), "");
    assert.equal(firstLine(" \n \t"), "");
  });

  it("has at most 1,000 characters and cuts none in half", () => {
    assert.equal(firstLine("x".repeat(5_000)), "x".repeat(1_000));
    assert.equal(firstLine("😀".repeat(5_000)), "😀".repeat(1_000));
    assert.equal(firstLine("x" + "😀".repeat(5_000)), "x" + "😀".repeat(999));
    assert.equal(firstLine("x".repeat(999) + " ".repeat(3_000) + "y"), "x".repeat(999));
  });

  it("is the same whatever pieces the text comes in", () => {
    const text = " \n\n  a line of 😀 text  \n another";
    for (let at = 0; at <= text.length; at++) {
      const collected = new FailureText();
      collected.add(text.slice(0, at));
      collected.add(text.slice(at));
      assert.equal(collected.firstLine, "a line of 😀 text");
    }
  });
});
