import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { decodeDelta, encodeDelta } from "../../../lib/analysis/delta.ts";
import { Random } from "../../bench/random.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** The length of the delta, which leads back to the bytes. */
function roundTrip(bytes: Uint8Array, base: Uint8Array): number {
  const delta = encodeDelta(bytes, base);
  assert.deepEqual(decodeDelta(delta, base), bytes);
  return delta.length;
}

describe("a delta", () => {
  const text = Array.from({ length: 100 }, (_, line) => `line ${line * 7919 % 1000} of a log\n`);
  const base = bytesOf(text.join(""));

  it("of bytes that the base has takes some bytes, wherever they are", () => {
    assert.ok(roundTrip(base, base) <= 10);
    assert.ok(roundTrip(base.subarray(500, 900), base) <= 10);
    assert.ok(roundTrip(bytesOf(text.toReversed().join("")), base) < 600);
  });

  it("takes some bytes for each difference", () => {
    const changed = text.with(20, "another line\n").toSpliced(50, 2).toSpliced(70, 0, "one more\n");
    assert.ok(roundTrip(bytesOf(changed.join("")), base) < 50);
  });

  it("takes little more than the bytes when the base has none of them", () => {
    for (const other of [new Uint8Array(), bytesOf("x"), bytesOf("äöü".repeat(50))]) {
      assert.ok(roundTrip(base, other) <= base.length + 10);
    }
    assert.ok(roundTrip(new Uint8Array(), base) <= 2);
  });

  it("leads back to any bytes", () => {
    const random = new Random(3);
    for (let round = 0; round < 300; round++) {
      const letters = 1 + random.below(4);
      const some = (length: number) => Uint8Array.from({ length }, () => random.below(letters));
      roundTrip(some(random.below(300)), some(random.below(300)));
    }
  });

  it("of repetitive bytes takes little time", () => {
    const started = performance.now();
    roundTrip(new Uint8Array(50_000), new Uint8Array(50_000).fill(1));
    roundTrip(bytesOf("abcdefg".repeat(7_000)), bytesOf("abcdefx".repeat(7_000)));
    assert.ok(performance.now() - started < 2_000);
  });
});
