import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { conclusionOfStatus, parseDuration } from "../../../../lib/report/junit/case_attributes.ts";

describe("parseDuration", () => {
  const readable: [string, number][] = [
    ["0", 0],
    ["1", 1_000_000],
    ["0.034", 34_000],
    [" 2.5 ", 2_500_000],
    [".5", 500_000],
    ["7.", 7_000_000],
    ["+1", 1_000_000],
    ["1,234.56", 1_234_560_000],
    ["1,234,567", 1_234_567_000_000],
    ["12\u00a0345.5", 12_345_500_000],
    ["1'000", 1_000_000_000],
    ["1.4e-05", 14],
    ["1E3", 1_000_000_000],
    ["0.0000014", 1],
    ["0.0000016", 2],
    ["0,123", 123_000],
    [",5", 500_000],
    ["1,23", 1_230_000],
    ["1234,5", 1_234_500_000],
    ["1.234,5", 1_234_500_000],
    ["1.234.567,891", 1_234_567_891_000],
    ["12\u00a0345,5", 12_345_500_000],
    ["1,4e-05", 14],
  ];
  for (const [text, microseconds] of readable) {
    it(`reads "${text}" as ${microseconds} microseconds`, () => {
      assert.equal(parseDuration(text), microseconds);
    });
  }

  const unreadable = [undefined, "", " ", ".", "e5", "-1", "-0.5", "soon", "1s", "NaN", "Infinity"];
  for (
    const text of [
      ...unreadable,
      "0x10",
      "0b1",
      "0o7",
      "12,34.5",
      "12.34,5",
      "1,2,3",
      "0,",
      "1 2",
      "1e",
    ]
  ) {
    it(`takes ${JSON.stringify(text)} as 0`, () => {
      assert.equal(parseDuration(text), 0);
    });
  }

  it("stays a safe integer", () => {
    assert.equal(parseDuration("1e300"), Number.MAX_SAFE_INTEGER);
    assert.equal(parseDuration("9".repeat(300)), Number.MAX_SAFE_INTEGER);
  });

  it("treats an overflow as unreadable", () => {
    assert.equal(parseDuration("1e400"), 0);
    assert.equal(parseDuration("9".repeat(1_000)), 0);
  });
});

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
