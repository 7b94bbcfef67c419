import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { readText } from "../reading.ts";

describe("output of a failed test without a text", () => {
  it("becomes its text, from the end", async () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => `line ${index}`).join("\n");
    const [result] = await readText(
      `<testsuite name="s"><testcase name="t"><failure/><system-out>${lines}</system-out>` +
        "</testcase></testsuite>",
    );
    const { body, message } = result!;
    assert.ok(body.length <= 16_384);
    assert.match(body, /^\.\.\.\n/);
    assert.match(body, /\nline 4999$/);
    assert.equal(message, "line 4999");
  });
});
