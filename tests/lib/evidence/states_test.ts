import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { stateIn, worstEnvironment } from "../../../lib/evidence/states.ts";
import { findSegments } from "../../../lib/evidence/segments.ts";
import { outcomesOf } from "./outcomes.ts";

/** The state after runs: `.` passed, `F` failed, `r` failed and passed when it was repeated. */
function stateAfter(text: string, isDisruptive = false) {
  const signs = [...text];
  const versions = signs.map((sign) => ({ runs: 1, failures: sign === "." ? 0 : 1 }));
  const segments = findSegments(outcomesOf(versions));
  const last = segments.at(-1);
  const lastFinalFailures = last
    ? signs.slice(last.first, last.end).filter((sign) => sign === "F").length
    : 0;
  return stateIn({ segments, lastFinalFailures, isDisruptive });
}

describe("the state of a test", () => {
  const cases: [string, string, string][] = [
    ["new without a run", "", "new"],
    ["new below ten runs", ".........", "new"],
    ["healthy from ten runs on", "..........", "healthy"],
    ["flaky with a failure among passes", ".".repeat(40) + "F" + ".".repeat(40), "flaky"],
    ["flaky after two failures only", "FF", "flaky"],
    ["broken from the third failure on", "FFF", "broken"],
    ["broken since a change", ".".repeat(100) + "FFF", "broken"],
    ["flaky when the repeated runs passed at last", ".".repeat(100) + "rrr", "flaky"],
    ["healthy after a long calm", "F.".repeat(20) + ".".repeat(200), "healthy"],
  ];
  for (const [name, text, expected] of cases) {
    it(`is ${name}`, () => assert.equal(stateAfter(text), expected));
  }

  it("is flaky while the test is disruptive in the window", () => {
    assert.equal(stateAfter("", true), "flaky");
    assert.equal(stateAfter(".".repeat(50), true), "flaky");
    assert.equal(stateAfter("FFF", true), "broken");
  });

  it("is the worst of its environments, of equals the one with most runs, then by name", () => {
    const environments = [
      { environment: "linux", state: "healthy", runs: 900 },
      { environment: "windows", state: "flaky", runs: 20 },
      { environment: "macos", state: "flaky", runs: 30 },
      { environment: "android", state: "flaky", runs: 20 },
    ] as const;
    const worstOf = (...indexes: number[]) =>
      worstEnvironment(indexes.map((index) => environments[index]!))?.environment;
    assert.equal(worstOf(0, 1, 2), "macos");
    assert.deepEqual([worstOf(1, 3), worstOf(3, 1)], ["android", "android"]);
    assert.equal(worstEnvironment([]), undefined);
  });
});
