import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { countPasses } from "../../../lib/analysis/passes.ts";
import { runOf } from "./run_of.ts";

describe("passes", () => {
  it("count once in each run that has one, however many attempts it took", () => {
    const runs = [
      runOf(1, { 1: ["positive"], 2: ["negative", "positive", "positive"] }),
      runOf(2, { 1: ["negative"], 2: ["positive"] }),
      runOf(3, { 1: ["skipped"], 3: ["positive"] }),
    ];
    assert.deepEqual([...countPasses(runs, [1, 2, 5])], [[1, 1], [2, 2], [5, 0]]);
  });
});
