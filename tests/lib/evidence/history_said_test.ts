import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { sayBefore, sayChange } from "../../../lib/evidence/history_said.ts";
import { testEvidence } from "../../../lib/evidence/test_evidence.ts";
import { runsOf } from "./outcomes.ts";

const DAYS = { 12: "12 Nov", 14: "14 Nov", 28: "28 Oct" };

/** The words for a change between two days. */
function changeBetween(from: keyof typeof DAYS, to: keyof typeof DAYS, changes = 9): string {
  const version = (recordedAt: number) => ({ commitOid: "", treeOid: null, recordedAt });
  const since = { from: version(from), to: version(to), changes };
  return sayChange({ since }, (seconds) => DAYS[seconds as keyof typeof DAYS]);
}

describe("the history of a test in words", () => {
  it("names a month once", () => {
    assert.equal(changeBetween(12, 14), "since 12 to 14 Nov, one of 9 changes");
    assert.equal(changeBetween(28, 12), "since 28 Oct to 12 Nov, one of 9 changes");
    assert.equal(changeBetween(12, 12), "since 12 Nov, one of 9 changes");
  });

  it("blames no change when code fails that passed before", () => {
    assert.equal(
      changeBetween(12, 14, 0),
      "since 12 to 14 Nov, at code that passed before: no change is the cause",
    );
  });

  it("says of passes that the runs before them failed", () => {
    const said = (text: string) =>
      sayBefore(testEvidence(runsOf(text), { disruptedIn: new Set(), repair: null }));
    assert.match(said(".".repeat(40) + "FFFFFF"), /^before in 0 of 40$/);
    assert.match(said("F.FF.FFF.F" + ".".repeat(60)), /^before it failed in 7 of \d+$/);
  });
});
