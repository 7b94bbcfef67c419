import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { eachNegative } from "../../../lib/analysis/negatives.ts";
import { attemptsOfTests, forEachException } from "../../../lib/analysis/columns.ts";
import { decodeBody, failureText } from "../../../lib/analysis/failure_texts.ts";
import { indexOfTest, SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { testHash } from "../../../lib/base/identity.ts";
import { PLAIN_CASE, type TestResult } from "../../../lib/report/result.ts";

function result(name: string, more: Partial<TestResult> = {}): TestResult {
  return {
    suite: "",
    class: "",
    name,
    file: "",
    conclusion: "passing",
    durationMicroseconds: 0,
    message: "",
    body: "",
    ...more,
  };
}

function content(results: TestResult[]) {
  const builder = new SubmissionBuilder();
  for (const each of results) builder.add(each);
  return builder.finish();
}

describe("a time that cannot be", () => {
  const timesOf = (...seconds: number[]) => {
    const builder = new SubmissionBuilder();
    const test = { suite: "", class: "", file: "", message: "", body: "" };
    for (const [index, one] of seconds.entries()) {
      const durationMicroseconds = one * 1e6;
      builder.add({ ...test, name: `t${index}`, conclusion: "passing", durationMicroseconds });
    }
    const notes: string[] = [];
    const content = builder.finish({ onNote: (note) => notes.push(note) });
    const times = new Map<string, number>();
    attemptsOfTests(content).forEach((own, index) => {
      times.set(content.identityAt(index).name, own[0]!.durationMicroseconds / 1e6);
    });
    return { times: seconds.map((_, index) => times.get(`t${index}`)), notes };
  };

  it("is 0, with a note that names the unit it was probably in", () => {
    const { times, notes } = timesOf(548_392_417, 1);
    assert.deepEqual(times, [0, 1]);
    assert.match(notes.join(), /^the test "t0" took 548392417 s .*probably in nanoseconds/);
    assert.match(timesOf(90_000, 1).notes.join(), /probably in milliseconds/);
  });

  it("is above 30 days, or above one day and ten times all others together", () => {
    const day = 24 * 60 * 60;
    assert.deepEqual(timesOf(31 * day, 30 * day).times, [0, 30 * day]);
    assert.deepEqual(timesOf(2 * day, day / 4).times, [2 * day, day / 4]);
    assert.deepEqual(timesOf(2 * day, day / 10).times, [0, day / 10]);
    assert.deepEqual(timesOf(day, 1).times, [day, 1]);
  });
});

describe("the content of a submission", () => {
  it("holds each test once, in ascending order of its hash, with its identity", () => {
    const tests = ["a", "b", "ü", "a"].map((name) => result(name, { suite: "s", file: "f.ts" }));
    const { testHashes, identityAt, resultCount } = content(tests);
    assert.equal(resultCount, 4);
    assert.deepEqual([...testHashes], [...testHashes].toSorted((a, b) => a - b));
    assert.equal(testHashes.length, 3);
    testHashes.forEach((hash, index) => assert.equal(testHash(identityAt(index)), hash));
  });

  it("has the same list hash for the same tests in another order", () => {
    const names = ["x", "y", "z"];
    const there = content(names.map((name) => result(name)));
    const back = content(names.toReversed().map((name) => result(name)));
    assert.equal(there.listHash, back.listHash);
    assert.notEqual(there.listHash, content([result("x")]).listHash);
  });

  it("forgets a report that is left out, as if it had not been read", () => {
    const tool = {
      file: "r.xml",
      tool: "",
      rule: { meaning: "tests", hasBareAttempts: false },
      surplusCaseCount: 0,
    } as const;
    const failed = (name: string) => result(name, { conclusion: "failure", message: name });
    const whole = [failed("a"), result("b")];
    const later = [failed("d"), failed("c"), failed("a")];
    const contentOf = (reports: (TestResult[] | "left out")[]) => {
      const builder = new SubmissionBuilder();
      for (const report of reports) {
        if (report === "left out") {
          for (const each of [failed("c"), result("b"), failed("x")]) {
            builder.add(each, { ...PLAIN_CASE, variant: 7 });
          }
          builder.discardReport();
        } else {
          for (const each of report) builder.add(each);
          builder.endReport(tool);
        }
      }
      const { identityAt, forgetIdentities: _forget, identities: _, textBytes: __, ...rest } =
        builder
          .finish();
      return { ...rest, names: [...rest.testHashes.keys()].map((index) => identityAt(index).name) };
    };
    assert.deepEqual(
      contentOf(["left out", whole, "left out", later, "left out"]),
      contentOf([whole, later]),
    );
  });

  it("encodes retries, skips and unknown results as exceptions", () => {
    const { exceptions } = content([
      result("t", { conclusion: "failure" }),
      result("t", { conclusion: "error" }),
      result("t"),
      result("t", { conclusion: "skipped" }),
      result("t", { conclusion: "unknown" }),
    ]);
    const seen: unknown[] = [];
    forEachException(exceptions, (index, { counts }) => {
      seen.push([index, { ...counts }]);
    });
    assert.deepEqual(seen, [[0, { positive: 1, negative: 2, skipped: 1, unknown: 1 }]]);
  });

  it("keeps negative results in the order of the report, with their texts", () => {
    const first = { message: "first", body: "first\n  at line 1" };
    const { negatives, texts } = content([
      result("t", { conclusion: "failure", ...first }),
      result("u"),
      result("t", { conclusion: "error", message: "second" }),
      result("v", { conclusion: "failure", ...first }),
    ]);
    assert.deepEqual(
      Array.from(
        eachNegative(negatives),
        ({ resultNo, conclusion, textNo }) => [resultNo, conclusion, textNo],
      ),
      [[0, "failure", 0], [2, "error", 1], [3, "failure", 0]],
    );
    assert.deepEqual(
      [0, 1].map((textNo) => failureText(texts, textNo))
        .map(({ message, body }) => ({ message, body: decodeBody(body) })),
      [first, { message: "second", body: "" }],
    );
  });

  it("adds up the time of all attempts of a test", () => {
    const { durations, durationUnit } = content([
      result("t", { durationMicroseconds: 2_000 }),
      result("t", { durationMicroseconds: 3_000 }),
    ]);
    assert.deepEqual([...durations], [5]);
    assert.equal(durationUnit, 1_000);
  });

  it("takes more results than its first buffers hold", () => {
    const results = Array.from({ length: 5_000 }, (_, index) => result(`test ${index}`));
    const { testHashes, identityAt } = content(results);
    assert.equal(testHashes.length, 5_000);
    assert.equal(new Set(results.map((_, index) => identityAt(index).name)).size, 5_000);
  });

  it("finds tests by their hashes, and no others", () => {
    const { testHashes } = content(["a", "b", "c"].map((name) => result(name)));
    testHashes.forEach((hash, index) => assert.equal(indexOfTest(testHashes, hash), index));
    assert.equal(indexOfTest(testHashes, testHash(result("d"))), -1);
    assert.equal(indexOfTest(new Float64Array(), 5), -1);
  });
});
