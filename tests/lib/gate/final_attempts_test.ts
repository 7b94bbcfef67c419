import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { FinalAttempts } from "../../../lib/gate/final_attempts.ts";
import type { Conclusion } from "../../../lib/report/result.ts";

const TEST = { suite: "s", class: "c", name: "n", file: "f" };

function after(...conclusions: Conclusion[]): FinalAttempts {
  const attempts = new FinalAttempts();
  for (const conclusion of conclusions) {
    attempts.add({ ...TEST, conclusion, durationMicroseconds: 0, message: "", body: "" });
  }
  return attempts;
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
      const attempts = after(...conclusions);
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
    const attempts = after("failure");
    for (const field of ["suite", "class", "name", "file"]) {
      attempts.add({
        ...TEST,
        [field]: "other",
        conclusion: "passing",
        durationMicroseconds: 0,
        message: "",
        body: "",
      });
    }
    assert.deepEqual(attempts.failed, [TEST]);
  });
});
