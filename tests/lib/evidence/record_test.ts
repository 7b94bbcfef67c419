import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { conclusionRecord, type SaidFailures } from "../../../lib/evidence/record.ts";

const said = (more: Partial<SaidFailures>): SaidFailures => ({
  evidence: "first",
  isOnBase: false,
  share: null,
  truth: null,
  count: 1,
  ...more,
});

describe("the record of conclusions", () => {
  it("counts what became of failures, by evidence as it is tried and the base branch first", () => {
    const { rows } = conclusionRecord([
      said({ count: 3 }),
      said({ truth: "the_change", count: 2 }),
      said({ evidence: "passed_here", truth: "not_the_change" }),
      said({ isOnBase: true, truth: "not_the_change" }),
    ]);
    const none = { notTheChange: 0, theChange: 0, open: 0 };
    assert.deepEqual(rows, [
      { ...none, evidence: "passed_here", isOnBase: false, said: 1, notTheChange: 1 },
      { ...none, evidence: "first", isOnBase: true, said: 1, notTheChange: 1 },
      { ...none, evidence: "first", isOnBase: false, said: 5, theChange: 2, open: 3 },
    ]);
  });

  it("says how many of those called yours, and not yours, were called so rightly", () => {
    const share = { notTheChange: 6, of: 10, from: "repository" as const };
    const { notYours, yours, unclearCount } = conclusionRecord([
      said({ evidence: "seen_elsewhere", truth: "not_the_change", count: 4 }),
      said({ evidence: "seen_elsewhere", truth: "the_change" }),
      said({ truth: "the_change", count: 2 }),
      said({ truth: "not_the_change" }),
      said({ share, truth: "not_the_change" }),
      said({ count: 9 }),
    ]);
    assert.deepEqual([notYours, yours, unclearCount], [
      { right: 4, of: 5 },
      { right: 2, of: 3 },
      1,
    ]);
  });

  it("has the scores of what was said once a truth came out", () => {
    assert.deepEqual(scores(conclusionRecord([said({})])), [null, null]);
    const share = { notTheChange: 1, of: 2, from: "published" as const };
    const failures = [
      said({ share, truth: "not_the_change", count: 3 }),
      said({ share, truth: "the_change" }),
    ];
    assert.deepEqual(scores(conclusionRecord(failures)), [0.25, 0.1875]);
  });
});

function scores({ brier, brierBaseRate }: ReturnType<typeof conclusionRecord>) {
  return [brier, brierBaseRate];
}
