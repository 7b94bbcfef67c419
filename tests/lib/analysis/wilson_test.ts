import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { wilsonLowerBound } from "../../../lib/analysis/wilson.ts";

describe("the lower end of the interval of a share", () => {
  it("is that of published tables", () => {
    for (
      const [part, whole, expected] of [
        [1, 1, 0.207],
        [0, 10, 0],
        [5, 10, 0.237],
        [50, 100, 0.404],
        [10, 10, 0.722],
        [81, 263, 0.255],
      ] as const
    ) {
      const bound = wilsonLowerBound(part, whole);
      assert.ok(Math.abs(bound - expected) < 0.001, `${part} of ${whole}: ${bound}`);
    }
  });

  it("is 0 without any", () => {
    assert.equal(wilsonLowerBound(0, 0), 0);
  });
});
