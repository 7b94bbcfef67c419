import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import type { EqualCasesRule } from "../../../../lib/report/report_tool.ts";
import {
  attemptsOf,
  doubleCount,
  type EqualCase,
  ruleAt,
} from "../../../../lib/analysis/repetition/equal_cases.ts";
import type { Conclusion } from "../../../../lib/report/result.ts";

const ATTEMPTS: EqualCasesRule = {
  meaning: "attempts",
  hasBareAttempts: false,
};
const TESTS: EqualCasesRule = { meaning: "tests", hasBareAttempts: false };
const PYTEST: EqualCasesRule = { ...ATTEMPTS, hasBareAttempts: true };

const LETTERS: Record<string, Conclusion> = {
  P: "passing",
  F: "failure",
  E: "error",
  S: "skipped",
  U: "unknown",
};
const letterOf = (conclusion: Conclusion) =>
  Object.keys(LETTERS).find((letter) => LETTERS[letter] === conclusion)!;

/**
 * Cases from a word for each: the conclusions of its attempts, `r` for a retry, a variant after a colon,
 * the number of a suite after an `@`.
 */
function cases(text: string): EqualCase[] {
  let resultNo = 0;
  return text.split(" ").map((word) => {
    const [own = "", suiteNo = "0"] = word.replace("r", "").split("@");
    const [letters = "", variant = "0"] = own.split(":");
    const attempts = [...letters].map((letter) => (
      { resultNo: resultNo++, conclusion: LETTERS[letter]! }
    ));
    return {
      attempts,
      isBare: letters === "P",
      isRetry: word.includes("r"),
      variant: Number(variant),
      suiteNo: Number(suiteNo),
    };
  });
}

describe("the rule for a result", () => {
  it("is that of the last change before it, found without a look at all of them", () => {
    let looks = 0;
    const changes = Array.from({ length: 1_000 }, (_, index) => ({
      get resultNo() {
        looks++;
        return index * 3 + 2;
      },
      rule: index % 2 === 0 ? TESTS : PYTEST,
    }));
    const report = { file: "a.xml", tool: "", rule: ATTEMPTS, changes, surplusCaseCount: 0 };
    for (let resultNo = 0; resultNo < 3_010; resultNo++) {
      looks = 0;
      const found = ruleAt(report, resultNo);
      assert.ok(looks <= 10, `${looks} looks`);
      assert.equal(found, changes.findLast((one) => one.resultNo <= resultNo)?.rule ?? ATTEMPTS);
    }
  });
});

function outcome(
  text: string,
  rule: EqualCasesRule,
  { isRepeated = false, surplusCaseCount = 0 } = {},
): string {
  const { attempts, isMerged } = attemptsOf(cases(text), rule, { isRepeated, surplusCaseCount });
  return attempts.map(({ conclusion }) => letterOf(conclusion)).join(" ") +
    (isMerged ? " merged" : "");
}

describe("equal cases", () => {
  it("are attempts where a tool repeats the case for a retry", () => {
    for (const text of ["F P", "F F P", "F E F", "F F", "E S"]) {
      assert.equal(outcome(text, ATTEMPTS), text);
    }
  });

  it("are attempts only after a failure", () => {
    for (const [text, expected] of [["S P", "P"], ["U P", "P"], ["S F", "F"], ["F S P", "F"]]) {
      assert.equal(outcome(text!, ATTEMPTS), `${expected} merged`, text);
    }
  });

  it("are attempts where the report marks all but the first as retries", () => {
    assert.equal(outcome("F Pr", TESTS), "F P");
    assert.equal(outcome("F Fr Pr", TESTS), "F F P");
    assert.equal(outcome("Fr Pr", TESTS), "F merged", "the number of retries that are allowed");
    assert.equal(outcome("F P Pr", TESTS), "F merged");
    assert.equal(outcome("P Fr", TESTS), "F merged");
  });

  it("are different tests where it never does, failed if one of them is", () => {
    const table = [
      ["P F", "F"],
      ["F P", "F"],
      ["F E F", "E"],
      ["P P", "P"],
      ["S P", "P"],
      ["S S", "S"],
      ["U P", "P"],
      ["U S", "U"],
    ];
    for (const [text, expected] of table) {
      assert.equal(outcome(text!, TESTS), `${expected} merged`, text);
    }
  });

  it("are parts of one test where it has a case for each expectation", () => {
    for (const [text, expected] of [["P F", "F"], ["F P", "F"], ["P P", "P"], ["E P F", "E"]]) {
      assert.equal(outcome(text!, { ...TESTS, meaning: "parts" }), expected, text);
    }
  });

  it("are different tests if one follows a pass: runners do not repeat passes", () => {
    assert.equal(outcome("P F", ATTEMPTS), "F merged");
    assert.equal(outcome("F P F", ATTEMPTS), "F merged");
    assert.equal(outcome("P P", ATTEMPTS), "P merged");
  });

  it("are attempts if the tool repeated the whole run", () => {
    assert.equal(outcome("P F", ATTEMPTS, { isRepeated: true }), "P F");
    assert.equal(outcome("P F", TESTS, { isRepeated: true }), "P F");
    assert.equal(outcome("P:1 F:2", TESTS, { isRepeated: true }), "F merged");
  });

  it("of several suites of one name are different tests, each with its attempts", () => {
    assert.equal(outcome("F@1 P@2", ATTEMPTS), "F merged");
    assert.equal(outcome("F@1 P@1 F@2 P@2", ATTEMPTS), "F P merged");
    assert.equal(outcome("P@1 F@2 P@2", ATTEMPTS), "F P merged");
    assert.equal(outcome("P@1 F@2", PYTEST), "F merged");
    assert.equal(outcome("F@1 Pr@2", ATTEMPTS), "F P", "the report says that it is a retry");
    assert.equal(outcome("F@1 P@2", ATTEMPTS, { isRepeated: true }), "F merged");
    assert.equal(outcome("P@1 F@2", TESTS, { isRepeated: true }), "F merged");
  });

  it("of pytest's plugins are failed attempts if they are bare and the last one failed", () => {
    assert.equal(outcome("P P F", PYTEST), "F F F");
    assert.equal(outcome("P P E", PYTEST), "F F E");
  });

  it("of pytest's plugins are failed attempts if the suite has more cases than it declares", () => {
    assert.equal(outcome("P P", PYTEST, { surplusCaseCount: 3 }), "F P");
    assert.equal(outcome("P P", PYTEST), "P merged");
    assert.equal(outcome("P P F", PYTEST, { surplusCaseCount: 3, isRepeated: true }), "F F F");
  });

  it("are rounds of pytest-xdist if nearly all tests are repeated and none is undeclared", () => {
    assert.equal(outcome("P F", PYTEST, { isRepeated: true }), "P F");
  });

  it("are different tests if the report tells them apart", () => {
    assert.equal(outcome("P:3 F:4", ATTEMPTS), "F merged");
    assert.equal(outcome("F:3 P:4", ATTEMPTS), "F merged");
    assert.equal(outcome("F:3 P:4 P:3", ATTEMPTS), "F P merged");
    assert.equal(outcome("P:3 F:4 P:3 F:4", ATTEMPTS), "F merged");
    assert.equal(outcome("F:3 P:4", TESTS), "F merged");
    // A bare case is not a failed attempt of another test.
    assert.equal(outcome("P:3 P:4", PYTEST, { surplusCaseCount: 3 }), "P merged");
    assert.equal(outcome("P:3 P:4 P:4", PYTEST, { surplusCaseCount: 3 }), "F P merged");
    const { attempts } = attemptsOf(cases("P:3 F:4"), PYTEST, {
      isRepeated: false,
      surplusCaseCount: 0,
    });
    assert.deepEqual(attempts, [{ conclusion: "failure", messageOf: 1, resultNos: [0, 1] }]);
    assert.equal(doubleCount(cases("F:3 E:4 F:4 F:5")), 1);
  });

  it("may be very many", () => {
    const many = Array.from({ length: 200_000 }, () => "P").join(" ");
    assert.equal(outcome(many, TESTS), "P merged");
  });

  it("keep the retries that a case itself contains", () => {
    assert.equal(outcome("FP P", TESTS), "F P merged");
    assert.equal(outcome("FP F", TESTS), "F F merged");
    assert.equal(outcome("P FP", TESTS), "F P merged");
  });

  it("have the message of the first that ended so, and the times of all", () => {
    const merged = attemptsOf(cases("P F E F E"), TESTS, {
      isRepeated: false,
      surplusCaseCount: 0,
    });
    assert.deepEqual(merged.attempts, [
      { conclusion: "error", messageOf: 2, resultNos: [0, 1, 2, 3, 4] },
    ]);
  });
});
