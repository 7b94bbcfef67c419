import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  formatPercent,
  formatTenths,
  shownPercentage,
  tenthsOfPercent,
} from "../../../lib/badge/percentage.ts";

// The same cases each time, so that no run fails by chance.
fc.configureGlobal({ seed: 1 });

describe("a share", () => {
  it("is rounded to the nearest tenth of a percent, half up", () => {
    assert.equal(tenthsOfPercent(1, 3), 333);
    assert.equal(tenthsOfPercent(2, 3), 667);
    assert.equal(tenthsOfPercent(1, 8), 125);
    assert.equal(tenthsOfPercent(1, 16), 63); // 6.25 %
    assert.equal(tenthsOfPercent(10_049, 100_000), 100);
  });

  it("is rounded up at exact halves that binary fractions miss", () => {
    for (let tenths = 1; tenths < 999; tenths++) {
      assert.equal(tenthsOfPercent(2 * tenths + 1, 2000), tenths + 1);
      assert.equal(tenthsOfPercent(2_000_000 * tenths + 999_999, 2_000_000_000), tenths);
    }
  });

  it("is shown as 0 % or 100 % only if it is nothing or everything", () => {
    assert.equal(tenthsOfPercent(0, 1_000_000), 0);
    assert.equal(tenthsOfPercent(1, 1_000_000), 1);
    assert.equal(tenthsOfPercent(999_999, 1_000_000), 999);
    assert.equal(tenthsOfPercent(1_000_000, 1_000_000), 1000);
  });

  it("is exact for numbers as great as they come", () => {
    const whole = Number.MAX_SAFE_INTEGER;
    assert.equal(tenthsOfPercent(1, whole), 1);
    assert.equal(tenthsOfPercent(Math.floor(whole / 2), whole), 500);
    assert.equal(tenthsOfPercent(whole - 1, whole), 999);
  });

  it("never differs from the true share by more than half a tenth, but near the ends", () => {
    fc.assert(fc.property(fc.nat(100_000), fc.integer({ min: 1, max: 100_000 }), (a, b) => {
      const [part, whole] = [Math.min(a, b), Math.max(a, b)];
      const distance = Math.abs(tenthsOfPercent(part, whole) * whole - part * 1000);
      const nearEnd = part * 2000 < whole || (whole - part) * 2000 < whole;
      assert.ok(distance * 2 <= whole || nearEnd, `${part} of ${whole}`);
    }));
  });
});

describe("tenths of a percent", () => {
  it("are written with a tenth only where there is one", () => {
    const written = [0, 1, 10, 123, 200, 999, 1000].map(formatTenths);
    assert.deepEqual(written, ["0%", "0.1%", "1%", "12.3%", "20%", "99.9%", "100%"]);
  });

  it("have a blank in front of the sign on pages, unlike on badges", () => {
    assert.deepEqual([formatPercent(123), formatPercent(1000)], ["12.3 %", "100 %"]);
    assert.equal(shownPercentage({ percentage: "12.3%" }), "12.3 %");
    assert.equal(shownPercentage({ percentage: null }), "–");
  });
});
