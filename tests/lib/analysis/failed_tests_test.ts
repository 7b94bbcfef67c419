import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import type { AttemptKind } from "../../../lib/analysis/columns.ts";
import { failedTests } from "../../../lib/analysis/failed_tests.ts";
import { runOf } from "./run_of.ts";

/** A run of one test. */
function run(kinds: AttemptKind[], job = "unit", environment = "linux") {
  return runOf(1, { 5: kinds }, { job, environment });
}

describe("a test made a build fail", () => {
  /** @param runs newest first */
  const isFailed = (...runs: ReturnType<typeof run>[]) => failedTests(runs, [5]).has(5);

  it("when its latest run in a job failed at last", () => {
    assert.equal(isFailed(run(["negative"])), true);
    assert.equal(isFailed(run(["negative", "positive"])), false);
    assert.equal(isFailed(run(["positive"]), run(["negative"])), false);
    assert.equal(isFailed(run(["negative"]), run(["positive"])), true);
  });

  it("when it failed in one job or environment, whatever passed in another", () => {
    assert.equal(isFailed(run(["positive"], "lint"), run(["negative"])), true);
    assert.equal(isFailed(run(["positive"], "unit", "windows"), run(["negative"])), true);
  });

  it("in an earlier run where a later one skipped it", () => {
    assert.equal(isFailed(run(["skipped"]), run(["negative"])), true);
    assert.equal(isFailed(run(["skipped"]), run(["positive"]), run(["negative"])), false);
  });

  it("of those that are asked for", () => {
    assert.deepEqual([...failedTests([run(["negative"])], [6])], []);
  });
});
