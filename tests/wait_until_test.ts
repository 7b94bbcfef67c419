import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { waitUntil } from "./wait_until.ts";

describe("waiting for a condition", () => {
  it("ends when it is true, and says how long that took", async () => {
    let calls = 0;
    const passed = await waitUntil("three calls", () => Promise.resolve(++calls === 3));
    assert.equal(calls, 3);
    assert.ok(passed >= 10, `${passed} ms`);
  });

  it("fails at the deadline, with the condition", () =>
    assert.rejects(
      waitUntil("it is there", () => false, { pauseMs: 1, deadlineMs: 10 }),
      /^AssertionError.*: not within 10 ms: it is there$/,
    ));
});
