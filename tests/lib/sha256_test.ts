import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "@std/testing/bdd";
import { sha256Start } from "../../lib/sha256.ts";

function expected(text: string): number {
  return parseInt(createHash("sha256").update(text).digest("hex").slice(0, 13), 16);
}

describe("the beginning of a SHA-256", () => {
  it("is the platform's, for texts of every length around that of blocks and beyond", () => {
    for (let length = 0; length < 1_200; length++) {
      const text = "abcdefghij".repeat(120).slice(0, length);
      assert.equal(sha256Start(text), expected(text), `${length} characters`);
    }
  });

  it("is that of the text in UTF-8, also where it has half a character", () => {
    for (const text of ["ü", "€".repeat(1_000), "😀".repeat(500), "\ud83d", "a\0b", "\udc00x"]) {
      assert.equal(sha256Start(text), expected(text), JSON.stringify(text));
    }
  });

  it("keeps nothing of the text before", () => {
    const texts = ["a".repeat(999), "", "b".repeat(60), "c"];
    for (const text of [...texts, ...texts.toReversed()]) {
      assert.equal(sha256Start(text), expected(text));
    }
  });
});
