import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { readBody } from "../../../lib/base/read_body.ts";

/** A body of chunks that does not end by itself. */
function endless(chunks: string[]) {
  const state = { isCancelled: false };
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      chunks.forEach((chunk) => controller.enqueue(new TextEncoder().encode(chunk)));
    },
    cancel() {
      state.isCancelled = true;
    },
  });
  return { body, state };
}

describe("reading a body", () => {
  it("returns all bytes of one that is no larger than the limit", async () => {
    const bytes = await readBody(new Response("né").body, { maxBytes: 3, timeoutMs: 10_000 });
    assert.deepEqual(bytes, new TextEncoder().encode("né"));
    assert.deepEqual(await readBody(null, { maxBytes: 0 }), new Uint8Array());
  });

  it("stops reading at the first byte beyond the limit", async () => {
    const { body, state } = endless(["ab", "cd", "ef"]);
    assert.equal(await readBody(body, { maxBytes: 3, timeoutMs: 10_000 }), "too large");
    assert.ok(state.isCancelled);
  });

  it("returns nothing of a body that is not complete in time", async () => {
    const { body, state } = endless(["ab"]);
    assert.equal(await readBody(body, { maxBytes: 3, timeoutMs: 1 }), "late");
    assert.ok(state.isCancelled);
  });

  it("throws when the connection is closed before the end of the body", async () => {
    const body = new ReadableStream({ start: (controller) => controller.error(new Error("gone")) });
    await assert.rejects(readBody(body, { maxBytes: 3 }), /gone/);
  });
});
