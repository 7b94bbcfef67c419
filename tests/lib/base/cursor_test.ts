import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  decodeKeysetCursor,
  decodeOffsetCursor,
  encodeKeysetCursor,
  encodeOffsetCursor,
  MAX_OFFSET,
} from "../../../lib/base/cursor.ts";

const ID = "6ab1c0a0d4a86f01c2e35f3a";

describe("a cursor", () => {
  it("is base64 of its kind and place", () => {
    assert.equal(atob(encodeKeysetCursor(ID)), `id:${ID}`);
    assert.equal(atob(encodeOffsetCursor(25)), "offset:25");
  });

  it("comes back as it was", () => {
    assert.equal(decodeKeysetCursor(encodeKeysetCursor(ID)), ID);
    assert.equal(decodeKeysetCursor(btoa(`id:${ID.toUpperCase()}`)), ID);
    for (const offset of [0, 1, 10, 100, MAX_OFFSET]) {
      const cursor = encodeOffsetCursor(offset);
      assert.equal(decodeOffsetCursor(cursor), offset);
      assert.equal(decodeOffsetCursor(cursor.replaceAll("=", "")), offset);
    }
  });

  it("is refused if it is of the other kind, or not a cursor", () => {
    const wrong = ["", "x", "====", btoa("id:"), btoa(`id:${ID}0`), btoa(` id:${ID}`), "a b", "\0"];
    for (const cursor of [...wrong, encodeOffsetCursor(1)]) {
      assert.throws(() => decodeKeysetCursor(cursor), SyntaxError);
    }
    for (
      const cursor of [...wrong, encodeKeysetCursor(ID), btoa("offset:1 "), btoa("offset:1e3")]
    ) {
      assert.throws(() => decodeOffsetCursor(cursor), SyntaxError);
    }
  });

  it("is refused beyond the end of any list", () => {
    const message = /^SyntaxError: invalid cursor "[^"]+": expected metadata.after of a page/;
    for (const offset of [String(MAX_OFFSET + 1), "9".repeat(30)]) {
      assert.throws(() => decodeOffsetCursor(btoa(`offset:${offset}`)), message);
    }
  });

  it("is quoted in part when it is very long", () => {
    assert.throws(
      () => decodeOffsetCursor("x".repeat(100_000)),
      ({ message }: Error) => message.length < 250,
    );
  });
});
