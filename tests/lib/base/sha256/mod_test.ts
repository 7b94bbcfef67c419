import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "@std/testing/bdd";
import fc from "fast-check";
import { sha256Start, Sha256Starts } from "../../../../lib/base/sha256/mod.ts";

function expected(text: string): number {
  const bytes = createHash("sha256").update(new TextEncoder().encode(text)).digest();
  return Number(bytes.readBigUInt64BE() >> 12n);
}

/** What is told of the texts behind so many that nothing is made ready for them yet. */
function startsBehindFew(texts: string[]): number[] {
  const few = 200;
  const told: number[] = [];
  const starts = new Sha256Starts((start) => told.push(start));
  for (let count = 0; count < few; count++) starts.add("");
  for (const text of texts) starts.add(text);
  starts.finish();
  assert.equal(told.length, few + texts.length);
  return told.slice(few);
}

function assertThePlatforms(texts: string[]): void {
  startsBehindFew(texts).forEach((start, at) =>
    assert.equal(start, expected(texts[at]!), JSON.stringify(texts[at]))
  );
}

describe("the beginning of a SHA-256", () => {
  it("is that of the text in UTF-8", () => {
    const known: [text: string, start: number][] = [
      ["", 0xe3b0c44298fc1],
      ["abc", 0xba7816bf8f01c],
      ["abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 0x248d6a61d2063],
    ];
    for (const [text, start] of known) assert.equal(sha256Start(text), start, text);
    for (const text of ["ü", "\ud83d", "a".repeat(3_000)]) {
      assert.equal(sha256Start(text), expected(text));
    }
  });
});

describe("the beginnings of many SHA-256", () => {
  it("are the platform's, for texts of every length around that of blocks and beyond", () => {
    const lengths = Array.from({ length: 1_200 }, (_, length) => length);
    assertThePlatforms(lengths.map((length) => "abcdefghij".repeat(120).slice(0, length)));
  });

  it("are those of the texts in UTF-8, also where they have half a character", () => {
    assertThePlatforms([
      ...["ü", "€".repeat(1_000), "😀".repeat(500), "\ud83d", "a\0b", "\udc00x"],
      ...["\0".repeat(64), "\0".repeat(63), "\0".repeat(65)],
    ]);
  });

  it("are the platform's, whatever is hashed side by side", () => {
    const text = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 1_010 }),
      fc.constantFrom("", "x".repeat(55), "x".repeat(56), "x".repeat(1_000), "€".repeat(1_000)),
      fc.constantFrom("x".repeat(1_001), "y".repeat(5_000)),
    );
    fc.assert(fc.property(fc.array(text, { maxLength: 13 }), assertThePlatforms));
  });

  it("are told when all were added, however many those are", () => {
    for (const count of [0, 1, 2, 199, 200, 201, 202, 203, 204, 205]) {
      const texts = Array.from({ length: count }, (_, at) => `text ${at}`);
      const told: number[] = [];
      const starts = new Sha256Starts((start) => told.push(start));
      for (const text of texts) starts.add(text);
      starts.finish();
      starts.finish();
      assert.deepEqual(told, texts.map(expected));
    }
  });

  it("are each their own when several lists are hashed in turn", () => {
    const told: [number[], number[]] = [[], []];
    const lists = told.map((list) => new Sha256Starts((start) => list.push(start)));
    for (let at = 0; at < 207; at++) lists.forEach((list, which) => list.add(`${which} ${at}`));
    for (const list of lists) list.finish();
    told.forEach((starts, which) =>
      assert.deepEqual(starts, starts.map((_, at) => expected(`${which} ${at}`)))
    );
  });
});
