import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { conclusionOfStatus } from "../../../../lib/report/junit/test_case.ts";

describe("conclusionOfStatus", () => {
  it("is passing without any word", () => {
    assert.equal(conclusionOfStatus(undefined, undefined), "passing");
    assert.equal(conclusionOfStatus("", " "), "passing");
  });

  it("knows the words for a pass, in any case", () => {
    for (const word of ["run", "completed", "Passed", "PASS", "success", "ok"]) {
      assert.equal(conclusionOfStatus(word, undefined), "passing");
    }
  });

  it("knows the words for a test that was skipped, however they are joined", () => {
    for (
      const word of ["notrun", "not-run", "Not Run", "NOT_RUN", "disabled", "ignored", "skipped"]
    ) {
      assert.equal(conclusionOfStatus(word, undefined), "skipped");
    }
  });

  it("knows the words for a test that failed", () => {
    assert.equal(conclusionOfStatus("failed", undefined), "failure");
    assert.equal(conclusionOfStatus(undefined, "error"), "error");
  });

  it("is unknown for any other word", () => {
    assert.equal(conclusionOfStatus("inconclusive", undefined), "unknown");
    assert.equal(conclusionOfStatus("run", "inconclusive"), "unknown");
  });

  it("prefers skipped to unknown", () => {
    assert.equal(conclusionOfStatus("notrun", "suppressed"), "skipped");
    assert.equal(conclusionOfStatus("run", "skipped"), "skipped");
  });
});
