import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  decideQuarantine,
  DEFAULT_POLICY,
  massFailures,
  type PolicyHistory,
  type PolicyRun,
  policyRuns,
} from "../../../lib/analysis/quarantine_policy.ts";
import type { Quarantine } from "../../../lib/analysis/quarantine.ts";
import { runOf } from "./run_of.ts";

const HOUR = 3_600;
const DAY = 24 * HOUR;
const NOW = 1_790_000_000;

/** Results as letters: p passed, f failed; a failure of a run with a pass is a disruption. */
function run(letters: string, daysAgo: number, more: Partial<PolicyRun> = {}): PolicyRun {
  return {
    recordedAt: NOW - daysAgo * DAY,
    codeVersion: `${daysAgo}`,
    results: [...letters].map((letter) => letter === "p"),
    isDisrupted: letters.includes("f") && letters.includes("p"),
    isMassFailure: false,
    isOnBase: false,
    change: null,
    ...more,
  };
}

function entry(more: Partial<Quarantine> = {}): Quarantine {
  return {
    quarantinedAt: NOW - 20 * DAY,
    quarantinedBy: "policy",
    quarantineType: "automatic",
    quarantineReason: null,
    quarantineOwner: null,
    quarantineExpiresAt: null,
    quarantineEnvironment: null,
    ...more,
  };
}

function decided(runs: PolicyRun[], more: Partial<PolicyHistory> = {}, automaticCount = 0) {
  const test = {
    history: {
      runs,
      quarantine: null,
      leftAt: 0,
      releasedAt: 0,
      isAmbiguous: false,
      failsWithSubtests: false,
      ...more,
    },
  };
  const moment = { now: NOW, windowStart: NOW - 14 * DAY, automaticCount, baseBranch: "main" };
  return decideQuarantine([test], DEFAULT_POLICY, moment)
    .map(({ action, reason }) => `${action}: ${reason}`).join();
}

const passes = (count: number, daysAgo: number) => run("p".repeat(count), daysAgo);

describe("a test enters the quarantine", () => {
  const flaky = [run("fp", 3), run("fp", 2), run("fp", 1), passes(4, 0.5)];

  it("with enough disruptions at enough code versions and enough results", () => {
    assert.equal(
      decided(flaky),
      "enter: 3 disruptions at 3 code versions, 7 of its last 10 results passed",
    );
  });

  it("at its first disruption within 60 days after the policy released it", () => {
    const again = [run("fp", 1)];
    const released = (days: number) => ({ leftAt: NOW - days * DAY, releasedAt: NOW - days * DAY });
    assert.match(
      decided(again, released(30)),
      /^enter: 1 disruption .*: it failed again 29 days after its release$/,
    );
    assert.match(decided(again, released(61)), /^skip: 1 disruption/);
    // The failure counts, whenever the policy is applied.
    assert.match(
      decided([run("fp", 10), run("fp", 1)], released(69)),
      /^enter: 2 disruptions .*: it failed again 59 days after its release$/,
    );
    assert.match(decided([run("pp", 10), run("fp", 1)], released(69)), /^skip: 1 disruption/);
    // A later entry was removed by hand.
    assert.match(decided(again, { ...released(30), leftAt: NOW - 2 * DAY }), /^skip: 1 disruption/);
    assert.match(decided([passes(3, 1)], released(30)), /^skip: 0 disruptions/);
  });

  it("not with one of them fewer, outside of the window, or before it left the last time", () => {
    const few = decided(flaky.slice(1).concat(passes(9, 0.4)));
    assert.match(few, /^skip: 2 disruptions at 2 .*: needs 3 disruptions$/);
    const old = [run("fp", 14.01), run("fp", 2), run("fp", 1), passes(9, 0.5)];
    assert.match(decided(old), /^skip: 2 disruptions/);
    assert.match(decided([run("fp", 14), ...old.slice(1)]), /^enter: 3 disruptions/);
    assert.match(decided(flaky, { leftAt: NOW - 2.5 * DAY }), /^skip: 2 disruptions/);
    assert.match(decided(flaky, { leftAt: NOW - 3 * DAY }), /^enter/);
    const oneVersion = flaky.map((run) => ({ ...run, codeVersion: "one" }));
    assert.match(decided(oneVersion), /at 1 code version, .*: needs 3 code versions or changes$/);
    assert.match(decided(flaky.slice(0, 3).concat(passes(3, 0.5))), /: needs 10 results$/);
  });

  it("not by one change alone, whose disruptions count as one code version", () => {
    const inChanges = (...changes: (string | null)[]) =>
      flaky.map((run, index) => ({ ...run, change: changes[index] ?? null }));
    assert.equal(
      decided(inChanges("#7", "#7", "#7")),
      "skip: 3 disruptions of 1 change, 7 of its last 10 results passed: " +
        "needs 3 code versions or changes",
    );
    assert.match(
      decided(inChanges("#7", "#7", null)),
      /^skip: .* at 1 code version and of 1 change/,
    );
    assert.match(
      decided(inChanges("#7", "#8", null)),
      /^enter: .* at 1 code version and of 2 changes/,
    );
    assert.match(decided(inChanges("#7", "#8", "fix")), /^enter: 3 disruptions of 3 changes/);
  });

  it("not again by one change alone", () => {
    const released = { leftAt: NOW - 59 * DAY, releasedAt: NOW - 59 * DAY };
    const inChange = (change: string | null, daysAgo: number) => run("fp", daysAgo, { change });
    assert.match(decided([inChange("#7", 3)], released), /^skip: 1 disruption of 1 change/);
    const again = inChange("#7", 2);
    assert.match(decided([inChange("#7", 3), again], released), /^skip: 2 disruptions of 1 change/);
    assert.match(decided([inChange("#8", 3), again], released), /^enter: .* again 56 days after/);
    assert.match(decided([inChange(null, 3), again], released), /^enter: .* again 56 days after/);
    // The disruption of the other change was too late.
    const late = { leftAt: NOW - 62.5 * DAY, releasedAt: NOW - 62.5 * DAY };
    assert.match(decided([inChange("#8", 3), again], late), /^skip/);
    assert.match(decided([inChange("#8", 3), inChange(null, 2)], late), /^skip/);
  });

  it("not by submissions of a broken environment", () => {
    const broken = run("fp", 3, { isMassFailure: true });
    assert.match(
      decided([broken, ...flaky.slice(1), passes(9, 0.4)]),
      /^skip: 2 disruptions .*: needs 3 disruptions$/,
    );
  });

  it("not when it fails more than half of its last 20 results", () => {
    const broken = [
      ...flaky,
      ...Array.from({ length: 11 }, (_, hour) => run("f", 0.4 - hour / 99)),
    ];
    assert.match(decided(broken), /7 of its last 20 results passed: broken, not flaky$/);
    const half = [...flaky, passes(5, 0.45), ...broken.slice(5)];
    assert.match(decided(half), /^enter: .* 10 of its last 20 results passed$/);
  });

  it("not when its final attempt failed in each of its last 5 runs on the base branch", () => {
    const onBase = (letters: string, daysAgo: number) => run(letters, daysAgo, { isOnBase: true });
    const five = [5, 4, 3, 2, 1].map((daysAgo) => onBase("pf", daysAgo));
    assert.match(
      decided(five),
      /5 of its last 10 results passed: it failed in each of its last 5 runs on main: broken, not flaky$/,
    );
    // Elsewhere it may pass: a branch may have the mend.
    assert.match(decided([...five, passes(4, 0.5)]), /^skip: .*broken, not flaky$/);
    assert.match(decided([...five, onBase("fp", 0.5)]), /^enter/);
    assert.match(decided([...five.slice(1), passes(4, 0.5)]), /^enter/);
    assert.match(decided([5, 4, 3, 2, 1].map((daysAgo) => run("pf", daysAgo))), /^enter/);
  });

  it("not when a report has several tests of its name", () => {
    const parent = { failsWithSubtests: true };
    assert.match(decided(flaky, parent), /^skip: .*: it fails only with its subtests, which count/);
    assert.match(decided(flaky, { isAmbiguous: true }), /^skip: .*: a report has several tests of/);
  });

  it("not when it was broken for a while: it never passed between its disruptions", () => {
    const disrupted = { isDisrupted: true };
    const broken = [3, 2.9, 2.8].map((day) => run("f", day, disrupted));
    assert.match(
      decided([passes(9, 4), ...broken, passes(9, 1)]),
      /^skip: 3 disruptions .*: it never passed between them: broken, not flaky$/,
    );
    const between = [broken[0]!, passes(1, 2.95), ...broken.slice(1)];
    assert.match(decided([passes(9, 4), ...between, passes(9, 1)]), /^enter: 3 disruptions/);
    // Whether the failures before and after are disruptions does not matter.
    const longer = [run("f", 3.1), ...broken, run("f", 2.7)];
    assert.match(decided([passes(9, 4), ...longer, passes(9, 1)]), /^skip: .*never passed/);
  });

  it("not when it would leave at once", () => {
    const calm = [run("fp", 10), run("fp", 9), run("fp", 8), passes(50, 1)];
    assert.equal(
      decided(calm),
      "skip: 3 disruptions at 3 code versions, 20 of its last 20 results passed: " +
        "passed 51 times since its last failure 8 days ago",
    );
  });

  it("while there are places, which go to those with the most disruptions", () => {
    assert.match(
      decided(flaky, {}, DEFAULT_POLICY.maxTests),
      /^skip: 3 disruptions .*, but the limit of automatic entries is 20$/,
    );
    const test = (name: string, runs: PolicyRun[], quarantine: Quarantine | null = null) => ({
      name,
      history: {
        runs,
        quarantine,
        leftAt: 0,
        releasedAt: 0,
        isAmbiguous: false,
        failsWithSubtests: false,
      },
    });
    const tests = [
      test("less", flaky),
      test("more", [...flaky, run("fp", 0.2)]),
      test("leaves", [run("f", 8), passes(50, 1)], entry()),
    ];
    const moment = {
      now: NOW,
      windowStart: NOW - 14 * DAY,
      automaticCount: DEFAULT_POLICY.maxTests,
      baseBranch: "main",
    };
    assert.deepEqual(
      decideQuarantine(tests, DEFAULT_POLICY, moment).map(({ test, action }) =>
        `${test.name}: ${action}`
      ),
      ["less: skip", "more: enter", "leaves: leave"],
    );
  });
});

describe("a test leaves the quarantine", () => {
  const quarantine = entry();

  it("after enough passes and enough time since its last failure", () => {
    assert.equal(
      decided([run("pf", 7), passes(50, 1)], { quarantine }),
      "leave: passed 50 times since its last failure 7 days ago",
    );
    assert.match(decided([run("fp", 7), passes(49, 1)], { quarantine }), /^leave: passed 50 times/);
    assert.match(
      decided([run("pf", 30), passes(50, 25)], { quarantine }),
      /^leave: .* 30 days ago$/,
    );
  });

  it("not before", () => {
    assert.match(decided([run("pf", 7), passes(49, 1)], { quarantine }), /^stay: passed 49 times/);
    assert.match(decided([run("f", 6.99), passes(50, 1)], { quarantine }), /^stay: .* 6 days ago$/);
    assert.match(decided([run("f", 9)], { quarantine }), /^stay: passed 0 times since its last/);
  });

  it("not when it was quarantined by a person", () => {
    const manual = entry({ quarantineType: "manual" });
    assert.equal(
      decided([run("f", 9), passes(90, 1)], { quarantine: manual }),
      "stay: quarantined manually",
    );
  });

  it("not after a failure in a broken environment, which counts here", () => {
    const broken = run("f", 1, { isMassFailure: true });
    assert.match(decided([run("f", 9), passes(90, 2), broken], { quarantine }), /^stay/);
  });

  it("by the passes in quarantine when it never failed", () => {
    const runs = [passes(10, 21), passes(50, 1)];
    assert.equal(
      decided(runs, { quarantine }),
      "leave: passed 50 times since it was quarantined 20 days ago",
    );
  });
});

describe("the runs that a policy decides by", () => {
  const runs = [
    runOf(1, { 1: ["negative", "unknown", "positive"], 2: ["skipped"] }, {
      codeVersion: "v1",
      branch: "fix",
      queueBase: "main",
      pullNumber: null,
      job: "",
    }),
    runOf(2, { 1: ["positive"], 2: ["negative"] }, {
      codeVersion: "v2",
      branch: null,
      queueBase: "",
      pullNumber: null,
      job: "",
    }),
  ];

  it("are those with a positive or negative result of each test", () => {
    const found = policyRuns(runs, {
      testNos: new Set([1, 2, 3]),
      brokenRuns: new Set([runs[1]!.submissionId]),
      base: "main",
      isBaseGuessed: false,
      disrupted: (id) => id === runs[0]!.submissionId ? [1] : [],
    });
    const first = { codeVersion: "v1", isMassFailure: false, isOnBase: true, change: null };
    const second = { codeVersion: "v2", isMassFailure: true, isOnBase: false, change: null };
    assert.deepEqual([...found], [
      [1, [
        { recordedAt: 1, ...first, results: [false, true], isDisrupted: true },
        { recordedAt: 2, ...second, results: [true], isDisrupted: false },
      ]],
      [2, [{ recordedAt: 2, ...second, results: [false], isDisrupted: false }]],
      [3, []],
    ]);
  });

  it("are of a pull request, or of a branch other than the base branch", () => {
    type Place = [branch: string | null, queueBase: string, pullNumber: number | null];
    const changes = (places: Place[], isBaseGuessed = false) => {
      const runs = places.map(([branch, queueBase, pullNumber], index) =>
        runOf(index, { 1: ["positive"] }, {
          ...{ codeVersion: "v1", job: "" },
          ...{ branch, queueBase, pullNumber },
        })
      );
      const options = { testNos: new Set([1]), brokenRuns: new Set<string>(), disrupted: () => [] };
      return policyRuns(runs, { ...options, base: "main", isBaseGuessed })
        .get(1)!.map(({ change }) => change);
    };
    const queue = "gh-readonly-queue/main/pr-7-0123456789abcdef";
    // CI may tell the open pull request of a base branch that is not the default branch.
    assert.deepEqual(
      changes([["main", "", null], ["main", "", 5], [null, "", null], ["", "", 6]]),
      [null, null, null, "#6"],
    );
    assert.deepEqual(
      changes([["fix", "", null], ["fix", "", 7], [queue, "main", 7], [queue, "main", null]]),
      ["#7", "#7", "#7", null],
    );
    assert.deepEqual(changes([["release", "", null], ["fix", "main", null]]), ["release", null]);
    // Only the branch with most builds: it may be that of a change.
    assert.deepEqual(changes([["main", "", null], [null, "", null]], true), ["main", null]);
  });

  it("have no disruption that another upload of an unknown job would prove", () => {
    const isDisrupted = (job: string, kinds: ("negative" | "positive")[]) => {
      const facts = { codeVersion: "v1", branch: "main", queueBase: "", pullNumber: null };
      const run = runOf(1, { 1: kinds }, { ...facts, job });
      const [own] = policyRuns([run], {
        testNos: new Set([1]),
        brokenRuns: new Set(),
        base: "main",
        isBaseGuessed: false,
        disrupted: () => [1],
      }).get(1)!;
      return own!.isDisrupted;
    };
    assert.equal(isDisrupted("", ["negative"]), false);
    assert.equal(isDisrupted("", ["negative", "positive"]), true);
    assert.equal(isDisrupted("unit", ["negative"]), true);
  });

  it("are mass failures when more than a fifth of 20 tests or more failed", () => {
    const withFailures = (at: number, failures: number, tests = 20) =>
      runOf(
        at,
        Object.fromEntries(
          Array.from({ length: tests }, (_, test) => [test, [
            test < failures ? "negative" as const : "positive" as const,
          ]]),
        ),
      );
    const all = [withFailures(1, 4), withFailures(2, 5), withFailures(3, 19, 19)];
    assert.deepEqual([...massFailures(all)], [all[1]!.submissionId]);
  });
});
