import { MAX_HISTORY_RUNS } from "../../../lib/evidence/stop_rule.ts";
import { commitAt, runsOf } from "./outcomes.ts";
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { calmAfter } from "../../../lib/evidence/calm.ts";
import { type HistoryRun, testEvidence, wasAdded } from "../../../lib/evidence/test_evidence.ts";

const NOWHERE = new Set<string>();

const WITHOUT = { disruptedIn: NOWHERE, repair: null };

const repairAt = (index: number) => ({
  disruptedIn: NOWHERE,
  repair: { commitOid: commitAt(index), recordedAt: index },
});

describe("the evidence for a test", () => {
  it("is new, with nothing to say, without a run", () => {
    const { state, runs, rate, segments, since, calm } = testEvidence([], WITHOUT);
    assert.deepEqual({ state, runs, rate, segments, since, calm }, {
      state: "new",
      runs: 0,
      rate: null,
      segments: [],
      since: null,
      calm: null,
    });
  });

  it("has neither a change nor calm when it always passed", () => {
    const found = testEvidence(runsOf(".".repeat(50)), WITHOUT);
    assert.equal(found.state, "healthy");
    assert.deepEqual([found.runs, found.failures, found.rate], [50, 0, 0]);
    assert.deepEqual([found.since, found.calm], [null, null]);
  });

  it("says since when it is broken, with the versions that may have broken it", () => {
    const found = testEvidence(runsOf(".".repeat(200) + "FFFFF"), WITHOUT);
    assert.equal(found.state, "broken");
    assert.deepEqual([found.runs, found.failures, found.rate], [5, 5, 1]);
    assert.deepEqual(
      found.segments.map(({ runs, failures, from, to }) => [runs, failures, from, to]),
      [
        [200, 0, versionAt(0), versionAt(199)],
        [5, 5, versionAt(200), versionAt(204)],
      ],
    );
    const { from, to, changes } = found.since!;
    assert.equal(changes, to.recordedAt - from.recordedAt);
    assert.ok(from.recordedAt < 200 && to.recordedAt >= 200);
  });

  it("is broken from the third failed run on when code broke that passed before", () => {
    // The last two versions, as when a certificate expires: the same code passed the day before.
    const runs = runsOf(".".repeat(100) + "...FFF").map((run, index) =>
      index < 100 ? run : { ...run, code: index < 104 ? "before" : "after" }
    );
    assert.equal(testEvidence(runs, WITHOUT).state, "broken");
    assert.equal(testEvidence(runs.slice(0, -1), WITHOUT).state, "flaky");
  });

  it("is broken since its first failed run, by no change, when code broke that passed before", () => {
    const runs = againAt(runsOf(".".repeat(30)), [25, 26, 27, 28, 29], "F");
    const found = testEvidence(runs, WITHOUT);
    assert.deepEqual([found.state, found.runs, found.failures, found.calm?.passes], [
      "broken",
      5,
      5,
      0,
    ]);
    assert.deepEqual([found.since!.to.recordedAt, found.since!.changes], [31, 0]);
    // The commits after them fail, too.
    const { since } = testEvidence([...runs, ...laterRuns("FFF")], WITHOUT);
    assert.deepEqual([since!.to.recordedAt, since!.changes], [31, 0]);
  });

  it("counts runs of one tree as one version, at its first run", () => {
    const runs = runsOf("F.F.").map((run, index) => (
      { ...run, code: index < 2 ? "one" : "other", treeOid: index < 2 ? "one" : "other" }
    ));
    const { segments: [segment] } = testEvidence(runs, WITHOUT);
    assert.equal(segment!.from.recordedAt, 0);
    assert.equal(segment!.to.recordedAt, 2);
    assert.deepEqual([segment!.runs, segment!.failures], [4, 2]);
  });

  it("is of the environment with the worst state", () => {
    const runs = [
      ...runsOf(".".repeat(30), "Linux"),
      ...runsOf(".".repeat(20) + "FFF", "Windows"),
    ];
    const { environment, state } = testEvidence(runs, WITHOUT);
    assert.deepEqual([environment, state], ["Windows", "broken"]);
  });

  it("is flaky in the environments in which it is disruptive only", () => {
    const runs = [
      ...runsOf(".".repeat(30), "Linux"),
      ...runsOf(".F.F...F..FF" + ".".repeat(16), "Windows"),
    ];
    const found = (disruptedIn: string[], of = runs) => {
      const { environment, state } = testEvidence(of, {
        disruptedIn: new Set(disruptedIn),
        repair: null,
      });
      return [environment, state];
    };
    assert.deepEqual(found(["Windows"]), ["Windows", "flaky"]);
    assert.deepEqual(found(["Linux", "Windows"]), ["Linux", "flaky"]);
    // It was disruptive on other branches only, in an environment without a run here.
    assert.deepEqual(found(["macOS"]), ["Linux", "flaky"]);
    assert.deepEqual(found([], runs.slice(0, 30)), ["Linux", "healthy"]);
  });

  it("begins another version with a commit that brings earlier code back", () => {
    const back = (signs: string, later: string) => {
      const runs = runsOf(signs);
      return [...runs, ...laterRuns(later).map((run) => ({ ...run, code: runs[0]!.code }))];
    };
    // Reverted, and calm since: one version with many runs.
    const reverted = testEvidence(back(".".repeat(40) + "FFFF", ".".repeat(30)), WITHOUT);
    assert.equal(reverted.state, "healthy");
    assert.deepEqual(
      reverted.segments.map(({ runs, failures }) => [runs, failures]),
      [[40, 0], [4, 4], [30, 0]],
    );
    // The same commit again is no later version.
    const again = againAt(runsOf(".".repeat(40) + "FFFF"), Array(30).fill(10), ".");
    assert.equal(testEvidence(again, WITHOUT).state, "broken");
    // Code that comes back and fails now broke without a change.
    const { state, since } = testEvidence(back(".".repeat(40) + "F....", "F".repeat(8)), WITHOUT);
    assert.deepEqual([state, since!.changes], ["broken", 0]);
  });

  it("is broken when the latest ten runs of a job failed, whatever the rate of the segment", () => {
    const stateOf = (runs: readonly HistoryRun[]) => testEvidence(runs, WITHOUT).state;
    assert.equal(stateOf(runsOf("." + "F".repeat(10))), "broken");
    assert.equal(stateOf(runsOf("." + "F".repeat(9))), "flaky");
    assert.equal(stateOf(runsOf("." + "F".repeat(40) + ".")), "flaky");
    // It fails as often by chance.
    assert.equal(stateOf(runsOf(".FFFFFFFFFFFFFFFFFFF".repeat(3))), "flaky");

    const inJobs = (unit: string, stress: string) =>
      [...runsOf(unit).map((run) => ({ ...run, job: "unit" })), ...runsOf(stress)]
        .sort((a, b) => a.recordedAt - b.recordedAt);
    assert.equal(stateOf(inJobs(".".repeat(45), ".".repeat(20) + "F".repeat(25))), "broken");
    // The job has gone.
    assert.equal(
      stateOf(inJobs(".".repeat(70), ".".repeat(20) + "F".repeat(25))),
      "healthy",
    );
  });

  it("takes the last 2,000 runs of an environment", () => {
    const runs = runsOf("F".repeat(10) + ".".repeat(MAX_HISTORY_RUNS));
    const { segments } = testEvidence(runs, WITHOUT);
    assert.deepEqual(segments.map(({ runs, failures }) => [runs, failures]), [[2_000, 0]]);
  });
});

/** Runs of other commits, after all of {@linkcode againAt}. */
function laterRuns(signs: string): HistoryRun[] {
  return runsOf(signs).map((run, index) => ({
    ...run,
    code: `later ${index}`,
    commitOid: commitAt(500 + index),
    recordedAt: 500 + index,
  }));
}

/** Some runs, and then earlier commits once more. */
function againAt(
  runs: readonly HistoryRun[],
  places: readonly number[],
  sign: string,
): HistoryRun[] {
  const again = places.map((place, index) => ({
    ...runsOf(sign)[0]!,
    code: runs[place]!.code,
    commitOid: runs[place]!.commitOid,
    recordedAt: runs.length + index,
  }));
  return [...runs, ...again];
}

function versionAt(index: number) {
  return { commitOid: commitAt(index), treeOid: null, recordedAt: index };
}

describe("a test that was added later", () => {
  it("has earlier runs of other code in the job of its first run", () => {
    /** Runs of one environment, the last one with the test. */
    const isAdded = (...runs: [code: string, job: string, environment?: string][]) =>
      wasAdded(runs.map(([code, job, environment = ""]) => ({ code, job, environment })), {
        environment: "",
        ranIn: (runNo) => runNo === runs.length - 1,
      });
    assert.equal(isAdded(["a", "unit"], ["b", "unit"]), true);
    assert.equal(isAdded(["a", "unit"]), false);
    // Another shard of the first run, another job, another environment.
    assert.equal(isAdded(["a", "unit"], ["a", "unit"]), false);
    assert.equal(isAdded(["a", "lint"], ["b", "unit"]), false);
    assert.equal(isAdded(["a", "", "linux"], ["b", ""]), false);
  });
});

describe("calm", () => {
  it("compares the passes since the last failure with the runs up to it", () => {
    const { calm } = testEvidence(runsOf("F....F....F......"), WITHOUT);
    assert.deepEqual(calm, calmAfter({ runs: 11, failures: 3 }, 6));
  });

  it("counts the passes of a later segment without failures", () => {
    const { segments, calm } = testEvidence(runsOf("F.F.FF.F" + ".".repeat(300)), WITHOUT);
    assert.deepEqual(segments.map(({ failures }) => failures), [5, 0]);
    assert.deepEqual(calm, calmAfter({ runs: 8, failures: 5 }, 300));
  });

  it("since a commit compares with the last fault, not with one that was repaired before", () => {
    const rare = ".".repeat(60) + "F" + ".".repeat(60) + "F" + ".".repeat(48);
    const runs = runsOf("F".repeat(30) + rare + ".".repeat(20));
    const { calm, failuresBefore } = testEvidence(runs, repairAt(200));
    assert.equal(failuresBefore, 32);
    assert.deepEqual(calm, calmAfter({ runs: 170, failures: 2 }, 20));
  });

  it("counts no pass of a job that ran it before and in which it never failed", () => {
    const inJob = (job: string, text: string) => runsOf(text).map((run) => ({ ...run, job }));
    const nightly = inJob("nightly", "..FFFFFF");
    const unit = inJob("unit", ".".repeat(40));
    const passesOf = (runs: HistoryRun[]) =>
      testEvidence(runs.toSorted((a, b) => a.recordedAt - b.recordedAt), WITHOUT).calm!.passes;
    assert.equal(passesOf([...nightly, ...unit]), 0);
    // Another job that never ran it before may be the same one under another name.
    assert.equal(passesOf([...nightly, ...unit.slice(8)]), 32);
    assert.equal(passesOf([...nightly, ...unit.slice(7)]), 33, "from the last failed version on");
    assert.equal(passesOf([...inJob("nightly", "..FFFFFF...."), ...unit]), 4);
  });

  it("since a commit counts no pass of a job that ran it before and in which it never failed", () => {
    const since = (stressAfter: string, job = "unit") => {
      const runs = [
        ...runsOf(".".repeat(48)).map((run, place) => ({ ...run, job: place < 8 ? "unit" : job })),
        ...runsOf("..F..F.F" + stressAfter).map((run) => ({ ...run, job: "stress" })),
      ];
      const { calm, passesElsewhere } = testEvidence(
        runs.sort((a, b) => a.recordedAt - b.recordedAt),
        repairAt(8),
      );
      return [calm!.passes, passesElsewhere];
    };
    assert.deepEqual(since(""), [0, 40]);
    assert.deepEqual(since("..."), [3, 40]);
    // A job that is new may be the old one under another name.
    assert.deepEqual(since("", "load"), [40, 0]);
  });

  it("since a commit counts its own runs among the passes, and all before against them", () => {
    const runs = runsOf("F....F....F......");
    const { calm } = testEvidence(runs, repairAt(13));
    assert.deepEqual(calm, calmAfter({ runs: 13, failures: 3 }, 4));
    assert.deepEqual(
      testEvidence(runs, {
        disruptedIn: NOWHERE,
        repair: { commitOid: "0".repeat(39), recordedAt: 0 },
      }).calm,
      { ...calmAfter({ runs: 0, failures: 0 }, 14), byChance: null },
      "abbreviated, it is the first run with it",
    );
  });

  it("since a commit counts no earlier code that runs again later", () => {
    const runs = runsOf("..F....F" + ".".repeat(33));
    const repair = { commitOid: "f".repeat(40), recordedAt: 39.5 };
    const since = (of: HistoryRun[], repaired = repair) => {
      const { calm, failuresSince } = testEvidence(of, { disruptedIn: NOWHERE, repair: repaired });
      return [calm!.passes, failuresSince];
    };
    assert.deepEqual(since(againAt(runs, [10], ".")), [1, 0]);
    assert.deepEqual(since(againAt(runs, [10], "F")), [1, 0]);
    // Neither in an environment where it has not run before.
    const elsewhere = againAt(runs, [10], ".").map((run, index) =>
      index < 41 ? run : { ...run, environment: "Windows" }
    );
    assert.deepEqual(since(elsewhere), [1, 0]);
    // The commit's own runs count whenever they are.
    assert.deepEqual(since(againAt(runs, [39, 40], "."), repairAt(39).repair), [4, 0]);
  });

  it("since a commit that restores an earlier tree counts neither its earlier runs nor those after them", () => {
    const restored = (signs: string, place: number, later: string) => {
      const runs = runsOf(signs);
      const code = runs[place]!.code;
      const [own, ...others] = laterRuns(later);
      const repair = { commitOid: commitAt(500), recordedAt: 500 };
      const { calm, failuresBefore, failuresSince } = testEvidence(
        [...runs, { ...own!, code }, ...others],
        { disruptedIn: NOWHERE, repair },
      );
      return [calm!.passes, failuresBefore, failuresSince];
    };
    assert.deepEqual(restored("..F....F" + ".".repeat(33), 10, ".."), [2, 2, 0]);
    assert.deepEqual(restored("....FFFFFF", 3, ".".repeat(42)), [42, 6, 0]);
  });

  it("since a commit failed again when a later one brings the broken code back", () => {
    const since = (later: string) => {
      const runs = runsOf("....FFFF" + ".".repeat(10));
      const back = laterRuns(later).map((run) => ({ ...run, code: runs[5]!.code }));
      const { calm, failuresSince } = testEvidence([...runs, ...back], repairAt(8));
      return [calm!.passes, calm!.byChance === null, failuresSince];
    };
    assert.deepEqual(since("FFF"), [10, true, 3]);
    assert.deepEqual(since("..."), [10, false, 0]);
  });

  it("since a commit has no chance if the test failed again", () => {
    const { calm } = testEvidence(runsOf("F....F....F......"), repairAt(8));
    assert.deepEqual(calm, { ...calmAfter({ runs: 8, failures: 2 }, 8), byChance: null });
  });

  it("since a commit is of an environment where it failed again, then of one that proves too little", () => {
    const linux = runsOf("F.F.F.F." + ".".repeat(12), "Linux");
    const since = (signs: string) => {
      const others = runsOf(signs, "Windows");
      return testEvidence(
        [...linux, ...others].sort((a, b) => a.recordedAt - b.recordedAt),
        repairAt(8),
      );
    };
    // It is flaky in both, and most runs are of Linux, where they are enough.
    assert.deepEqual(
      [since("F.F.F.F....F..."), since("F.F.F.F...."), since("...............")]
        .map(({ environment, calm }) => [environment, calm!.byChance !== null]),
      [["Windows", false], ["Windows", true], ["Linux", true]],
    );
  });

  it("since a commit does not wait for an environment that has gone, and names it", () => {
    const since = (linux: string, windows: string) => {
      const runs = [...runsOf(linux, "Linux"), ...runsOf(windows, "Windows")];
      const { environment, calm, notRunSince } = testEvidence(
        runs.sort((a, b) => a.recordedAt - b.recordedAt),
        repairAt(8),
      );
      return [environment, calm!.passes, notRunSince];
    };
    assert.deepEqual(since("F.F.F.F." + ".".repeat(20), "F.F.F.F."), ["Linux", 20, ["Windows"]]);
    // Too early to say; and where it never failed before, other runs prove nothing.
    assert.deepEqual(since("F.F.F.F." + ".".repeat(19), "F.F.F.F."), ["Windows", 0, []]);
    assert.deepEqual(since(".".repeat(28), "F.F.F.F."), ["Windows", 0, ["Windows"]]);
  });

  it("since a commit without a run of the test begins with the first run after it", () => {
    const runs = runsOf("F....F....F......");
    const repair = { commitOid: "f".repeat(40), recordedAt: 12.5 };
    const { calm } = testEvidence(runs, { disruptedIn: NOWHERE, repair });
    assert.deepEqual(calm, calmAfter({ runs: 13, failures: 3 }, 4));
    const late = testEvidence(runs, {
      disruptedIn: NOWHERE,
      repair: { ...repair, recordedAt: 99 },
    });
    assert.deepEqual(late.calm, calmAfter({ runs: 17, failures: 3 }, 0));
  });
});
