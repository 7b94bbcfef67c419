import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { IncomingBytes, message, takeTurn } from "../../../db/embedded/messages.ts";

describe("the messages of a client", () => {
  it("are a turn once all have arrived, wherever they were cut", () => {
    const bytes = Buffer.concat([
      message("P", "\0select 1\0\0\0"),
      message("B", "\0\0\0\0\0\0\0\0"),
      message("E", "\0\0\0\0\0"),
      message("S", ""),
    ]);
    for (let cut = 1; cut < bytes.length; cut++) {
      const incoming = new IncomingBytes();
      for (const part of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
        incoming.push(part);
        if (part.length + part.byteOffset < bytes.length + bytes.byteOffset && incoming.isReady) {
          assert.equal(takeTurn(incoming, new Map()), undefined, `cut at ${cut}`);
        }
      }
      assert.ok(incoming.isReady, `still waiting after a cut at ${cut} of ${bytes.length}`);
      const turn = takeTurn(incoming, new Map());
      assert.ok(turn && turn !== "terminate");
      assert.deepEqual([turn.bytes.length, turn.executionCount], [bytes.length, 1]);
    }
  });
});
