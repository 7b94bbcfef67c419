import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { hashToken, makeToken, parseTokenHash, tokenType } from "../../../lib/base/token.ts";

describe("tokens", () => {
  it("are made in their shapes, and never twice", () => {
    const token = makeToken("api_token");
    assert.match(token.plain, /^tk_[0-9a-f]{64}$/);
    assert.equal(token.prefix, token.plain.slice(0, 11));
    assert.match(makeToken("legacy").plain, /^[0-9a-f]{40}$/);
    assert.match(makeToken("upload").plain, /^up_[0-9a-f]{64}$/);
    assert.match(makeToken("badge").plain, /^bd_[0-9a-f]{64}$/);
    assert.notEqual(makeToken("api_token").plain, token.plain);
  });

  it("are hashed in hex, legacy ones in base64", () => {
    // Computed with `printf %s abc | sha256sum`, and piped through `xxd -r -p | base64`.
    assert.equal(
      hashToken("abc", "api_token"),
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
    assert.equal(hashToken("abc", "legacy"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
  });

  it("are recognized by their shape", () => {
    assert.equal(tokenType(`tk_${"a1".repeat(32)}`), "api_token");
    assert.equal(tokenType("a1".repeat(20)), "legacy");
    assert.equal(tokenType(`up_${"a1".repeat(32)}`), "upload");
    assert.equal(tokenType(`bd_${"a1".repeat(32)}`), "badge");
    for (
      const other of ["", "tk_", "up_", "a1".repeat(32), `tk_${"g1".repeat(32)}`, "a".repeat(41)]
    ) {
      assert.equal(tokenType(other), null, other);
    }
  });

  it("of the earlier service are taken by their hash, written the way it is stored", () => {
    const hex = hashToken("abc", "api_token");
    const base64 = hashToken("abc", "legacy");
    assert.deepEqual(parseTokenHash(hex.toUpperCase()), { type: "api_token", hash: hex });
    assert.deepEqual(parseTokenHash(base64), { type: "legacy", hash: base64 });
    assert.deepEqual(parseTokenHash(base64.slice(0, -1)), { type: "legacy", hash: base64 });
  });

  it("are not taken in place of their hash, and not repeated in the message", () => {
    for (const plain of [makeToken("api_token").plain, makeToken("legacy").plain, "abc", ""]) {
      assert.throws(() => parseTokenHash(plain), (error) => {
        assert.ok(error instanceof SyntaxError);
        assert.ok(plain === "" || !error.message.includes(plain));
        return true;
      });
    }
  });
});
