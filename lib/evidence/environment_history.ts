// Tests: tests/lib/evidence/test_evidence_test.ts
/** How one test ran in an environment of the base branch: by code version, in segments, in each job. */
import { chanceOfFailures, MAX_CHANCE } from "./calm.ts";
import { FAILED_AT_LAST, NOT_RUN, PASSED } from "./outcomes_of_runs.ts";
import {
  findSegments,
  type Segment,
  type VersionOutcome,
  type VersionOutcomes,
} from "./segments.ts";
import { MIN_BROKEN_RUNS, MIN_FAILING_RUNS, stateIn, type TestState } from "./states.ts";
import { MAX_HISTORY_RUNS, stoppedIndex } from "./stop_rule.ts";

/** What a submission on the base branch tested: the same for all of its tests. */
export interface TestedRun {
  commitOid: string;
  treeOid: string | null;
  /** What was tested: a tree, otherwise a commit. */
  code: string;
  environment: string;
  /** `""` when unknown. */
  job: string;
  /** Seconds since 1970. */
  recordedAt: number;
}

/**
 * The runs of the last segment that has failures, up to the last one, and the passes since that prove something;
 * `null` without any.
 */
export type Passing = {
  before: VersionOutcome;
  passes: number;
  /** Also those that prove nothing. */
  allPasses: number;
} | null;

export interface EnvironmentRuns {
  environment: string;
  /** Their positions among all runs. */
  runNos: Int32Array;
  /** The code of each, and its code version, as numbers. */
  codes: Int32Array;
  codeNos: Int32Array;
  /** The job of each, as a number. */
  jobNos: Int32Array;
  /** Room for the runs of the test that is looked at, as for its versions. */
  room: Int32Array;
  /** The versions of the test that is looked at: thousands of tests in turn would be half a second of garbage. */
  versions: Versions;
}

/** The code versions of a test in an environment, in the order of their first runs; `count` of each array. */
export interface Versions extends VersionOutcomes {
  count: number;
  /** By code: its place among the versions, from 1 on; 0 without a run. */
  places: Int32Array;
  firstRunNos: Int32Array;
  runs: Int32Array;
  failures: Int32Array;
}

export interface EnvironmentHistory {
  of: EnvironmentRuns;
  outcomes: Uint8Array;
  /** The runs that count: their places among the runs of the environment. */
  ran: Int32Array;
  /** Whether each run is a version of its own: the test broke without a change. */
  isInTime: boolean;
  versions: Versions;
  segments: Segment[];
  last: Segment;
}

export const NO_RUNS: EnvironmentRuns = {
  environment: "",
  runNos: new Int32Array(),
  codes: new Int32Array(),
  codeNos: new Int32Array(),
  jobNos: new Int32Array(),
  room: new Int32Array(),
  versions: roomForVersions(0),
};

const NO_SEGMENT: Segment = { first: 0, end: 0, runs: 0, failures: 0 };

/**
 * The environments of runs on the base branch.
 *
 * @param runs those that count, oldest first
 */
export function environmentsOf(runs: readonly TestedRun[]): EnvironmentRuns[] {
  const positions = Map.groupBy(runs.keys(), (runNo) => runs[runNo]!.environment);
  return Array.from(positions, ([environment, runNos]) => {
    const own = runNos.map((runNo) => runs[runNo]!);
    const { codeNos, count } = codeVersionsOf(own);
    return {
      environment,
      runNos: Int32Array.from(runNos),
      codes: numbersOf(own.map(({ code }) => code)),
      codeNos,
      jobNos: numbersOf(own.map(({ job }) => job)),
      room: new Int32Array(runNos.length),
      versions: roomForVersions(count),
    };
  });
}

export function historyIn(of: EnvironmentRuns, outcomes: Uint8Array): EnvironmentHistory {
  const ran = lastRuns(of, outcomes);
  const versions = findVersions(of, outcomes, ran);
  const segments = findSegments(versions);
  const last = segments.at(-1) ?? NO_SEGMENT;
  const history = { of, outcomes, ran, isInTime: false, versions, segments, last };
  return brokenInTime(history) ?? history;
}

/** The last runs of a test that count. The runs of one shard are few among all. */
function lastRuns({ runNos, room }: EnvironmentRuns, outcomes: Uint8Array): Int32Array {
  let first = room.length;
  for (let at = runNos.length - 1; at >= 0 && room.length - first < MAX_HISTORY_RUNS; at--) {
    if (outcomes[runNos[at]!] !== NOT_RUN) room[--first] = at;
  }
  return room.subarray(first);
}

/** Equal texts as equal numbers, from 0 on. */
function numbersOf(texts: readonly string[]): Int32Array {
  const numbers = new Map<string, number>();
  return Int32Array.from(texts, (text) => {
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return number;
  });
}

/**
 * The code versions of runs, oldest first, as numbers. A commit that brings earlier code back, as a revert does, begins
 * another version: the branch went on with it.
 */
function codeVersionsOf(
  runs: readonly Pick<TestedRun, "code" | "commitOid">[],
): { codeNos: Int32Array; count: number } {
  const ofCommit = new Map<string, number>();
  let count = 0;
  let newest: string | null = null;
  const codeNos = Int32Array.from(runs, ({ code, commitOid }) => {
    const commit = `${code} ${commitOid}`;
    let codeNo = ofCommit.get(commit);
    if (codeNo === undefined) {
      if (code !== newest) count++;
      newest = code;
      ofCommit.set(commit, codeNo = count - 1);
    }
    return codeNo;
  });
  return { codeNos, count };
}

export function roomForVersions(codeCount: number): Versions {
  return {
    count: 0,
    places: new Int32Array(codeCount),
    firstRunNos: new Int32Array(codeCount),
    runs: new Int32Array(codeCount),
    failures: new Int32Array(codeCount),
  };
}

/** Overwrites the versions of the environment with the versions of a test. */
function findVersions(
  { runNos, codeNos, versions }: EnvironmentRuns,
  outcomes: Uint8Array,
  ran: Int32Array,
): Versions {
  const { places, firstRunNos, runs, failures } = versions;
  places.fill(0);
  let count = 0;
  for (let index = 0; index < ran.length; index++) {
    const at = ran[index]!;
    let place = places[codeNos[at]!]! - 1;
    if (place < 0) {
      place = count++;
      places[codeNos[at]!] = count;
      firstRunNos[place] = runNos[at]!;
      runs[place] = failures[place] = 0;
    }
    runs[place]!++;
    if (outcomes[runNos[at]!] !== PASSED) failures[place]!++;
  }
  versions.count = count;
  return versions;
}

export function environmentState(history: EnvironmentHistory, isDisruptive: boolean): TestState {
  const { isInTime, segments, last } = history;
  if (isInTime || failingJob(history)) return "broken";
  // Of no interest unless all of them failed.
  const lastFinalFailures = last.failures < last.runs ? 0 : finalFailures(history);
  return stateIn({ segments, lastFinalFailures, isDisruptive });
}

/**
 * A run of the job of which the latest runs all failed at last, ten or more, and so many that a test which fails as often as in its
 * runs before does so with at most 5 %. In segments one pass hides forty failures, and another job half of all.
 */
export function failingJob(history: EnvironmentHistory): { runNo: number; runs: number } | null {
  const { of: { runNos, codeNos, jobNos, versions: { places } }, outcomes, ran, last } = history;
  if (last.failures < MIN_FAILING_RUNS || finalFailures(history) < MIN_FAILING_RUNS) return null;
  let longest: { runNo: number; runs: number } | null = null;
  const outcomeAt = (at: number) => outcomes[runNos[at]!]!;
  const placeAt = (at: number) => places[codeNos[at]!]!;
  const jobs = Map.groupBy(ran.filter((at) => placeAt(at) > last.first), (at) => jobNos[at]!);
  for (const [job, own] of jobs) {
    // Earlier code may run late.
    const passed = own.filter((at) => outcomeAt(at) !== FAILED_AT_LAST).map(placeAt);
    const lastPassed = passed.reduce((one, other) => Math.max(one, other), 0);
    const runs = own.filter((at) => placeAt(at) > lastPassed).length;
    if (runs < MIN_FAILING_RUNS) continue;
    const earlier = own.filter((at) => placeAt(at) <= lastPassed);
    const failures = earlier.filter((at) => outcomeAt(at) !== PASSED).length;
    const byChance = chanceOfFailures({ runs: earlier.length, failures }, runs);
    if (earlier.length > 0 && byChance > MAX_CHANCE) continue;
    if (stoppedIndex(Array.from(ran, (at) => jobNos[at] === job)) !== null) continue;
    if (runs > (longest?.runs ?? 0)) longest = { runNo: runNos[own[0]!]!, runs };
  }
  return longest;
}

/** Runs of the last segment of which the final attempt failed. */
function finalFailures(
  { of: { runNos, codeNos, versions: { places } }, outcomes, ran, last }: EnvironmentHistory,
): number {
  let count = 0;
  for (const at of ran) {
    const isInLast = places[codeNos[at]!]! > last.first;
    if (isInLast && outcomes[runNos[at]!] === FAILED_AT_LAST) count++;
  }
  return count;
}

/**
 * The history in the order of time of a test that broke without a change, otherwise `null`: the calendar, a
 * certificate or a service breaks code that passed before, which the order of code versions hides.
 */
function brokenInTime(history: EnvironmentHistory): EnvironmentHistory | null {
  const { of: { runNos }, outcomes, ran } = history;
  const failedAtLast = (at: number) => outcomes[runNos[at]!] === FAILED_AT_LAST;
  // The latest one decides for nearly all.
  if (ran.length < MIN_BROKEN_RUNS || !failedAtLast(ran.at(-1)!)) return null;
  if (!ran.subarray(-MIN_BROKEN_RUNS).every(failedAtLast)) return null;
  if (environmentState(history, false) === "broken") return null;
  const versions = {
    count: ran.length,
    places: history.versions.places,
    firstRunNos: ran.map((at) => runNos[at]!),
    runs: ran.map(() => 1),
    failures: ran.map((at) => Number(outcomes[runNos[at]!] !== PASSED)),
  };
  const segments = findSegments(versions);
  const last = segments.at(-1)!;
  const failing = ran.subarray(last.first);
  if (last.runs < MIN_BROKEN_RUNS || !failing.every(failedAtLast)) return null;
  return { ...history, isInTime: true, versions, segments, last };
}

/** How many codes ran first after one place of a history, up to another; 0 when code fails that passed before. */
export function changesBetween(history: EnvironmentHistory, from: number, to: number): number {
  const { of: { runNos, codes, codeNos, versions: { places } }, ...own } = history;
  const { outcomes, ran, isInTime, last } = own;
  const codeAt = (at: number) => codes[at]!;
  const placeAt = (at: number, index: number) => isInTime ? index : places[codeNos[at]!]! - 1;
  const isInLast = (at: number, index: number) => placeAt(at, index) >= last.first;
  if (last.failures === last.runs) {
    const failing = new Set(Array.from(ran.filter(isInLast), codeAt));
    const passedBefore = ran.some((at, index) =>
      outcomes[runNos[at]!] === PASSED && !isInLast(at, index) && failing.has(codeAt(at))
    );
    if (passedBefore) return 0;
  }
  const changed = ran.filter((at, index) => {
    const place = placeAt(at, index);
    return place > from && place <= to;
  });
  return new Set(Array.from(changed, codeAt)).size;
}

/** The runs of a code version that passed after the last failed one. */
function passesAtEnd(
  { of: { runNos, codeNos, versions: { places } }, outcomes, ran }: EnvironmentHistory,
  place: number,
): number[] {
  const passes: number[] = [];
  for (let index = ran.length - 1;; index--) {
    const at = ran[index]!;
    if (places[codeNos[at]!] !== place + 1) continue;
    if (outcomes[runNos[at]!] !== PASSED) return passes;
    passes.push(at);
  }
}

/** How the last segment with failures goes on, in the order of code versions; `null` without one. */
export function passingOf(history: EnvironmentHistory): Passing {
  const { of: { runNos, codeNos, jobNos, versions: { places } }, ...own } = history;
  const { outcomes, ran, isInTime, versions: { runs, failures }, segments } = own;
  const failing = segments.findLast((segment) => segment.failures > 0);
  if (!failing) return null;
  let last = failing.end - 1;
  while (failures[last] === 0) last--;
  const inLast = isInTime ? [] : passesAtEnd(history, last);
  const ofLast = new Set(inLast);
  const passes = [...inLast];
  // The passes of a job in which it ran before and never failed prove nothing.
  const ranBefore = new Set<number>();
  const failedIn = new Set<number>();
  for (const [index, at] of ran.entries()) {
    if (outcomes[runNos[at]!] !== PASSED) failedIn.add(jobNos[at]!);
    if ((isInTime ? index : places[codeNos[at]!]! - 1) > last) passes.push(at);
    else if (!ofLast.has(at)) ranBefore.add(jobNos[at]!);
  }
  const proves = (at: number) => !ranBefore.has(jobNos[at]!) || failedIn.has(jobNos[at]!);
  return {
    before: {
      runs: sum(runs, failing.first, last + 1) - inLast.length,
      failures: failing.failures,
    },
    passes: passes.filter(proves).length,
    allPasses: passes.length,
  };
}

function sum(counts: Int32Array, first: number, end: number): number {
  let total = 0;
  for (let at = first; at < end; at++) total += counts[at]!;
  return total;
}
