import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { finalAttempts } from "../../../lib/gate/final_attempts.ts";
import type { Conclusion, TestResult } from "../../../lib/report/result.ts";

const TEST = { suite: "s", class: "c", name: "n", file: "f" };

const RESULT = { ...TEST, durationMicroseconds: 0, message: "broke", body: "" };

function after(...results: TestResult[]) {
  const builder = new SubmissionBuilder();
  for (const result of results) builder.add(result);
  return finalAttempts(builder.finish());
}

describe("final attempts", () => {
  it("decide whether a test failed", () => {
    const cases: [Conclusion[], "failed" | "unclear" | "passed" | "none"][] = [
      [["passing"], "passed"],
      [["failure"], "failed"],
      [["error"], "failed"],
      [["skipped"], "none"],
      [["unknown"], "unclear"],
      [["failure", "passing"], "passed"],
      [["error", "failure", "passing"], "passed"],
      [["passing", "failure"], "failed"],
      [["failure", "passing", "error"], "failed"],
      [["failure", "skipped"], "failed"],
      [["failure", "unknown"], "failed"],
      [["passing", "unknown"], "unclear"],
      [["unknown", "passing"], "passed"],
      [["unknown", "failure"], "failed"],
      [["passing", "skipped"], "passed"],
    ];
    for (const [conclusions, outcome] of cases) {
      const attempts = after(...conclusions.map((conclusion) => ({ ...RESULT, conclusion })));
      const found = {
        failed: attempts.failed.length === 1,
        unclear: attempts.unclear.length === 1,
        passed: attempts.hasPassed(TEST),
      };
      const expected = { failed: false, unclear: false, passed: false };
      if (outcome !== "none") expected[outcome] = true;
      assert.deepEqual(found, expected, conclusions.join());
    }
  });

  it("tell tests apart by suite, class, name and file", () => {
    const others = ["suite", "class", "name", "file"].map((field) => (
      { ...RESULT, [field]: "other", conclusion: "passing" as const }
    ));
    const attempts = after({ ...RESULT, conclusion: "failure" }, ...others);
    assert.deepEqual(attempts.failed.map(({ fingerprint: _, ...test }) => test), [TEST]);
  });
});

describe("the causes of a failed test", () => {
  const failed = (message: string, rest: Partial<TestResult> = {}): TestResult => ({
    ...RESULT,
    conclusion: "failure",
    message,
    ...rest,
  });
  const countOf = (...results: TestResult[]) => {
    const { failed: [test] } = after(...results);
    return 1 + (test!.otherFingerprints?.length ?? 0);
  };

  it("are those of all its failures", () => {
    assert.equal(countOf(failed("a")), 1);
    assert.equal(countOf(failed("a 1"), failed("a 2")), 1);
    // pytest writes a failed call and a failed tear-down as two cases.
    assert.equal(countOf(failed("a"), failed("b", { conclusion: "error" })), 2);
    assert.equal(countOf(failed("a", { otherMessages: ["a", "b", "c"] })), 3);
    assert.equal(countOf(failed("a", { otherMessages: ["contains 1 failed subtest"] })), 1);
    assert.equal(countOf(failed("", { body: "" }), failed("a")), 1);
  });
});

describe("a failure with subtests", () => {
  const cases: [message: string, body: string, bySubtest: boolean, name?: string][] = [
    ["Failed", "=== RUN   TestA\n--- FAIL: TestA (0.00s)\n", true],
    ["", "=== RUN   TestA\n=== CONT  TestA\n    --- FAIL: TestA (0.00s)\n", true],
    ["1 test step failed", "1 test step failed.", true],
    ["12 subtests failed", "", true],
    ["Failed", "=== RUN   TestA\n    a_test.go:4: own\n--- FAIL: TestA (0.00s)\n", false],
    ["panic: boom", "", false],
    ["", "2 subtests failed\nand the clean-up", false],
    ["", "contains 2 failed subtests", true],
    // Of Go, by a converter without the output.
    ["Failed", "", true, "TestA"],
    ["Failed", "Failed", true, "Test_a/b"],
    ["", "", false, "TestA"],
    // Of other tools, which write nothing about subtests.
    ["", "", false],
    ["Failed", "", false],
    ["FAIL", "Failed", false],
    ["Failed", "", false, "Cart"],
    ["Failed", "", false, "Testing"],
    ["Failed", "", false, "TestA adds"],
  ];
  for (const [message, body, bySubtest, name = "n"] of cases) {
    it(`${bySubtest ? "is theirs" : "is its own"}: ${name}: ${message || body}`, () => {
      const { failed } = after({ ...RESULT, name, conclusion: "failure", message, body });
      assert.equal(failed[0]!.bySubtest ?? false, bySubtest);
    });
  }
});
