import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { eachNegative } from "../../../../lib/analysis/negatives.ts";
import { failureText } from "../../../../lib/analysis/failure_texts.ts";
import { attemptsOfTests } from "../../../../lib/analysis/columns.ts";
import { SubmissionBuilder } from "../../../../lib/analysis/submission_content.ts";
import type { EqualCasesRule } from "../../../../lib/report/report_tool.ts";
import { type Conclusion, PLAIN_CASE, type TestResult } from "../../../../lib/report/result.ts";

const ATTEMPTS: EqualCasesRule = {
  meaning: "attempts",
  hasBareAttempts: false,
};
const TESTS: EqualCasesRule = { meaning: "tests", hasBareAttempts: false };

function result(name: string, conclusion: Conclusion, milliseconds = 1): TestResult {
  const durationMicroseconds = milliseconds * 1_000;
  const message = conclusion === "failure" || conclusion === "error" ? `${name} broke` : "";
  return {
    ...{ suite: "", class: "", file: "", body: "" },
    ...{ name, conclusion, durationMicroseconds, message },
  };
}

/** Reads reports, each a list of results; the attempts of each test, by name. */
function read(rule: EqualCasesRule, ...reports: TestResult[][]) {
  const builder = new SubmissionBuilder();
  reports.forEach((results, index) => {
    for (const each of results) builder.add(each);
    builder.endReport({ file: `${index}.xml`, tool: "jest", rule, surplusCaseCount: 0 });
  });
  const notes: string[] = [];
  const content = builder.finish({ onNote: (note) => notes.push(note) });
  const attempts: Record<string, string> = {};
  attemptsOfTests(content).forEach((own, index) => {
    attempts[content.identityAt(index).name] = own.map((one) =>
      `${one.kind} ${one.durationMicroseconds / 1_000}`
    ).join(", ");
  });
  return { content, attempts, notes };
}

describe("equal cases of a report", () => {
  it("become one result with their times added, and a note that names them", () => {
    const { content, attempts, notes } = read(TESTS, [
      result("a", "passing", 1),
      result("b", "passing", 2),
      result("a", "failure", 3),
      result("c", "error", 4),
    ]);
    assert.deepEqual(attempts, { a: "negative 4", b: "positive 2", c: "negative 4" });
    assert.equal(content.resultCount, 3);
    assert.deepEqual(
      Array.from(eachNegative(content.negatives), ({ resultNo, conclusion, textNo }) => (
        { resultNo, conclusion, message: failureText(content.texts, textNo).message }
      )),
      [
        { resultNo: 0, conclusion: "failure", message: "a broke" },
        { resultNo: 2, conclusion: "error", message: "c broke" },
      ],
    );
    assert.deepEqual(notes, [
      "0.xml: tests with the same name in a report of jest count as one test, which failed if any " +
      'of them did: "a" (2 cases)',
    ]);
  });

  it("become one result with the causes of all of them", () => {
    const failed = (message: string, more: Partial<TestResult> = {}): TestResult => ({
      ...result("a", "failure"),
      message,
      ...more,
    });
    const causesOf = (...results: TestResult[]) =>
      Array.from(
        eachNegative(read(TESTS, results).content.negatives),
        ({ otherFingerprints = [] }) => otherFingerprints.length,
      );
    assert.deepEqual(causesOf(failed("x"), failed("y"), result("a", "passing")), [1]);
    assert.deepEqual(causesOf(failed("x 1"), failed("x 2")), [0]);
    assert.deepEqual(
      causesOf(failed("x", { otherMessages: ["z"] }), failed("y", { otherMessages: ["x"] })),
      [2],
    );
    assert.deepEqual(causesOf(failed("x"), failed("")), [0]);
    const many = Array.from({ length: 150 }, (_, index) => failed("x".repeat(1 + index)));
    assert.deepEqual(causesOf(...many), [101]);
  });

  it("are attempts as before where the tool writes them so", () => {
    const { attempts, notes } = read(ATTEMPTS, [result("a", "failure"), result("a", "passing")]);
    assert.deepEqual(attempts, { a: "negative 1, positive 1" });
    assert.deepEqual(notes, []);
  });

  describe("of a run that was repeated", () => {
    const IN_TURN: EqualCasesRule = { ...TESTS, rounds: "in turn" };

    /** Reads cases such as `a+ b- a+`, in one suite, or as `suite.a+`; the attempts of `a`. */
    function attemptsOfA(text: string, rule: EqualCasesRule = IN_TURN): string {
      const builder = new SubmissionBuilder();
      for (const word of text.split(" ")) {
        const [, suite = "", name = "", sign] = /^(?:(\w+)\.)?(\w+)([+-])$/.exec(word)!;
        builder.add({ ...result(name, sign === "+" ? "passing" : "failure"), suite });
      }
      builder.endReport({ file: "r.xml", tool: "", rule, surplusCaseCount: 0 });
      const content = builder.finish();
      let found = "";
      attemptsOfTests(content).forEach((own, index) => {
        if (content.identityAt(index).name !== "a") return;
        found = own.map(({ kind }) => kind === "positive" ? "+" : "-").join("");
      });
      return found;
    }

    it("are attempts if half of 4 tests come equally often, each in its round", () => {
      for (
        const [text, expected] of [
          ["a+ b+ c+ d+ a- b+ c+ d+", "+-"],
          ["a- b+ c+ d+ a+ b+ c+ d+ a+ b+ c+ d+", "-++"],
          // Two of four.
          ["a+ b+ c+ d+ a- b+", "+-"],
          // Too few tests, or too few that are repeated.
          ["a+ b+ c+ a- b+ c+", "-"],
          ["a+ b+ c+ d+ e+ a- b+", "-"],
          ["a+ b+ c+ d+ a-", "-"],
          // Rows of parameters.
          ["a+ a- b+ b+ c+ c+ d+ d+", "-"],
          ["a+ b+ a- b+ c+ d+", "-"],
          ["a+ b+ c+ d+ a+ b+ a- c+ d+ b+", "-"],
        ]
      ) assert.equal(attemptsOfA(text!), expected, text);
    });

    it("are attempts if every suite was repeated, as Go repeats each package", () => {
      assert.equal(attemptsOfA("x.a+ x.b+ x.a- x.b+ y.c+ y.d+ y.c+ y.d+"), "+-");
      assert.equal(attemptsOfA("x.a+ x.b+ x.a- x.b+ y.c+ y.d+"), "-");
      assert.equal(attemptsOfA("x.a+ x.a- y.b+ y.b+ z.c+ z.c+ w.d+ w.d+"), "-");
    });

    it("are attempts of parallel workers where a tool has them", () => {
      const parallel = { ...TESTS, rounds: "overlapping" } as const;
      assert.equal(attemptsOfA("a+ a- b+ b+ c+ c+ d+ d+", parallel), "+-");
    });

    it("are tests where the tool repeats no run, or not so: two runs were merged", () => {
      const turns = "a- b+ c+ d+ a+ b+ c+ d+";
      assert.equal(attemptsOfA(turns, TESTS), "-");
      assert.equal(attemptsOfA(turns, { ...ATTEMPTS, rounds: "overlapping" }), "-");
      assert.equal(attemptsOfA("a- a+ b+ b+ c+ c+ d+ d+", TESTS), "-");
    });
  });

  it("are attempts of Gradle if they follow all first attempts of their suite", () => {
    const gradle: EqualCasesRule = { ...ATTEMPTS, retriesAtEnd: true };
    const [failed, passed] = [result("a", "failure"), result("a", "passing")];
    const other = result("b", "passing");
    const row = result("c(int)[1]", "passing");
    const elsewhere = { ...other, suite: "another" };
    const attemptsOf = (...results: TestResult[]) => read(gradle, results).attempts["a"];
    assert.equal(attemptsOf(failed, other, passed), "negative 1, positive 1");
    assert.equal(attemptsOf(failed, other, passed, row, elsewhere), "negative 1, positive 1");
    assert.equal(attemptsOf(failed, passed, other), "negative 2");
  });

  it("are not attempts in any report if two of them passed in one", () => {
    const [failed, passed] = [result("a", "failure"), result("a", "passing")];
    const { attempts } = read(ATTEMPTS, [passed, passed], [failed, passed]);
    assert.equal(attempts["a"], "negative 4");
  });

  describe("of pytest", () => {
    const PYTEST: EqualCasesRule = {
      ...ATTEMPTS,
      hasBareAttempts: true,
      rounds: "overlapping",
    };
    function readPytest(surplusCaseCount: number, outcomes: string) {
      const builder = new SubmissionBuilder();
      for (const each of outcomes.split(" ")) {
        const conclusion = ({ P: "passing", F: "failure", E: "error" } as const)[each[1]!]!;
        const isBare = conclusion === "passing";
        builder.add(result(each[0]!, conclusion), { ...PLAIN_CASE, isBare });
      }
      builder.endReport({ file: "r.xml", tool: "pytest", rule: PYTEST, surplusCaseCount });
      const kinds: Record<string, string> = {};
      const content = builder.finish();
      attemptsOfTests(content).forEach((own, index) => {
        kinds[content.identityAt(index).name] = own.map(({ kind }) => kind).join(" ");
      });
      return kinds;
    }

    it("are failed attempts if a tear-down fails in all tests, which declares too many", () => {
      const kinds = readPytest(0, "aP aP aE bP bP bE cP");
      const failed = "negative negative negative";
      assert.deepEqual(kinds, { a: failed, b: failed, c: "positive" });
    });

    it("are rounds if a failed test failed in its tear-down, too, which is declared as one", () => {
      const kinds = readPytest(2, "aF aE aF aE bP bP cP cP dP dP");
      assert.equal(kinds["b"], "positive positive");
      assert.equal(kinds["c"], "positive positive");
    });

    it("are rounds if most tests passed on every worker", () => {
      assert.equal(readPytest(0, "aP aF bP bP cP cP dP dP")["a"], "positive negative");
    });
  });

  it("count the attempts that a case contains as one case", () => {
    const builder = new SubmissionBuilder();
    for (const name of ["a", "b"]) {
      builder.add(result(name, "failure"));
      builder.add(result(name, "passing"), { ...PLAIN_CASE, isNewCase: false });
    }
    builder.add(result("a", "passing"));
    builder.endReport({ file: "f", tool: "", rule: ATTEMPTS, surplusCaseCount: 0 });
    const { resultCount, negatives } = builder.finish();
    assert.deepEqual([resultCount, [...negatives.resultNos]], [4, [0, 2]]);
  });

  it("in 100,000 pairs are merged within seconds, with five names in the note", () => {
    const results = Array.from(
      { length: 200_000 },
      (_, index) => result(`test ${index >> 1}`, index % 2 === 0 ? "passing" : "failure"),
    );
    const { content, notes } = read(TESTS, results);
    assert.equal(content.resultCount, 100_000);
    assert.equal(content.negatives.length, 100_000);
    assert.match(notes.join(), /"test 0" \(2 cases\), .* and 99995 more$/);
  });
});
