/** The states of the tests of a repository: runs on its base branch in, states out. */
import { ImpliedPasses, type SetUpGroup } from "../analysis/repetition/implied_passes.ts";
import { type Run, SelectedTests, type TestList } from "../analysis/run.ts";
import { chanceOfPasses, MAX_CHANCE } from "./calm.ts";
import {
  exceptionsOf,
  FAILED_AT_LAST,
  hasFailed,
  PASSED,
  runOutcome,
  TestOutcomes,
} from "./outcomes_of_runs.ts";
import type { Passing } from "./environment_history.ts";
import { MIN_BROKEN_RUNS, stateIn, worstEnvironment } from "./states.ts";
import { JobRuns, lastRunsOf, type Stopped } from "./stopped.ts";
import {
  BaseHistories,
  type Environments,
  type Since,
  type TestStateFacts,
  wasAdded,
} from "./test_evidence.ts";
import { MAX_HISTORY_RUNS, retiredEnvironments, STOPPED_RUNS } from "./stop_rule.ts";

/** What the states are decided by. */
export type StateRun = Run<
  "commitOid" | "treeOid" | "code" | "environment" | "job" | "shard" | "results"
>;

/** The state of a test, and when it stopped running, in seconds since 1970. */
interface FactsOfTest extends TestStateFacts {
  /** `null` while it runs, and if it never failed. */
  stopped: Stopped | null;
  passing: Passing;
  /** Its last run, in seconds since 1970; 0 without one. */
  lastRunAt: number;
  /** Where its last segment began; found out for the few tests that are shown. */
  since(): Since | null;
  /** Whether its environment has runs from before its first one. */
  wasAdded(): boolean;
}

/** The tests that are disruptive, or failed in a run. */
export function testsWithFailures(
  runs: readonly StateRun[],
  disruptive: ReadonlySet<number>,
): Set<number> {
  const found = new Set(disruptive);
  const { testNos, outcomes } = exceptionsOf(runs);
  for (let at = 0; at < testNos.length; at++) {
    if (hasFailed(outcomes[at]!)) found.add(testNos[at]!);
  }
  return found;
}

/** Selects the tests whose final attempt failed in enough runs to be broken. */
export function testsOftenFailed(
  runs: readonly StateRun[],
  testNos: ReadonlySet<number>,
): Set<number> {
  const counts = new Map<number, number>();
  const exceptions = exceptionsOf(runs);
  for (let at = 0; at < exceptions.testNos.length; at++) {
    const testNo = exceptions.testNos[at]!;
    if (exceptions.outcomes[at] !== FAILED_AT_LAST || !testNos.has(testNo)) continue;
    counts.set(testNo, (counts.get(testNo) ?? 0) + 1);
  }
  return new Set(counts.keys().filter((testNo) => counts.get(testNo)! >= MIN_BROKEN_RUNS));
}

/**
 * Without the disruptive tests that can neither be broken nor have stopped: of 2,000 flaky tests these are most.
 *
 * @param runs those that count, oldest first
 */
export function withoutMerelyFlaky(
  runs: readonly StateRun[],
  testNos: ReadonlySet<number>,
  disruptive: ReadonlySet<number>,
): Set<number> {
  const selected = new SelectedTests(disruptive);
  const mayBeBroken = testsOftenFailed(runs, disruptive);
  // A set-up may have passed in any later run.
  const latestStop = new JobRuns(runs).lastBeforeStop;
  const lastRuns = lastRunsOf(runs, selected);
  const found = new Set(testNos);
  for (let place = 0; place < selected.testNos.length; place++) {
    const testNo = selected.testNos[place]!;
    const mayHaveStopped = lastRuns[place]! <= latestStop;
    if (!mayHaveStopped && !mayBeBroken.has(testNo)) found.delete(testNo);
  }
  return found;
}

const NOT_DISRUPTED: Environments = new Set();

/**
 * By test_no: the states of some tests. No report has the passes of a set-up: they follow from the tests that it
 * is for.
 *
 * @param runs those that count, oldest first
 * @param options.disruptedIn the environments in which a test is disruptive
 * @param options.setUpOf the group of a set-up, the same object for each of its set-ups
 * @param options.withPassing how they pass since their last failure, also of tests that have not stopped
 */
export function statesOf(
  runs: readonly StateRun[],
  { testNos, disruptedIn, setUpOf, withPassing = true }: {
    testNos: ReadonlySet<number>;
    disruptedIn: ReadonlyMap<number, Environments>;
    setUpOf(testNo: number): SetUpGroup | undefined;
    withPassing?: boolean;
  },
): Map<number, FactsOfTest> {
  const jobRuns = new JobRuns(runs);
  const environmentCount = new Set(runs.map(({ environment }) => environment)).size;
  const ended = new TestOutcomes(runs, new SelectedTests(testNos));
  const histories = new BaseHistories(runs);
  const impliedRuns = impliedRunsOf(runs, new ImpliedPasses(testNos, setUpOf));
  const outcomes = new Uint8Array(runs.length);
  const found = new Map<number, FactsOfTest>();
  /** Overwritten for each test. */
  const outcomesOf = (testNo: number) => {
    ended.write(testNo, outcomes);
    for (const runNo of impliedRuns.get(testNo) ?? []) outcomes[runNo] = PASSED;
    if (environmentCount > 1) clearRetired(outcomes, { runs, environmentCount });
    return outcomes;
  };
  for (const testNo of testNos) {
    const environments = disruptedIn.get(testNo) ?? NOT_DISRUPTED;
    const last = lastRunIn(outcomesOf(testNo));
    const stopped = jobRuns.stopOf({ last, ranIn: (runNo) => outcomes[runNo] !== 0 });
    const { facts, passing } = histories.state(outcomes, environments, {
      withPassing: withPassing || stopped !== null,
    });
    found.set(testNo, {
      ...facts,
      passing,
      lastRunAt: runs[last]?.recordedAt ?? 0,
      stopped: passing && stopped,
      since: () => histories.since(outcomesOf(testNo), environments),
      wasAdded: () => {
        const outcomes = outcomesOf(testNo);
        const { environment } = facts;
        return wasAdded(runs, { environment, ranIn: (runNo) => outcomes[runNo] !== 0 });
      },
    });
  }
  return found;
}

/** Forgets the runs in environments in which the test stopped running. */
function clearRetired(
  outcomes: Uint8Array,
  { runs, environmentCount }: { runs: readonly StateRun[]; environmentCount: number },
): void {
  // Nearly all tests ran in all of them just now.
  const latest = new Set<string>();
  for (let runNo = outcomes.length - 1, left = STOPPED_RUNS; runNo >= 0 && left > 0; runNo--) {
    if (outcomes[runNo] === 0) continue;
    latest.add(runs[runNo]!.environment);
    left--;
  }
  if (latest.size === environmentCount) return;
  const ran = [...runs.keys()].filter((runNo) => outcomes[runNo] !== 0);
  const retired = retiredEnvironments(
    ran.map((runNo) => (
      { environment: runs[runNo]!.environment, hasFailed: hasFailed(outcomes[runNo]!) }
    )),
  );
  if (retired.size === 0) return;
  for (const runNo of ran) if (retired.has(runs[runNo]!.environment)) outcomes[runNo] = 0;
}

/** The last run in which a test passed or failed; -1 without one. */
function lastRunIn(outcomes: Uint8Array): number {
  let last = outcomes.length - 1;
  while (last >= 0 && outcomes[last] === 0) last--;
  return last;
}

/** By the test_no of each set-up: the runs in which it passed, although no report says so. */
function impliedRunsOf(
  runs: readonly StateRun[],
  implied: ImpliedPasses,
): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (const [runNo, { results }] of runs.entries()) {
    for (const testNo of implied.in(results)) {
      const known = found.get(testNo);
      if (known) known.push(runNo);
      else found.set(testNo, [runNo]);
    }
  }
  return found;
}

/**
 * By test_no: the states of tests that never failed, which follow from how often they ran.
 *
 * @param known tests that are left out
 */
export function statesOfOthers(
  runs: readonly StateRun[],
  known: ReadonlySet<number>,
): Map<number, FactsOfTest> {
  const found = new Map<number, FactsOfTest[]>();
  for (const [environment, own] of Map.groupBy(runs, (run) => run.environment)) {
    const counts = new Map<number, number>();
    const add = (testNo: number, count: number) => {
      if (!known.has(testNo)) counts.set(testNo, (counts.get(testNo) ?? 0) + count);
    };
    const lists = new Map<TestList, number>();
    for (const { results } of own) {
      lists.set(results.tests, (lists.get(results.tests) ?? 0) + 1);
      results.eachException((testNo, attempts) => {
        if (!runOutcome(attempts)) add(testNo, -1);
      });
    }
    for (const [{ testNos }, count] of lists) {
      for (const testNo of testNos) add(testNo, count);
    }
    for (const [testNo, count] of counts) {
      const facts = neverFailed(environment, Math.min(count, MAX_HISTORY_RUNS));
      const earlier = found.get(testNo);
      if (earlier) earlier.push(facts);
      else found.set(testNo, [facts]);
    }
  }
  return new Map(
    Array.from(found, ([testNo, environments]) => [testNo, worstEnvironment(environments)!]),
  );
}

function neverFailed(environment: string, runs: number): FactsOfTest {
  return {
    state: stateIn({
      segments: [{ runs, failures: 0 }],
      lastFinalFailures: 0,
      isDisruptive: false,
    }),
    environment,
    runs,
    failures: 0,
    rate: runs > 0 ? 0 : null,
    failingRuns: null,
    lastRunAt: 0,
    stopped: null,
    passing: null,
    since: () => null,
    wasAdded: () => false,
  };
}

/** A test that is more probably unchanged than repaired is not being proved. */
const MAX_CHANCE_OF_PROOF = 0.5;

/** Whether a test passes again, but not yet often enough to be called calm. */
export function isProving(
  { state, stopped }: Pick<FactsOfTest, "state" | "stopped">,
  passing: Passing,
): boolean {
  if (passing === null || stopped !== null || state === "broken") return false;
  const chance = chanceOfPasses(passing.before, passing.passes);
  return chance > MAX_CHANCE && chance <= MAX_CHANCE_OF_PROOF;
}
