import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { failedTests, redUploads } from "../../../lib/analysis/build_outcome.ts";
import type { AttemptKind } from "../../../lib/analysis/columns.ts";
import { runOf } from "./run_of.ts";

interface Facts {
  job?: string;
  workflow?: string;
  environment?: string;
  shard?: string;
  attempt?: string;
  commitOid?: string;
  treeOid?: string | null;
}

/** Runs of one build, oldest first, each of one test. */
function runs(...given: [kinds: AttemptKind[], facts?: Facts][]) {
  return given.map(([kinds, facts], index) =>
    runOf(index + 1, { 5: kinds }, {
      buildUrl: "https://ci.example/1",
      commitOid: "aaaaaaa",
      treeOid: null,
      job: "unit",
      workflow: "",
      environment: "linux",
      shard: "",
      attempt: "",
      ...facts,
    })
  );
}

const PASSED: AttemptKind[] = ["positive"];
const FAILED: AttemptKind[] = ["negative"];

describe("a test failed in a build at last", () => {
  const isFailed = (...given: Parameters<typeof runs>) => isFailedWith(true, ...given);
  const isFailedWith = (hasFile: boolean, ...given: Parameters<typeof runs>) => {
    const newestFirst = runs(...given).toReversed();
    const facts = { hasFile: () => hasFile, setUpOf: () => undefined };
    return failedTests(newestFirst, [5], facts).has(5);
  };

  it("when its latest run in a job failed", () => {
    assert.equal(isFailed([FAILED]), true);
    assert.equal(isFailed([["negative", "positive"]]), false);
    assert.equal(isFailed([FAILED], [PASSED]), false);
    assert.equal(isFailed([PASSED], [FAILED]), true);
  });

  it("when it failed in one job, environment or code, whatever passed in another", () => {
    assert.equal(isFailed([FAILED], [PASSED, { job: "lint" }]), true);
    assert.equal(isFailed([FAILED], [PASSED, { workflow: "asan" }]), true);
    assert.equal(isFailed([FAILED], [PASSED, { environment: "windows" }]), true);
    assert.equal(isFailed([FAILED], [PASSED, { commitOid: "bbbbbbb" }]), true);
    assert.equal(isFailed([FAILED, { treeOid: "t1" }], [PASSED, { treeOid: "t2" }]), true);
    const sameTree = { treeOid: "t1", commitOid: "bbbbbbb" };
    assert.equal(isFailed([FAILED, { treeOid: "t1" }], [PASSED, sameTree]), false);
  });

  it("in an earlier run where a later one did not end it", () => {
    assert.equal(isFailed([FAILED], [["skipped"]]), true);
    assert.equal(isFailed([FAILED], [["unknown"]]), true);
    assert.equal(isFailed([FAILED], [PASSED], [["skipped"]]), false);
  });

  it("when it failed in one leg of an attempt, in whatever order they were uploaded", () => {
    const first = { attempt: "1" };
    assert.equal(isFailed([FAILED, first], [PASSED, first]), true);
    assert.equal(isFailed([PASSED, first], [FAILED, first]), true);
    assert.equal(isFailed([PASSED, first], [PASSED, first]), false);
    const parts = [{ attempt: "1", shard: "1/2" }, { attempt: "1", shard: "2/2" }];
    assert.equal(isFailed([FAILED, parts[0]], [PASSED, parts[1]]), true);
  });

  it("until each leg that failed passed in a later attempt", () => {
    const [first, second, third] = ["1", "2", "3"].map((attempt) => ({ attempt }));
    assert.equal(isFailed([FAILED, first], [PASSED, first], [PASSED, second]), false);
    assert.equal(isFailed([FAILED, first], [FAILED, first], [PASSED, second]), true);
    assert.equal(
      isFailed([FAILED, first], [FAILED, first], [PASSED, second], [PASSED, third]),
      false,
    );
    assert.equal(
      isFailed([FAILED, first], [PASSED, first], [FAILED, second], [PASSED, second]),
      true,
    );
  });

  it("by the number of the attempt where it is known, not by the time of the upload", () => {
    assert.equal(isFailed([PASSED, { attempt: "2" }], [FAILED, { attempt: "1" }]), false);
    assert.equal(isFailed([PASSED, { attempt: "9" }], [FAILED, { attempt: "10" }]), true);
    assert.equal(isFailed([FAILED, { attempt: "10" }], [PASSED, { attempt: "9" }]), true);
    assert.equal(isFailed([FAILED, { attempt: "1" }], [PASSED]), false);
  });

  it("in a shard, which another shard repeats only for a test with a file", () => {
    const [one, two] = [{ shard: "1/2" }, { shard: "2/2" }];
    assert.equal(isFailedWith(false, [FAILED, one], [PASSED, two]), true);
    assert.equal(isFailedWith(true, [FAILED, one], [PASSED, two]), false);
    assert.equal(isFailedWith(false, [FAILED, one], [PASSED, one]), false);
  });

  it("at the latest upload of a job without a name, whose uploads repeat each other", () => {
    const unnamed = { job: "", attempt: "1" };
    assert.equal(isFailed([FAILED, unnamed], [PASSED, unnamed]), false);
  });

  it("of those that are asked for", () => {
    const facts = { hasFile: () => true, setUpOf: () => undefined };
    assert.deepEqual([...failedTests(runs([FAILED]), [6], facts)], []);
  });
});

describe("an upload that ended red without a failed test", () => {
  const redPlaces = (...given: [isRed: boolean, facts?: Facts][]) =>
    redUploads(
      runs(...given.map(([, facts]): [AttemptKind[], Facts?] => [PASSED, facts]))
        .map((run, index) => ({ ...run, failedWithoutTest: given[index]![0] })),
    ).map(({ recordedAt }) => recordedAt - 1);

  it("counts until its job was run again", () => {
    assert.deepEqual(redPlaces([true, { attempt: "1" }]), [0]);
    assert.deepEqual(redPlaces([true, { attempt: "1" }], [false, { attempt: "2" }]), []);
    assert.deepEqual(redPlaces([false, { attempt: "1" }], [true, { attempt: "2" }]), [1]);
    assert.deepEqual(redPlaces([true], [false]), []);
  });

  it("counts whatever another job, leg or shard did", () => {
    assert.deepEqual(redPlaces([true], [false, { job: "lint" }]), [0]);
    assert.deepEqual(redPlaces([true, { attempt: "1" }], [false, { attempt: "1" }]), [0]);
    assert.deepEqual(
      redPlaces([true, { shard: "1/2", attempt: "1" }], [false, { shard: "2/2", attempt: "2" }]),
      [0],
    );
  });
});
