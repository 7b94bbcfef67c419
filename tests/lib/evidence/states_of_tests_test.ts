import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import type { AttemptKind } from "../../../lib/analysis/columns.ts";
import {
  isProving,
  type StateRun,
  statesOf,
  statesOfOthers,
  testsWithFailures,
  withoutMerelyFlaky,
} from "../../../lib/evidence/states_of_tests.ts";
import { runOf } from "../analysis/run_of.ts";

const NO_SET_UPS = { setUpOf: () => undefined };

/** A run of a code version of its own. */
function run(place: number, ended: Record<number, AttemptKind[]>, job = "ci"): StateRun {
  const commitOid = place.toString(16).padStart(40, "0");
  const facts = { commitOid, treeOid: null, code: commitOid, environment: "", job, shard: "" };
  return runOf(place, ended, facts);
}

/** Runs of test 1: a sign for each, `.` passed, `F` failed, `r` failed and passed, space without it. */
function history(signs: string, jobs = ["ci"]): StateRun[] {
  const ends: Record<string, AttemptKind[]> = {
    ".": ["positive"],
    F: ["negative"],
    r: ["negative", "positive"],
    s: ["skipped"],
  };
  return [...signs].map((sign, place) => {
    const ended = ends[sign];
    const all: Record<number, AttemptKind[]> = { 0: ["positive"] };
    if (ended) all[1] = ended;
    return run(place, all, jobs[place % jobs.length]);
  });
}

function stateOf(runs: readonly StateRun[]) {
  return statesOf(runs, { testNos: new Set([1]), disruptedIn: new Map(), ...NO_SET_UPS }).get(1)!;
}

describe("the states of tests", () => {
  it("are of those that failed once, or are disruptive", () => {
    assert.deepEqual(testsWithFailures(history("..r"), new Set([7])), new Set([7, 1]));
    assert.deepEqual(testsWithFailures(history("..s"), new Set()), new Set());
  });

  it("tell when a test with failures stopped running", () => {
    const { stopped } = stateOf(history(`.F.${" ".repeat(25)}`));
    assert.deepEqual(stopped, { lastRunAt: 2, stoppedAt: 22, jobRuns: 25 });
    assert.equal(stateOf(history(`.F.${" ".repeat(19)}`)).stopped, null);
    assert.equal(stateOf(history(`...${" ".repeat(25)}`)).stopped, null);
  });

  it("count the passes of a set-up wherever its tests ran, even if one of its passes is reported", () => {
    const group = { tests: [0], setUps: [1] };
    const runs = history("F  .    F       F       ");
    const own = { testNos: new Set([1]), disruptedIn: new Map() };
    const found = statesOf(runs, { ...own, setUpOf: (testNo) => testNo === 1 ? group : undefined });
    const { state, runs: count, failures } = found.get(1)!;
    assert.deepEqual([state, count, failures], ["flaky", 24, 3]);
    assert.equal(statesOf(runs, { ...own, ...NO_SET_UPS }).get(1)!.runs < 24, true);
  });

  it("of tests that never failed follow from how often they ran", () => {
    const runs = history("....s....");
    const found = statesOfOthers(runs, new Set());
    assert.deepEqual([found.get(0)!.runs, found.get(1)!.runs], [9, 8]);
    assert.deepEqual([...statesOfOthers(runs, new Set([0])).keys()], [1]);
  });

  it("are being proved by passes that are too many for an accident and too few for calm", () => {
    const passing = (count: number) => {
      const facts = stateOf(history(`${"F.".repeat(9)}F${".".repeat(count)}`));
      return isProving(facts, facts.passing);
    };
    assert.deepEqual([passing(0), passing(2), passing(40)], [false, true, false]);
  });

  it("are the same for broken and stopped tests if those that are merely flaky are left out", () => {
    let seed = 1;
    const random = (count: number) => (seed = seed * 48_271 % 0x7fffffff) % count;
    const seen = { broken: 0, stopped: 0, left: 0 };
    for (let turn = 0; turn < 300; turn++) {
      const length = 20 + random(40);
      const present = random(length);
      const breaks = random(3) === 0 ? present - 8 : length;
      const signs = Array.from({ length }, (_, place) => {
        if (place > present) return "   s"[random(4)];
        return place > breaks ? "F" : ".....FFrs  "[random(11)];
      }).join("");
      const jobs = random(2) === 0 ? ["ci"] : ["ci", "ci", "ci", "ci", "nightly"];
      const runs = history(signs, jobs);
      const disruptive = new Set([1, 5]);
      const all = testsWithFailures(runs, disruptive);
      const group = { tests: [0], setUps: [1] };
      const isSetUp = random(4) === 0;
      const setUpOf = (testNo: number) => isSetUp && testNo === 1 ? group : undefined;
      const left = withoutMerelyFlaky(runs, all, disruptive);
      const shown = (testNos: Set<number>) =>
        [...statesOf(runs, { testNos, disruptedIn: new Map(), setUpOf })]
          .filter(([, { state, stopped }]) => state === "broken" || stopped)
          .map(([testNo, { since, wasAdded, ...facts }]) => (
            [testNo, { ...facts, since: since(), wasAdded: wasAdded() }] as const
          ));
      const expected = shown(all);
      assert.deepEqual(shown(left), expected, `${turn}: "${signs}" in ${jobs}`);
      for (const [, { stopped }] of expected) seen[stopped ? "stopped" : "broken"]++;
      seen.left += all.size - left.size;
    }
    assert.ok(Object.values(seen).every((count) => count > 20), JSON.stringify(seen));
  });
});
