import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import fc from "fast-check";
import { placeOfTest, resultsByTest } from "../../../lib/analysis/results_by_test.ts";

const GREATEST = 2 ** 52 - 1;

/** The same, the obvious way. */
function expected(hashes: number[]) {
  const order = hashes.map((_, result) => result)
    .toSorted((a, b) => hashes[a]! - hashes[b]! || a - b);
  const testHashes = [...new Set(order.map((result) => hashes[result]!))];
  const ends = testHashes.map((hash) => order.findLastIndex((each) => hashes[each] === hash) + 1);
  return { order, testHashes, ends };
}

function sorted(hashes: number[]) {
  const { order, testHashes, ends } = resultsByTest(Float64Array.from(hashes));
  return { order: [...order], testHashes: [...testHashes], ends: [...ends] };
}

describe("results in the order of their tests", () => {
  it("are those that a comparison gives, wherever hashes lie and however often they come", () => {
    const anywhere = fc.maxSafeNat().map((number) => number % 2 ** 52);
    const hash = fc.oneof(anywhere, fc.nat(5), fc.nat(5).map((number) => GREATEST - number));
    const hashes = fc.array(hash, { minLength: 1, maxLength: 40 }).chain((some) =>
      fc.array(fc.constantFrom(...some), { maxLength: 300, size: "max" })
    );
    fc.assert(
      fc.property(hashes, (hashes) => assert.deepEqual(sorted(hashes), expected(hashes))),
      { numRuns: 500 },
    );
  });

  it("are none where there are none", () => {
    assert.deepEqual(sorted([]), { order: [], testHashes: [], ends: [] });
  });

  it("have a place below the end, also the greatest hash of any number of them", () => {
    for (const count of [1, 2, 3, 1_000, 65_537]) {
      const { testHashes, ends } = sorted(new Array(count).fill(GREATEST));
      assert.deepEqual({ testHashes, ends }, { testHashes: [GREATEST], ends: [count] });
    }
  });

  it("have tests whose place is found, and others that have none", () => {
    const hashes = fc.array(fc.nat(100));
    fc.assert(fc.property(hashes, fc.nat(100), (hashes, hash) => {
      const { testHashes } = resultsByTest(Float64Array.from(hashes));
      assert.equal(placeOfTest(testHashes, hash), testHashes.indexOf(hash));
    }));
  });

  // Moved one by one, these would take minutes.
  it("are sorted in time, also where somebody chose hashes that are all in one place", () => {
    const started = performance.now();
    sorted(Array.from({ length: 300_000 }, (_, result) => result % 2 ? 1 : 2));
    assert.ok(performance.now() - started < 10_000);
  });
});
