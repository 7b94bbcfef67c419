import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  betaCdf,
  betaQuantile,
  logBeta,
  logGamma,
  rateInterval,
} from "../../../lib/evidence/beta.ts";

function assertNear(actual: number, expected: number, tolerance = 1e-10): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not near ${expected}`);
}

describe("the beta distribution", () => {
  it("has the gamma function of whole and half numbers", () => {
    assertNear(logGamma(1), 0);
    assertNear(logGamma(5), Math.log(24));
    assertNear(logGamma(0.5), Math.log(Math.sqrt(Math.PI)));
    assertNear(logBeta(2, 3), Math.log(1 / 12));
  });

  it("sums up to the binomial distribution for whole parameters", () => {
    // P(X <= x) of Beta(a, b) is the probability of at least `a` successes in `a + b - 1` tries.
    const x = 0.3;
    let expected = 0;
    for (let k = 4; k <= 10; k++) {
      let choose = 1;
      for (let i = 0; i < k; i++) choose = choose * (10 - i) / (i + 1);
      expected += choose * x ** k * (1 - x) ** (10 - k);
    }
    assertNear(betaCdf(x, 4, 7), expected);
  });

  it("has the mass of a numerical integral below a quantile", () => {
    const [a, b] = [7.3, 219.5];
    const end = betaQuantile(0.975, a, b);
    const steps = 20_000;
    let mass = 0;
    for (let step = 0; step < steps; step++) {
      const x = (step + 0.5) * end / steps;
      mass += Math.exp((a - 1) * Math.log(x) + (b - 1) * Math.log1p(-x) - logBeta(a, b));
    }
    assertNear(mass * end / steps, 0.975, 1e-6);
  });

  it("gives a failure rate its 95 % interval", () => {
    const { low, high } = rateInterval({ runs: 226, failures: 7 });
    assert.equal((100 * low).toFixed(1), "1.3");
    assert.equal((100 * high).toFixed(1), "5.9");
  });

  it("has intervals within 0 and 1 when nothing or everything failed", () => {
    for (const failures of [0, 2_000]) {
      const { low, high } = rateInterval({ runs: 2_000, failures });
      assert.ok(low >= 0 && high <= 1 && low < high);
    }
  });
});
