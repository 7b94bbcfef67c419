import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  type ComparedUpload,
  missingJobs,
  shardsInAll,
  wholeBuild,
} from "../../../lib/gate/whole_build.ts";
import { NO_GAPS } from "../../../lib/report/report_gaps.ts";

const EARLIER = {
  expectedTestCount: 50,
  baseTestCounts: [50, 50, 50],
  expectedSkippedCount: 0,
};
const UNKNOWN = { expectedTestCount: null, baseTestCounts: [], expectedSkippedCount: null };

let count = 0;

/** An upload of 50 of 50 tests, later than those before. */
function upload({ ran = 50, ...more }: Partial<ComparedUpload> & { ran?: number } = {}) {
  return {
    submissionId: String(++count).padStart(24, "0"),
    buildUrl: "https://ci.example/1",
    commitOid: "aaaaaaa",
    treeOid: null,
    environment: "",
    job: "unit",
    workflow: "",
    shard: "",
    attempt: "1",
    status: "processed" as const,
    counts: { ran, skipped: 0 },
    gaps: NO_GAPS,
    earlier: EARLIER,
    places: [],
    ...more,
  };
}

describe("a build", () => {
  const of = (...uploads: ComparedUpload[]) => wholeBuild(uploads, { expected: [] });
  const whole = { whole: true, notWhole: [] };
  const unknown = { whole: null, notWhole: [] };
  const not = (...notWhole: string[]) => ({ whole: false, notWhole });

  it("is whole when all its uploads are", () => {
    assert.deepEqual(of(upload(), upload({ job: "lint" })), whole);
    // As of an upload by an earlier version.
    assert.deepEqual(of(upload({ gaps: null })), whole);
  });

  it("is not known to be whole where the usual size of a job is not known, or a report has no results", () => {
    assert.deepEqual(of(upload({ earlier: UNKNOWN })), unknown);
    assert.deepEqual(of(upload(), upload({ job: "", earlier: UNKNOWN })), unknown);
    assert.deepEqual(of(upload({ counts: null })), unknown);
    assert.deepEqual(of(upload({ gaps: { ...NO_GAPS, emptyReportCount: 1 } })), unknown);
  });

  it("is not whole when one of its uploads is not, with what says so", () => {
    assert.deepEqual(of(upload(), upload({ ran: 3 })), not("3 of about 50 tests ran (unit)"));
    assert.deepEqual(of(upload({ ran: 0 })), not("0 of about 50 tests ran (unit)"));
    for (
      const [gap, said] of [
        ["cutOffReportCount", "1 test process ended without a report (unit)"],
        ["unlistedSuiteCount", "1 suite declares more tests than it lists (unit)"],
        ["outsideFailureCount", "1 failure outside of a test (unit)"],
      ] as const
    ) {
      assert.deepEqual(of(upload(), upload({ gaps: { ...NO_GAPS, [gap]: 1 } })), not(said));
      const unnamed = { job: "", earlier: UNKNOWN, gaps: { ...NO_GAPS, [gap]: 1 } };
      assert.deepEqual(of(upload(unnamed)), not(said.replace(" (unit)", "")));
    }
    assert.deepEqual(of(upload({ status: "processing" })), not("an upload is not read yet (unit)"));
    assert.deepEqual(
      of(upload({ status: "failed", job: "" })),
      not("the reports of an upload could not be read"),
    );
  });

  it("is not whole when the outcome of a test is unknown", () => {
    const unclear = ["a", "b", "c", "d"].map((name) => ({ suite: "", class: "C", name, file: "" }));
    assert.deepEqual(
      wholeBuild([upload()], { expected: [], unclear: unclear.slice(0, 1) }),
      not("the outcome of 1 test is unknown: C > a"),
    );
    assert.deepEqual(
      wholeBuild([upload({ earlier: UNKNOWN })], { expected: [], unclear }),
      not("the outcome of 4 tests is unknown: C > a, C > b, C > c, ..."),
    );
  });

  it("is whole when a job that was not whole was run again as a whole", () => {
    const crashed = upload({ ran: 3, gaps: { ...NO_GAPS, cutOffReportCount: 1 } });
    assert.deepEqual(of(crashed, upload({ attempt: "2" })), whole);
    const said = "3 of about 50 tests ran; 1 test process ended without a report (unit)";
    assert.deepEqual(of(crashed, upload({ attempt: "2", ran: 1 })), not(said));
    assert.deepEqual(of(crashed, upload()), not(said));
  });

  it("is whole when only its failed tests were run again", () => {
    assert.deepEqual(of(upload(), upload({ attempt: "2", ran: 1 })), whole);
    const crash = { attempt: "2", ran: 1, gaps: { ...NO_GAPS, outsideFailureCount: 1 } };
    assert.equal(of(upload(), upload(crash)).whole, false);
    assert.equal(
      of(upload({ shard: "1/2" }), upload({ shard: "2/2", attempt: "2", ran: 1 })).whole,
      false,
    );
  });

  it("is not whole without a shard that its job always has", () => {
    const expected = [{ job: "unit", environment: "", shards: ["a/of two", "b/of two"] }];
    const one = upload({ shard: "1" });
    const expectTwo = [{ job: "unit", environment: "", shards: ["1", "2"] }];
    assert.deepEqual(
      wholeBuild([one], { expected: expectTwo }),
      not("1 shard without an upload: 2 (unit)"),
    );
    assert.deepEqual(wholeBuild([one, upload({ shard: "2" })], { expected: expectTwo }), whole);
    // Of another split.
    assert.deepEqual(wholeBuild([one], { expected }), whole);
  });

  const shards = (names: string[], more: Partial<ComparedUpload> = {}) =>
    names.map((shard) => upload({ shard, ...more }));

  it("is not whole without a shard that the names of the others announce", () => {
    const of = (...names: string[]) => wholeBuild(shards(names), { expected: [] });
    assert.deepEqual(of("1/3", "3/3", "2/3"), whole);
    assert.deepEqual(of("1/3", "2/3"), not("1 of 3 shards has no upload: 3/3 (unit)"));
    assert.deepEqual(of("2/3"), not("2 of 3 shards have no upload: 1/3, 3/3 (unit)"));
    const five = "1/9, 2/9, 3/9, 4/9, 5/9, ...";
    assert.deepEqual(of("9/9"), not(`8 of 9 shards have no upload: ${five} (unit)`));
    assert.deepEqual(of("01/02"), not("1 of 2 shards has no upload: 2/2 (unit)"));
    assert.deepEqual(of("1/1"), whole);
    assert.deepEqual(of("30/11"), whole);
    assert.deepEqual(of("1/2 slow", "1", "a"), whole);
    assert.deepEqual(
      wholeBuild(shards(["1/2"], { job: "" }), { expected: [] }),
      not("1 of 2 shards has no upload: 2/2"),
    );
    // It is said once; what it always has does not make it whole.
    const expected = [{ job: "unit", environment: "", shards: ["1/3", "2/3"] }];
    const said = not("1 of 3 shards has no upload: 3/3 (unit)");
    assert.deepEqual(wholeBuild(shards(["1/3", "2/3"]), { expected }), said);
    assert.deepEqual(
      wholeBuild(shards(["1/3", "3/3"]), { expected }),
      not("1 of 3 shards has no upload: 2/3 (unit)"),
    );
  });

  it("may count shards from 0", () => {
    const of = (names: string[], usual: string[] = []) =>
      wholeBuild(shards(names), {
        expected: [{ job: "unit", environment: "", shards: usual }],
      });
    assert.deepEqual(of(["0/3", "1/3", "2/3"]), whole);
    assert.deepEqual(of(["0/3", "1/3"]), not("1 of 3 shards has no upload: 2/3 (unit)"));
    assert.deepEqual(of(["1/3", "2/3"], ["0/3"]), not("1 of 3 shards has no upload: 0/3 (unit)"));
  });

  it("has the shards of each environment, unless each is named after its shard", () => {
    const of = (...legs: [environment: string, shard: string][]) =>
      wholeBuild(legs.map(([environment, shard]) => upload({ environment, shard })), {
        expected: [],
      });
    const said = not("1 of 2 shards has no upload: 2/2 (unit)");
    assert.deepEqual(of(["mac", "1/2"], ["mac", "2/2"], ["win", "1/2"]), said);
    assert.deepEqual(of(["1", "1/2"], ["2", "2/2"]), whole);
    assert.deepEqual(of(["1", "1/3"], ["2", "2/3"]).whole, false);
    // Another environment is later, but repeats nothing.
    const [mac, win] = [{ environment: "mac", attempt: "1" }, { environment: "win", attempt: "2" }];
    const later = [...shards(["1/2"], mac), ...shards(["1/2", "2/2"], win)];
    assert.deepEqual(wholeBuild(later, { expected: [] }), said);
  });

  it("is whole when a later attempt has all shards of another split", () => {
    const of = (...uploads: ComparedUpload[]) => wholeBuild(uploads, { expected: [] });
    const part = (attempt: string) => shards(["1/3", "2/3"], { attempt });
    const both = (attempt: string) => shards(["1/2", "2/2"], { attempt });
    assert.deepEqual(of(...part("1"), ...both("2")), whole);
    assert.deepEqual(of(...part(""), ...both("")), whole);
    assert.deepEqual(of(...part("1"), ...shards(["3/3"], { attempt: "2" })), whole);
    const said = not("1 of 3 shards has no upload: 3/3 (unit)");
    assert.deepEqual(of(...both("1"), ...part("2")), said);
    assert.deepEqual(of(...both("2"), ...part("10")), said);
    // Legs of a matrix.
    assert.deepEqual(of(...part("1"), ...both("1")), said);
    assert.equal(of(...part("1"), ...shards(["1/2"], { attempt: "2" })).whole, false);
  });

  it("is not known to be whole as one shard where uploads name no build", () => {
    const alone = (shard: string) =>
      wholeBuild([upload({ shard, buildUrl: "" })], { expected: [] });
    assert.deepEqual(alone("1/3"), unknown);
    assert.deepEqual(alone("1/1"), whole);
  });
});

describe("the shards that a job always has", () => {
  it("are those of each of its last three builds", () => {
    const both = ["2/2", "1/2"];
    assert.deepEqual(shardsInAll([both, both]), []);
    assert.deepEqual(shardsInAll([both, both, both, ["1/2"]]), both);
    assert.deepEqual(shardsInAll([both, ["1/2"], both]), ["1/2"]);
    assert.deepEqual(shardsInAll([[""], [""], [""]]), []);
  });
});

describe("the jobs that a build lacks", () => {
  const onMain = (...jobs: string[]) => ({ branch: "main", isOfBase: true, jobs });
  const on = (branch: string, ...jobs: string[]) => ({ branch, isOfBase: false, jobs });
  const ten = Array.from({ length: 10 }, () => onMain("unit", "e2e"));
  const lacking = (
    own: string[],
    builds: ReturnType<typeof onMain>[],
    { isOnBase = true } = {},
  ) => missingJobs(new Set(own), { isOnBase, builds });

  it("are those of every one of the last builds of the base branch", () => {
    assert.deepEqual(lacking(["e2e"], ten), ["unit"]);
    assert.deepEqual(lacking(["e2e", "unit"], ten), []);
    assert.deepEqual(lacking(["e2e", "new"], ten), []);
    assert.deepEqual(lacking(["e2e"], ten.slice(0, 5)), ["unit"]);
    assert.deepEqual(lacking(["e2e"], ten.slice(0, 4)), []);
    // Added, or left out since.
    assert.deepEqual(lacking(["e2e"], [...ten, onMain("e2e")]), ["unit"]);
    assert.deepEqual(lacking(["e2e"], [onMain("e2e"), ...ten]), []);
    assert.deepEqual(lacking(["e2e"], ten.with(9, onMain("e2e"))), []);
  });

  it("are compared with builds that have all its own jobs, not with those of another workflow", () => {
    const mixed = ten.flatMap((one) => [one, onMain("e2e", "lint")]);
    assert.deepEqual(lacking(["e2e"], mixed), []);
    assert.deepEqual(lacking(["lint"], mixed), ["e2e"]);
    assert.deepEqual(lacking(["unit"], mixed), ["e2e"]);
  });

  it("are on another branch only those that each other branch had as well, in one of its builds", () => {
    const others = [
      ...[on("a", "e2e", "unit"), on("b", "e2e"), on("b", "e2e", "unit")],
      on("c", "e2e", "unit"),
    ];
    const lacks = (builds: ReturnType<typeof onMain>[]) =>
      lacking(["e2e"], [...builds, ...ten], { isOnBase: false });
    assert.deepEqual(lacks(others), ["unit"]);
    // On the base branch only.
    assert.deepEqual(lacks(others.map(({ branch }) => on(branch, "e2e"))), []);
    // For some changes only.
    assert.deepEqual(lacks([...others, on("d", "e2e")]), []);
    assert.deepEqual(lacks([...others, on("d", "unit"), on("e", "docs")]), ["unit"]);
    assert.deepEqual(lacks(others.slice(0, 3)), []);
    assert.deepEqual(lacking(["e2e"], others, { isOnBase: false }), []);
  });

  it("are named, at most five", () => {
    const say = (...missing: string[]) =>
      wholeBuild([upload()], { expected: [], missing }).notWhole;
    assert.deepEqual(say("lint"), ["1 job without an upload: lint"]);
    assert.deepEqual(say(..."abcdef"), ["6 jobs without an upload: a, b, c, d, e, ..."]);
  });
});
