import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import fc from "fast-check";
import {
  addBit,
  countBits,
  dropBit,
  forEachNumber,
  keepCommon,
  noBits,
  numbersOf,
  setAll,
} from "../../../lib/query/bits.ts";

const SIZE = 100;
const someNumbers = fc.uniqueArray(fc.nat(SIZE - 1))
  .map((numbers) => numbers.toSorted((a, b) => a - b));

function bitsOf(numbers: number[]) {
  const bits = noBits(SIZE);
  for (const number of numbers) addBit(bits, number);
  return bits;
}

describe("sets of numbers as bits", () => {
  it("have what was put in, in order, and count it", () => {
    fc.assert(fc.property(someNumbers, (numbers) => {
      const bits = bitsOf(numbers);
      assert.deepEqual(numbersOf(bits), numbers);
      assert.equal(countBits(bits), numbers.length);
    }));
  });

  it("tell a part of it", () => {
    fc.assert(fc.property(someNumbers, fc.nat(SIZE), fc.nat(SIZE), (numbers, after, limit) => {
      const part = numbersOf(bitsOf(numbers), { after, limit });
      assert.deepEqual(part, numbers.slice(after, after + limit));
    }));
  });

  it("may lose numbers while they are looked through", () => {
    fc.assert(fc.property(someNumbers, (numbers) => {
      const bits = bitsOf(numbers);
      const seen: number[] = [];
      forEachNumber(bits, (number) => {
        seen.push(number);
        if (number % 2 === 0) dropBit(bits, number);
      });
      assert.deepEqual(seen, numbers);
      assert.deepEqual(numbersOf(bits), numbers.filter((number) => number % 2 === 1));
    }));
  });

  it("leave what they have in common", () => {
    fc.assert(fc.property(someNumbers, someNumbers, (some, others) => {
      const bits = bitsOf(some);
      keepCommon(bits, bitsOf(others));
      assert.deepEqual(numbersOf(bits), some.filter((number) => others.includes(number)));
    }));
  });

  it("have all numbers below a size, and none above", () => {
    for (const size of [0, 1, 31, 32, 33, 64, SIZE]) {
      assert.deepEqual(numbersOf(setAll(noBits(size), size)), [...Array(size).keys()]);
    }
  });
});
