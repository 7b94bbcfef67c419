import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { countTests, isMassFailure, medianOf } from "../../../lib/analysis/test_counts.ts";
import type { Conclusion } from "../../../lib/report/result.ts";

function countsOf(tests: Conclusion[][]) {
  const builder = new SubmissionBuilder();
  const rest = { suite: "", class: "", file: "", durationMicroseconds: 0, message: "", body: "" };
  for (const [index, conclusions] of tests.entries()) {
    for (const conclusion of conclusions) builder.add({ ...rest, name: `${index}`, conclusion });
  }
  const { exceptions, testHashes } = builder.finish();
  return countTests(exceptions, testHashes.length);
}

describe("the tests of a run", () => {
  it("ran, were skipped, or failed at least once", () => {
    assert.deepEqual(
      countsOf([
        ["passing"],
        ["failure", "passing"],
        ["error"],
        ["skipped"],
        ["skipped", "passing"],
        ["unknown"],
        ["unknown", "skipped"],
      ]),
      { ran: 4, skipped: 1, failed: 2 },
    );
    assert.deepEqual(countsOf([]), { ran: 0, skipped: 0, failed: 0 });
  });

  it("are a mass failure when more than a fifth of at least 20 failed", () => {
    const is = (ran: number, failed: number) => isMassFailure({ ran, failed });
    assert.deepEqual([is(20, 4), is(20, 5), is(19, 19)], [false, true, false]);
  });

  it("have a median number, rounded down", () => {
    assert.deepEqual([medianOf([3, 1, 2]), medianOf([4, 1, 2, 3]), medianOf([])], [2, 2, null]);
  });
});
