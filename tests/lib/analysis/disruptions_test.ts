import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  findDisruptions,
  hasFailedAndPassed,
  type NegativeResult,
  type TestFacts,
} from "../../../lib/analysis/disruptions.ts";
import { columnsOf } from "./columns_of.ts";
import { runOf } from "./run_of.ts";

const build = (number: number) => ({
  commitOid: `c${number}`,
  buildUrl: `/builds/${number}`,
  job: "",
  shard: "",
  attempt: "",
});
const PLAIN: TestFacts = { hasFile: () => false, setUpOf: () => undefined };
const RUNS = [
  runOf(1, { 1: ["negative"], 2: ["negative"], 3: ["positive"] }, build(1)),
  runOf(2, { 1: ["positive"], 2: ["negative"], 3: ["negative", "positive"] }, build(2)),
  runOf(3, { 2: ["skipped"], 3: ["positive"] }, build(3)),
];

function negative(run: number, testNo: number, resultNo: number): NegativeResult {
  const { submissionId } = RUNS[run]!;
  return { submissionId, testNo, resultNo, message: `${run} ${testNo}`, isDisruption: false };
}

const NEGATIVES = [negative(1, 2, 5), negative(1, 3, 6), negative(0, 1, 0), negative(0, 2, 1)];

describe("disruptions of a code version", () => {
  it("are the failures of tests that passed too, in any of its runs", () => {
    // In no particular order, as they are loaded.
    const found = findDisruptions(RUNS.toReversed(), NEGATIVES, PLAIN);
    assert.deepEqual(
      found.map(({ test, disruptions }) => [test.testNo, disruptions.map((one) => one.message)]),
      [[3, ["1 3"]], [1, ["0 1"]]],
    );
  });

  it("come with the latest of them, and the latest pass", () => {
    const [{ test }, other] = findDisruptions(RUNS, NEGATIVES, PLAIN) as [
      ReturnType<typeof findDisruptions>[number],
      ReturnType<typeof findDisruptions>[number],
    ];
    assert.equal(test.latestBuildUrl, "/builds/2");
    assert.equal(test.positiveBuildUrl, "/builds/3");
    assert.equal(test.firstDisruptionAt, 2);
    assert.equal(other.test.positiveBuildUrl, "/builds/2");
  });

  it("need a pass and a failure", () => {
    assert.deepEqual(findDisruptions(RUNS.slice(0, 1), [negative(0, 1, 0)], PLAIN), []);
    assert.deepEqual(findDisruptions(RUNS, [], PLAIN), []);
  });
});

describe("a test that failed and passed in one submission", () => {
  it("is seen in its exceptions", () => {
    const encoded = (...kinds: ("positive" | "negative" | "skipped")[][]) =>
      columnsOf(kinds.map((own) => own.map((kind) => ({ kind, durationMicroseconds: 0 }))))
        .exceptions;
    assert.equal(hasFailedAndPassed(encoded(["skipped"], ["negative", "positive"])), true);
    assert.equal(hasFailedAndPassed(encoded(["negative", "negative"], ["positive"])), false);
    assert.equal(hasFailedAndPassed(encoded()), false);
  });
});
