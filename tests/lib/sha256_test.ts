import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "@std/testing/bdd";
import { sha256Start } from "../../lib/sha256.ts";

function expected(text: string): number {
  return parseInt(createHash("sha256").update(text).digest("hex").slice(0, 13), 16);
}

describe("the beginning of a SHA-256", () => {
  // First of all: nothing came before it.
  it("is the platform's for a text of zeros", () => {
    for (const text of ["\0".repeat(64), "\0".repeat(63), "\0".repeat(65)]) {
      assert.equal(sha256Start(text), expected(text));
    }
  });

  it("is the platform's for texts that begin as the one before, or nearly so", () => {
    const beginning = "19:checkout.0.Suite041:com.example.shop.checkout.Suite0Test64:handle";
    const texts = ["", "a", "b".repeat(200), "c"].map((end) => beginning + end);
    for (const text of [...texts, `x${texts[2]}`, ...texts, texts[0]!.slice(0, 64)]) {
      assert.equal(sha256Start(text), expected(text));
    }
  });

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
