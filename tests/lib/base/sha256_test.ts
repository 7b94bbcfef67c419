import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { sha256 } from "../../../lib/base/sha256.ts";

const standard = (text: string) => createHash("sha256").update(text).digest("hex");

describe("SHA-256", () => {
  it("is that of the standard library for every length up to a few blocks, and around the longest", () => {
    const lengths = [...Array(300).keys(), 1_364, 1_365, 1_366, 4_096, 100_000];
    for (const length of lengths) {
      const text = "é€x".repeat(length).slice(0, length);
      assert.equal(sha256(text).toHex(), standard(text), `${length} characters`);
    }
  });

  it("is that of the standard library for any text, unpaired surrogates included", () => {
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 2_000 }), (text) => {
      assert.equal(sha256(text).toHex(), standard(text));
    }));
    assert.equal(sha256("a\ud800b").toHex(), standard("a\ud800b"));
  });

  it("returns digests that later calls leave alone", () => {
    const first = sha256("a");
    sha256("b");
    assert.equal(first.toHex(), standard("a"));
  });
});
