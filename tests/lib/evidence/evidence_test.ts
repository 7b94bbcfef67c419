import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { encodeResults } from "../../../lib/analysis/columns.ts";
import { RunResults, SelectedTests, TestList } from "../../../lib/analysis/run.ts";
import {
  causesOfOthers,
  countBaseRuns,
  type EarlierFailure,
  type FailedRun,
  findEvidence,
  isKnownOnBase,
  type KnownOfTest,
} from "../../../lib/evidence/evidence.ts";
import { massFailureOf } from "../../../lib/evidence/mass_failure.ts";

const RUN: FailedRun = {
  branch: "mine",
  pullNumber: null,
  isOnBase: false,
  isOnGuess: false,
  massFailure: null,
  failedTestCount: 1,
};

const NOTHING: KnownOfTest = {
  passedIn: null,
  base: { runCount: 0, failedCount: 0, isOfJob: false, latest: null },
  failures: [],
  before: null,
};

const CLEAN_BASE = {
  runCount: 20,
  failedCount: 0,
  isOfJob: true,
  latest: { submissionId: "b9", branch: "main", hasFailed: false },
};

function failure(given: Partial<EarlierFailure> = {}): EarlierFailure {
  return {
    submissionId: "a1",
    branch: "main",
    causes: ["timeout"],
    isSameCode: false,
    isSamePull: false,
    pullNumber: null,
    isOfBase: given.isOnBase ?? true,
    isOnBase: true,
    isSameJob: true,
    isCounted: true,
    ...given,
  };
}

function evidenceOf(
  { causes = ["timeout"], run = {}, lately = [], ...known }: Partial<KnownOfTest> & {
    causes?: string[];
    run?: Partial<FailedRun>;
    lately?: string[];
  },
) {
  return findEvidence(causes, { ...RUN, ...run }, { ...NOTHING, ...known }, new Set(lately));
}

describe("a failure that is known on the base branch", () => {
  const isKnown = (known: Partial<KnownOfTest>) =>
    isKnownOnBase(["timeout"], RUN, { ...NOTHING, ...known }, "a1");

  it("is not found for a run on a branch that is only guessed to be the base branch", () => {
    const own = { ...RUN, isOnBase: true, isOnGuess: true };
    assert.equal(
      isKnownOnBase(["timeout"], own, { ...NOTHING, failures: [failure()] }, "a1"),
      false,
    );
  });

  it("is one of a test whose latest run there failed, with any cause", () => {
    assert.equal(isKnown({}), false);
    assert.equal(isKnown({ base: CLEAN_BASE }), false);
    const latest = { ...CLEAN_BASE.latest, hasFailed: true };
    assert.equal(isKnown({ base: { ...CLEAN_BASE, latest } }), true);
  });

  it("is one with a cause that was seen there since the first submission that counts", () => {
    const sees = (given: Partial<EarlierFailure>) => isKnown({ failures: [failure(given)] });
    assert.equal(sees({}), true);
    assert.equal(sees({ submissionId: "a0" }), false);
    assert.equal(sees({ isOnBase: false }), false);
    assert.equal(sees({ causes: ["other"] }), false);
  });

  it("is one of several causes that were all seen there", () => {
    const isKnown = (failures: EarlierFailure[]) =>
      isKnownOnBase(["timeout", "refused"], RUN, { ...NOTHING, failures }, "a1");
    assert.equal(isKnown([failure()]), false);
    assert.equal(isKnown([failure(), failure({ causes: ["refused"] })]), true);
  });
});

describe("the evidence for a failure", () => {
  it("is that the test also passed at this code version, whatever else is known", () => {
    const passedIn = { submissionId: "a1", branch: "other" };
    const found = evidenceOf({ passedIn, run: { massFailure: "together" }, base: CLEAN_BASE });
    assert.equal(found.evidence, "passed_here");
    assert.equal(found.restsOn, passedIn);
  });

  it("is that its latest run on the base branch failed with a cause of this failure", () => {
    const base = {
      runCount: 30,
      failedCount: 2,
      isOfJob: true,
      latest: { submissionId: "a1", branch: "main", hasFailed: true },
    };
    const found = evidenceOf({ base, failures: [failure()] });
    assert.equal(found.evidence, "fails_on_base");
    assert.equal(found.restsOn?.submissionId, "a1");
    assert.equal(
      evidenceOf({ base, failures: [failure({ causes: ["other"] })] }).evidence,
      "new_cause",
    );
  });

  it("is that a failure with several causes was seen before only if each of them was", () => {
    const causes = ["timeout", "refused"];
    const latest = { submissionId: "a2", branch: "main", hasFailed: true };
    const base = { runCount: 30, failedCount: 2, isOfJob: true, latest };
    const timedOut = failure({ submissionId: "a2" });
    const refused = failure({ causes: ["refused"] });
    const failedOnBase = { base, causes, failures: [timedOut] };
    assert.equal(evidenceOf(failedOnBase).evidence, "new_cause");
    const bothOnBase = { ...failedOnBase, failures: [refused, timedOut] };
    assert.equal(evidenceOf(bothOnBase).evidence, "fails_on_base");
    const elsewhere = { ...timedOut, branch: "other", isOnBase: false };
    assert.equal(evidenceOf({ causes, failures: [elsewhere] }).evidence, "new_cause");
    assert.equal(evidenceOf({ causes, failures: [refused, elsewhere] }).evidence, "seen_elsewhere");
    // The other one was seen on its own branch alone.
    const ownRefused = { ...refused, branch: "mine", isOnBase: false };
    const ownOther = { causes, failures: [ownRefused, elsewhere], base: CLEAN_BASE };
    assert.equal(evidenceOf({ ...ownOther, base }).evidence, "few");
  });

  it("is that the run is an outage, or failed together", () => {
    const outage = {
      run: { massFailure: "outage" as const, failedTestCount: 20 },
      base: CLEAN_BASE,
    };
    assert.equal(evidenceOf({ ...outage, lately: ["timeout"] }).evidence, "outage");
    assert.equal(evidenceOf({ ...outage, causes: [] }).evidence, "outage");
    assert.equal(
      evidenceOf({ ...outage, lately: ["refused"] }).evidence,
      "first",
      "its own failure",
    );
    assert.equal(evidenceOf({ run: { massFailure: "together" } }).evidence, "together");
  });

  it("is that ten tests failed with causes that no others had in the 24 hours before", () => {
    const run = { failedTestCount: 10 };
    assert.equal(evidenceOf({ run, base: CLEAN_BASE }).evidence, "together");
    assert.equal(evidenceOf({ run, base: CLEAN_BASE, lately: ["timeout"] }).evidence, "first");
    assert.equal(evidenceOf({ run: { failedTestCount: 9 }, base: CLEAN_BASE }).evidence, "first");
  });

  it("is that a cause was seen on another branch, unless the run before on this one had it too", () => {
    const elsewhere = failure({ branch: "other", isOnBase: false });
    assert.equal(evidenceOf({ failures: [elsewhere] }).evidence, "seen_elsewhere");
    const own = failure({ submissionId: "a2", branch: "mine", isOnBase: false });
    const again = { failures: [elsewhere, own], before: { submissionId: "a2", branch: "mine" } };
    assert.equal(evidenceOf(again).evidence, "new_test");
    const passed = { ...again, before: { submissionId: "a3", branch: "mine" } };
    assert.equal(evidenceOf(passed).evidence, "seen_elsewhere");
    assert.equal(evidenceOf({ failures: [own] }).evidence, "new_test");
  });

  it("is not that a cause was seen in another job, if the test never failed in this one", () => {
    const inWindows = { failures: [failure({ isSameJob: false, isCounted: false })] };
    assert.equal(evidenceOf({ ...inWindows, base: CLEAN_BASE }).evidence, "first");
    assert.equal(
      isKnownOnBase(["timeout"], RUN, { ...NOTHING, ...inWindows, base: CLEAN_BASE }, "a1"),
      false,
    );
    const ranHere = [
      { ...CLEAN_BASE, runCount: 19 },
      { ...CLEAN_BASE, failedCount: 1 },
      { ...CLEAN_BASE, isOfJob: false },
    ];
    for (const base of ranHere) {
      assert.equal(evidenceOf({ ...inWindows, base }).evidence, "seen_elsewhere");
    }
    const here = { failures: [failure({ branch: "other", isOnBase: false })], base: CLEAN_BASE };
    assert.equal(evidenceOf(here).evidence, "seen_elsewhere");
  });

  it("is not that a cause was seen under another branch of the same pull request", () => {
    const renamed = failure({ branch: "other", isOnBase: false, isSamePull: true });
    assert.equal(evidenceOf({ failures: [renamed], base: CLEAN_BASE }).evidence, "first");
  });

  it("is on the base branch that two other changes had it: one may be what was merged", () => {
    const of = (branch: string, given: Partial<EarlierFailure> = {}) =>
      failure({ branch, isOnBase: false, isCounted: false, ...given });
    const onBase = (failures: EarlierFailure[], pullNumber: number | null = null) => {
      const run = { branch: "main", isOnBase: true, pullNumber };
      return evidenceOf({ run, failures, base: CLEAN_BASE }).evidence;
    };
    assert.equal(onBase([of("merged")]), "first");
    assert.equal(onBase([of("merged"), of("merged")]), "first");
    assert.equal(onBase([of("merged"), of("other")]), "seen_elsewhere");
    assert.equal(onBase([of("merged"), failure()]), "seen_elsewhere");
    assert.equal(onBase([of("merged"), of("other", { causes: ["refused"] })]), "first");
    const [pull, again] = [of("merged", { pullNumber: 5 }), of("merged-2", { pullNumber: 5 })];
    assert.equal(onBase([pull, again, of("merged")]), "first", "one pull request");
    const queue = of("gh-readonly-queue/main/pr-6-0123456", { pullNumber: 6, isOfBase: true });
    assert.equal(onBase([pull, queue]), "first", "a group that was rejected may have it");
    assert.equal(onBase([pull], 6), "seen_elsewhere", "in the queue of another pull request");
    assert.equal(onBase([queue], 5), "first");
  });

  it("rests on the last failure that is counted, not on a later one of another job", () => {
    const ofOtherJob = failure({ submissionId: "a2", isCounted: false });
    const elsewhere = failure({ branch: "other", isOnBase: false, isCounted: false });
    const failures = [failure(), ofOtherJob, elsewhere];
    const found = evidenceOf({ failures });
    assert.deepEqual([found.evidence, found.restsOn?.submissionId], ["seen_elsewhere", "a1"]);
    const uncounted = evidenceOf({ failures: failures.slice(1) });
    assert.equal(uncounted.restsOn?.submissionId, "a2");
  });

  it("is not a failure on another branch if its own branch is unknown", () => {
    const elsewhere = failure({ branch: "other", isOnBase: false });
    const found = evidenceOf({ failures: [elsewhere], run: { branch: "" }, base: CLEAN_BASE });
    assert.equal(found.evidence, "first");
  });

  it("is not a failure at the same code, which adds no information", () => {
    const same = failure({ isSameCode: true });
    assert.equal(evidenceOf({ failures: [same], base: CLEAN_BASE }).evidence, "first");
  });

  it("is a new cause when it failed before, but never with a cause of this failure", () => {
    assert.equal(evidenceOf({ causes: ["other"], failures: [failure()] }).evidence, "new_cause");
    assert.equal(evidenceOf({ causes: [], failures: [failure()] }).evidence, "new_cause");
  });

  it("is a new test, the first failure of many runs, or few runs", () => {
    assert.equal(evidenceOf({}).evidence, "new_test");
    assert.equal(evidenceOf({ base: CLEAN_BASE }).evidence, "first");
    assert.equal(evidenceOf({ base: { ...CLEAN_BASE, runCount: 19 } }).evidence, "few");
    assert.equal(evidenceOf({ base: { ...CLEAN_BASE, failedCount: 1 } }).evidence, "few");
  });
});

describe("the causes of others", () => {
  const of = (branch: string, given: Partial<EarlierFailure> = {}) =>
    failure({ branch, isOnBase: false, ...given });
  const merged = of("merged", { causes: ["timeout", "refused"] });
  const causesFor = (isOnBase: boolean, failures: EarlierFailure[]) => [
    ...causesOfOthers(failures, { isOnBase, pullNumber: null }),
  ];

  it("are those of any other branch, and for a run on the base branch those of two changes", () => {
    assert.deepEqual(causesFor(false, [merged]), ["timeout", "refused"]);
    assert.deepEqual(causesFor(true, [merged]), []);
    assert.deepEqual(causesFor(true, [merged, of("other")]), ["timeout"]);
    assert.deepEqual(causesFor(true, [merged, failure({ causes: ["refused"] })]), ["refused"]);
  });
});

describe("the kind of a run in which many tests failed", () => {
  const counts = { ran: 40, failed: 10 };
  const failed = [
    { causes: ["refused"], testCount: 5 },
    { causes: ["other"], testCount: 5 },
  ];

  it("is an outage when half of the failed tests have a cause that others had", () => {
    assert.equal(massFailureOf(counts, failed, new Set(["refused"])), "outage");
  });

  it("is together when this change is alone", () => {
    assert.equal(massFailureOf(counts, failed, new Set()), "together");
    const fewer = [{ causes: ["refused"], testCount: 4 }, { causes: [], testCount: 6 }];
    assert.equal(massFailureOf(counts, fewer, new Set(["refused"])), "together");
  });

  it("does not begin at a fifth of the tests", () => {
    assert.equal(massFailureOf({ ran: 50, failed: 10 }, failed, new Set(["refused"])), null);
  });
});

describe("the runs of a test on the base branch", () => {
  const tests = new TestList(Int32Array.of(7, 8));

  function run(submissionId: string, kinds: number[], isSameJob = true) {
    const columns = encodeResults(2, {
      testIndexes: Uint32Array.from(kinds.keys()),
      kinds: Uint8Array.from(kinds),
      durations: new Float64Array(2),
    });
    return {
      submissionId,
      recordedAt: 0,
      isSameJob,
      results: new RunResults(tests, columns),
      isSameCode: false,
      isOutage: false,
    };
  }
  const [PASSED, FAILED, SKIPPED] = [0, 1, 2] as const;
  const options = { selected: new SelectedTests([8]) };

  it("are those of its job, without skipped ones; the newest is the latest", () => {
    const found = countBaseRuns([
      run("c5", [PASSED, SKIPPED]),
      run("c4", [PASSED, FAILED]),
      run("c3", [PASSED, PASSED]),
      run("c2", [PASSED, FAILED], false),
    ], options);
    const latest = { submissionId: "c4", hasFailed: true };
    assert.deepEqual(found, new Map([[8, { runCount: 2, failedCount: 1, isOfJob: true, latest }]]));
  });

  it("are those of all jobs when its own never ran it there", () => {
    const found = countBaseRuns([run("c2", [PASSED, FAILED], false)], options);
    assert.equal(found.get(8)?.runCount, 1);
  });

  it("have no latest one in an outage or at the same code", () => {
    const runs = [
      { ...run("c4", [PASSED, FAILED]), isOutage: true },
      { ...run("c3", [PASSED, FAILED]), isSameCode: true },
      run("c2", [PASSED, PASSED]),
    ];
    assert.equal(countBaseRuns(runs, options).get(8)?.latest?.submissionId, "c2");
  });
});
