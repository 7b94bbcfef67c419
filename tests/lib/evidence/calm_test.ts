import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { calmAfter } from "../../../lib/evidence/calm.ts";

/** By the definition: the product of the probabilities of each further pass. */
function chance({ runs, failures }: { runs: number; failures: number }, passes: number): number {
  let product = 1;
  for (let pass = 0; pass < passes; pass++) {
    product *= (0.5 + runs - failures + pass) / (0.8 + runs + pass);
  }
  return product;
}

describe("calm", () => {
  it("is the chance that a test which fails as often passes that many times", () => {
    for (const before of [{ runs: 226, failures: 7 }, { runs: 3, failures: 3 }]) {
      for (const passes of [0, 1, 64, 1_000]) {
        const { byChance } = calmAfter(before, passes);
        assert.ok(Math.abs(byChance - chance(before, passes)) < 1e-10);
      }
    }
  });

  it("needs the smallest number of passes that chance has with at most 5 %", () => {
    for (
      const before of [{ runs: 226, failures: 7 }, { runs: 100, failures: 1 }, {
        runs: 1,
        failures: 1,
      }]
    ) {
      const { passesNeeded } = calmAfter(before, 0);
      assert.ok(chance(before, passesNeeded) <= 0.05);
      assert.ok(chance(before, passesNeeded - 1) > 0.05);
    }
  });

  it("needs one pass at least, and ends for a test that never failed", () => {
    assert.ok(calmAfter({ runs: 5_000, failures: 5_000 }, 0).passesNeeded >= 1);
    assert.ok(calmAfter({ runs: 2_000, failures: 0 }, 0).passesNeeded > 1_000_000);
  });
});
