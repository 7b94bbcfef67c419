import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import fc from "fast-check";
import { addBit, noBits, numbersOf } from "../../../lib/query/bits.ts";
import { DayIndex } from "../../../lib/query/day_index.ts";
import { SECONDS_PER_DAY } from "../../../lib/base/time.ts";

const COMPARISONS = {
  "<": (day: number, wanted: number) => day < wanted,
  "<=": (day: number, wanted: number) => day <= wanted,
  "=": (day: number, wanted: number) => day === wanted,
  ">=": (day: number, wanted: number) => day >= wanted,
  ">": (day: number, wanted: number) => day > wanted,
};

describe("numbers by day", () => {
  it("are kept where a look at each would keep them, whatever was kept before", () => {
    const moment = fc.option(fc.integer({ min: -3 * SECONDS_PER_DAY, max: 3 * SECONDS_PER_DAY }));
    const question = fc.record({
      operator: fc.constantFrom(...Object.keys(COMPARISONS) as (keyof typeof COMPARISONS)[]),
      day: fc.integer({ min: -5, max: 5 }),
      candidates: fc.array(fc.nat(99)),
    });
    fc.assert(fc.property(
      fc.array(moment, { maxLength: 100 }),
      fc.array(question, { minLength: 1, maxLength: 5 }),
      (moments, questions) => {
        const index = new DayIndex(moments.length, (number) => moments[number]!);
        for (const { operator, day, candidates } of questions) {
          const kept = noBits(moments.length);
          const among = [...new Set(candidates)].filter((number) => number < moments.length);
          for (const number of among) addBit(kept, number);
          index.keep(kept, { operator, day });
          const expected = among.toSorted((a, b) => a - b).filter((number) => {
            const at = moments[number]!;
            return at !== null && COMPARISONS[operator](Math.floor(at / SECONDS_PER_DAY), day);
          });
          assert.deepEqual(numbersOf(kept), expected);
        }
      },
    ));
  });
});
