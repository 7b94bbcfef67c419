import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  type FoundTruth,
  mergeTruths,
  type TruthRun,
  truthsAround,
  versionHistories,
} from "../../../lib/evidence/version_histories.ts";
import { runOf } from "../analysis/run_of.ts";

const TEST = 1;
const FACTS = { hasFile: () => true, setUpOf: () => undefined };

/** A failure. */
function run(place: number, code: string): TruthRun {
  return runOf(place, { [TEST]: ["negative"] }, {
    branch: "main",
    code,
    buildUrl: `https://ci.example/${place}`,
    job: "unit",
    shard: "",
    attempt: "1",
    isOutage: false,
  });
}

describe("the code versions of a branch", () => {
  const runs = [
    run(1, "first"),
    // What ran between is not here.
    run(10, "second"),
    run(11, "third"),
    run(12, "first"),
  ];
  const truthsSince = (since: string | null) => {
    const versions = { branch: "main", runs, since, until: null };
    const [history] = versionHistories(versions, [TEST], FACTS);
    const changed = { code: "third", submissionId: runs[2]!.submissionId };
    return truthsAround(history!, changed).map(({ code, truth }) => `${code} ${truth}`);
  };

  it("are in the order of their first runs, and three that failed are the change", () => {
    assert.deepEqual(truthsSince(null), [
      "first the_change",
      "first the_change",
      "second the_change",
      "third the_change",
    ]);
  });

  it("do not follow one that began before all runs are known", () => {
    assert.deepEqual(truthsSince(runs[1]!.submissionId), ["second null", "third null"]);
  });

  it("show what any of the branches shows, in whatever order these are looked at", () => {
    const open: FoundTruth = {
      testNo: TEST,
      id: "a1",
      code: "first",
      truth: null,
      isRepeat: false,
    };
    const known: FoundTruth = { ...open, truth: "the_change" };
    assert.deepEqual(mergeTruths([open, known]), [known]);
    assert.deepEqual(mergeTruths([known, open]), [known]);
  });
});
