import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { excessProbability, findConditions } from "../../../lib/evidence/conditions.ts";
import { Random } from "../../../tools/measure/bench/random.ts";

/** `count` runs with the same values. */
function runs(count: number, failed: boolean, values: Record<string, string>) {
  return Array.from({ length: count }, () => ({ failed, values }));
}

describe("the conditions of a failure", () => {
  it("have the probability of Fisher's exact test", () => {
    // The lady who tasted tea: 3 of 4 right, and more, is 17 of 70.
    const counts = { runs: 4, failures: 3, otherRuns: 4, otherFailures: 1 };
    assert.ok(Math.abs(excessProbability(counts) - 17 / 70) < 1e-12);
  });

  it("name the environment in which a test fails", () => {
    const [condition, ...others] = findConditions([
      ...runs(8, true, { environment: "windows", job: "unit" }),
      ...runs(32, false, { environment: "windows", job: "unit" }),
      ...runs(80, false, { environment: "linux", job: "unit" }),
    ]);
    assert.deepEqual(others, []);
    const { probability, ...said } = condition!;
    assert.deepEqual(said, {
      dimension: "environment",
      value: "windows",
      runs: 40,
      failures: 8,
      otherRuns: 80,
      otherFailures: 0,
      brokenRuns: 0,
    });
    assert.ok(probability < 0.001);
  });

  it("say when it is broken there: at least three failures, the latest, after a pass", () => {
    const inWindows = { environment: "windows" };
    const brokenRuns = (...failed: boolean[]) =>
      findConditions([
        ...runs(80, false, { environment: "linux" }),
        ...failed.flatMap((one) => runs(1, one, inWindows)),
      ])[0]!.brokenRuns;
    assert.equal(brokenRuns(false, true, true, true), 3);
    assert.equal(brokenRuns(true, true, false, true, true), 0);
    assert.equal(brokenRuns(true, true, true, false), 0);
    assert.equal(brokenRuns(true, true, true, true), 0, "never passed there");
  });

  it("are not those that passes prefer", () => {
    const found = findConditions([
      ...runs(20, true, { runner: "a" }),
      ...runs(20, true, { runner: "b" }),
      ...runs(20, true, { runner: "c" }),
      ...runs(40, false, { runner: "d" }),
    ]);
    assert.ok(!found.some(({ value }) => value === "d"));
  });

  it("leave out runs whose value is not known", () => {
    const known = runs(10, true, { runner: "a" });
    assert.deepEqual(findConditions([...known, ...runs(10, false, {})]), []);
  });

  it("are seldom said of failures that prefer none", () => {
    const random = new Random(271128);
    let said = 0;
    for (let no = 0; no < 200; no++) {
      const history = Array.from({ length: 200 }, (_, run) => ({
        failed: random.next() < 0.1,
        values: { hour: String(run % 24), weekday: String(run % 7), runner: String(run % 10) },
      }));
      if (findConditions(history).length > 0) said++;
    }
    assert.ok(said <= 10, `said of ${said} of 200`);
  });
});
