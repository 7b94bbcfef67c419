/** The history of one test on the base branch: its state, since when, and whether it is calm. */
import type { Attempts } from "../analysis/columns.ts";
import { matchesPatterns, type Patterns } from "../query/submission_filter.ts";
import { rateInterval } from "./beta.ts";
import { type Calm, calmAfter, chanceOfFailures, MAX_CHANCE, passesNeeded } from "./calm.ts";
import {
  changeRange,
  findSegments,
  type Segment,
  type VersionOutcome,
  type VersionOutcomes,
} from "./segments.ts";
import {
  MIN_BROKEN_RUNS,
  MIN_FAILING_RUNS,
  stateIn,
  type TestState,
  worstEnvironment,
} from "./states.ts";
import { MAX_HISTORY_RUNS, STOPPED_RUNS, stoppedIndex } from "./stop_rule.ts";

/**
 * Whether the job of a test ran other code before the first run of the test: it was added later. Another shard of its
 * first run may have been uploaded before.
 *
 * @param runs on the base branch, with the test or without, oldest first
 * @param options.ranIn whether the test ran in a run
 */
export function wasAdded(
  runs: readonly Pick<TestedRun, "code" | "environment" | "job">[],
  { environment, ranIn }: { environment: string; ranIn(runNo: number): boolean },
): boolean {
  const ran = (run: typeof runs[number], runNo: number) =>
    run.environment === environment && ranIn(runNo);
  const first = runs.findIndex(ran);
  if (first === -1) return false;
  const { job, code } = runs[first]!;
  const isLater = runs.slice(0, first).some((run) =>
    run.environment === environment && run.job === job && run.code !== code
  );
  return isLater && runs.filter(ran).length < MAX_HISTORY_RUNS;
}

/** What a submission on the base branch tested: the same for all of its tests. */
interface TestedRun {
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

/** How the test ended in a submission on the base branch. */
export interface HistoryRun extends TestedRun {
  /** Whether any attempt failed. */
  hasFailed: boolean;
  /** Whether the final attempt failed. */
  hasFailedAtLast: boolean;
}

/** How a test ended in a run; `null` when it neither passed nor failed. */
export function runOutcome(
  { outcome, counts: { positive, negative } }: Attempts,
): Pick<HistoryRun, "hasFailed" | "hasFailedAtLast"> | null {
  if (positive + negative === 0) return null;
  return { hasFailed: negative > 0, hasFailedAtLast: outcome === "negative" };
}

/** How a test ended in a run, as a byte: there may be millions. */
const NOT_RUN = 0, FAILED = 2;

/** The byte of {@linkcode outcomeByte} of a test that passed without a failure. */
export const PASSED = 1;

/** The byte of a test whose final attempt failed. */
export const FAILED_AT_LAST = 3;

/** Whether an attempt failed, by the byte of a test. */
export function hasFailed(outcome: number): boolean {
  return outcome >= FAILED;
}

/** {@linkcode runOutcome} as a byte; 0 when the test neither passed nor failed. */
export function outcomeByte(attempts: Attempts): number {
  const outcome = runOutcome(attempts);
  return outcome ? byteOf(outcome) : NOT_RUN;
}

function byteOf({ hasFailed, hasFailedAtLast }: Pick<HistoryRun, "hasFailed" | "hasFailedAtLast">) {
  return !hasFailed ? PASSED : hasFailedAtLast ? FAILED_AT_LAST : FAILED;
}

/** A code version by its first run. */
export type HistoryVersion = Pick<HistoryRun, "commitOid" | "treeOid" | "recordedAt">;

/** A stretch of constant failure rate, with its first and its last code version. */
export interface HistorySegment extends VersionOutcome {
  from: HistoryVersion;
  to: HistoryVersion;
}

/** Where the rate changed: one of `changes` versions after `from`, up to and including `to`. */
export interface Since {
  from: HistoryVersion;
  to: HistoryVersion;
  /** 0 when code fails that passed before: no change is the cause. */
  changes: number;
}

/** The passes since a commit; by no chance when there are failures among them. */
type CalmSince = Omit<Calm, "byChance"> & { byChance: number | null };

/** The latest runs of a job, `""` if it is unknown, which all failed. */
export interface FailingRuns {
  job: string;
  runs: number;
}

/** What a list of tests shows of the history of each. */
export interface TestStateFacts {
  state: TestState;
  /** The environment that stands for the test; `""` when unknown. */
  environment: string;
  /** Runs and failures of the last segment. */
  runs: number;
  failures: number;
  /** `null` without a run. */
  rate: number | null;
  /** What makes it broken although not all runs of the last segment failed. */
  failingRuns: FailingRuns | null;
}

/** The runs of the last segment that has failures, up to the last one, and the passes since; `null` without any. */
export type Passing = { before: VersionOutcome; passes: number } | null;

export interface TestEvidence extends TestStateFacts {
  /** `null` when its rate is the same in all runs that are stored. */
  since: Since | null;
  rateLow: number;
  rateHigh: number;
  /** Oldest first. */
  segments: HistorySegment[];
  /** `null` when it never failed, unless a commit is given. */
  calm: CalmSince | null;
  /** Failed runs before the commit that is given, and since; 0 without one. */
  failuresBefore: number;
  failuresSince: number;
  /** Passes since that commit which prove nothing: in jobs that ran it before, and in which it never failed. */
  passesElsewhere: number;
  /**
   * The environments in which the test has not run since that commit, while it ran 20 times in another: they may
   * have been retired.
   */
  notRunSince: string[];
}

/** A commit that is meant as the repair. */
export interface Repair {
  /** Whole or abbreviated, in lower case. */
  commitOid: string;
  /** Seconds since 1970: its first run on the base branch, with the test or without. */
  recordedAt: number;
}

/** Names of environments: those in which a test is disruptive in the window; none when it is not. */
export type Environments = ReadonlySet<string>;

/** The environments of places that are selected. */
export function environmentsIn(
  places: readonly { environment: string }[],
  environments: Patterns,
): Environments {
  const names = places.map(({ environment }) => environment);
  return new Set(names.filter((name) => matchesPatterns(name, environments)));
}

/**
 * The evidence for a test, of the environment with the worst state.
 *
 * @param runs those on the base branch that count, oldest first
 */
export function testEvidence(
  runs: readonly HistoryRun[],
  { disruptedIn, repair }: { disruptedIn: Environments; repair: Repair | null },
): TestEvidence {
  return new BaseHistories(runs).evidence(Uint8Array.from(runs, byteOf), { disruptedIn, repair });
}

interface EnvironmentRuns {
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
interface Versions extends VersionOutcomes {
  count: number;
  /** By code: its place among the versions, from 1 on; 0 without a run. */
  places: Int32Array;
  firstRunNos: Int32Array;
  runs: Int32Array;
  failures: Int32Array;
}

interface EnvironmentHistory {
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

/** Runs on the base branch, for the evidence for each of thousands of tests. */
export class BaseHistories {
  readonly #runs: readonly TestedRun[];
  readonly #environments: EnvironmentRuns[];

  /** @param runs those that count, oldest first */
  constructor(runs: readonly TestedRun[]) {
    this.#runs = runs;
    const positions = Map.groupBy(runs.keys(), (runNo) => runs[runNo]!.environment);
    this.#environments = Array.from(positions, ([environment, runNos]) => {
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

  /**
   * The state of a test in the environment with the worst one, and how it passes there since its last failure.
   *
   * @param outcomes {@linkcode outcomeByte} of each run
   */
  state(
    outcomes: Uint8Array,
    disruptedIn: Environments,
    { withPassing }: { withPassing: boolean },
  ): { facts: TestStateFacts; passing: Passing } {
    const worst = this.#worst(outcomes, disruptedIn);
    return { facts: this.#factsOf(worst), passing: withPassing ? passingOf(worst.history) : null };
  }

  /** Where the last segment began, in the environment with the worst state. */
  since(outcomes: Uint8Array, disruptedIn: Environments): Since | null {
    return this.#sinceOf(this.#worst(outcomes, disruptedIn).history);
  }

  /**
   * The evidence for a test, of the environment with the worst state; with a repair, of one in which the test failed
   * since, then of one in which it did not pass often enough. What has not run since proves nothing, and is only
   * named, if another environment can prove the repair.
   */
  evidence(
    outcomes: Uint8Array,
    { disruptedIn, repair }: { disruptedIn: Environments; repair: Repair | null },
  ): TestEvidence {
    const ranSince = repair && this.#runsSince(repair);
    const { history, state, notRunSince, proof } = this.#worst(outcomes, disruptedIn, ranSince);
    const { versions, segments } = history;
    const passing = passingOf(history);
    const { low, high } = rateInterval(history.last);
    return {
      ...this.#factsOf({ history, state }),
      since: this.#sinceOf(history),
      rateLow: low,
      rateHigh: high,
      segments: segments.map(({ first, end, runs, failures }) => ({
        runs,
        failures,
        from: this.#versionAt(versions, first),
        to: this.#versionAt(versions, end - 1),
      })),
      ...ranSince
        ? proof ?? calmSince(history, ranSince)
        : { calm: passing && calmAfter(passing.before, passing.passes), ...NO_FAILURES },
      notRunSince,
    };
  }

  #factsOf({ history, state }: { history: EnvironmentHistory; state: TestState }): TestStateFacts {
    const { of: { environment }, last: { runs, failures } } = history;
    const failing = state === "broken" && failures < runs ? failingJob(history) : null;
    return {
      state,
      environment,
      runs,
      failures,
      rate: runs > 0 ? failures / runs : null,
      failingRuns: failing && { job: this.#runs[failing.runNo]!.job, runs: failing.runs },
    };
  }

  #worst(
    outcomes: Uint8Array,
    disruptedIn: Environments,
    ranSince: RunsSince | null = null,
  ): {
    history: EnvironmentHistory;
    state: TestState;
    notRunSince: string[];
    /** Where environments were compared by it. */
    proof?: RunsAfterRepair;
  } {
    const [only, ...others] = this.#environments;
    if (only && others.length === 0) {
      const history = historyIn(only, outcomes);
      if (history.versions.count > 0) {
        const state = environmentState(history, disruptedIn.size > 0);
        return { history, state, notRunSince: [] };
      }
    }
    const histories = this.#environments.flatMap((of) => {
      const history = historyIn(of, outcomes);
      return history.versions.count > 0 ? [history] : [];
    });
    // Where it is disruptive on other branches only, in environments without a run here, any may be.
    const isElsewhere = !histories.some(({ of }) => disruptedIn.has(of.environment));
    const found = histories.map((history) => {
      const { of: { environment }, last: { runs } } = history;
      const isDisruptive = disruptedIn.size > 0 && (isElsewhere || disruptedIn.has(environment));
      return { history, state: environmentState(history, isDisruptive), environment, runs };
    });
    const { asked, notRunSince } = ranSince
      ? provable(found, ranSince)
      : { asked: found, notRunSince: [] };
    const worst = worstEnvironment(asked);
    if (worst) return { ...worst, notRunSince };
    const history = historyIn(NO_RUNS, outcomes);
    return { history, state: environmentState(history, disruptedIn.size > 0), notRunSince };
  }

  #sinceOf(history: EnvironmentHistory): Since | null {
    const { versions, segments, last } = history;
    const before = segments.at(-2);
    if (!before) return null;
    const { from, to } = changeRange(versions, before, last);
    return {
      from: this.#versionAt(versions, from),
      to: this.#versionAt(versions, to),
      changes: changesBetween(history, from, to),
    };
  }

  #versionAt({ firstRunNos }: Versions, place: number): HistoryVersion {
    const { commitOid, treeOid, recordedAt } = this.#runs[firstRunNos[place]!]!;
    return { commitOid, treeOid, recordedAt };
  }

  /**
   * The runs of a commit and of later code, by their numbers. Code that ran before the first run of the commit is
   * without it, even if it runs again later, unless the commit restores it. If a later commit brings such code back, its
   * passes prove nothing, but the test failed again.
   */
  #runsSince({ commitOid, recordedAt }: Repair): RunsSince {
    const runs = this.#runs;
    const own = runs.filter((run) => run.commitOid.toLowerCase().startsWith(commitOid));
    const first = runs.findIndex((run) =>
      run.recordedAt > recordedAt ||
      run.recordedAt === recordedAt && (own.length === 0 || own.includes(run))
    );
    if (first === -1) return () => false;
    const before = runs.slice(0, first);
    const commits = new Set(before.map(({ commitOid }) => commitOid));
    const codes = new Set(before.map(({ code }) => code));
    for (const { code } of own) codes.delete(code);
    return (runNo, hasFailed) => {
      if (runNo < first) return false;
      const { code, commitOid } = runs[runNo]!;
      return !codes.has(code) || hasFailed && !commits.has(commitOid);
    };
  }
}

/** Whether a run, by its number, says what a commit or later code does. */
type RunsSince = (runNo: number, hasFailed: boolean) => boolean;

/** The environments in which a repair is proved least, and those that have not run the test since. */
function provable<Found extends { history: EnvironmentHistory; environment: string }>(
  found: readonly Found[],
  ranSince: RunsSince,
): { asked: (Found & { proof?: RunsAfterRepair })[]; notRunSince: string[] } {
  const proofs = found.map((one) => {
    const proof = calmSince(one.history, ranSince);
    const { calm: { passes, passesNeeded }, failuresBefore, failuresSince } = proof;
    // How little they prove: 3 when it failed again, 0 when there was nothing to repair.
    const unproved = failuresSince > 0
      ? 3
      : failuresBefore === 0
      ? 0
      : passes < passesNeeded
      ? 2
      : 1;
    return { ...one, proof, unproved, runsSince: passes + failuresSince };
  });
  const oftenRun = proofs.filter(({ runsSince }) => runsSince >= STOPPED_RUNS);
  const notRun = oftenRun.length > 0 ? proofs.filter(({ runsSince }) => runsSince === 0) : [];
  // Where it failed only in what has not run since, there is no other answer.
  const counted = oftenRun.some(({ unproved }) => unproved > 0)
    ? proofs.filter((proof) => !notRun.includes(proof))
    : proofs;
  const most = Math.max(...counted.map(({ unproved }) => unproved));
  return {
    asked: counted.filter(({ unproved }) => unproved === most),
    notRunSince: notRun.map(({ environment }) => environment),
  };
}

type RunsAfterRepair = ReturnType<typeof calmSince>;

/** What the runs since a commit say, against all others. */
function calmSince(history: EnvironmentHistory, ranSince: RunsSince) {
  const { of: { runNos, jobNos }, outcomes, ran } = history;
  const before = { runs: 0, failures: 0 };
  const ranBefore = new Set<number>();
  const failedBefore = new Set<number>();
  const since: number[] = [];
  for (const at of ran) {
    const hasFailed = outcomes[runNos[at]!] !== PASSED;
    if (ranSince(runNos[at]!, hasFailed)) {
      since.push(at);
      continue;
    }
    before.runs++;
    ranBefore.add(jobNos[at]!);
    if (!hasFailed) continue;
    before.failures++;
    failedBefore.add(jobNos[at]!);
  }
  let passes = 0, failures = 0, passesElsewhere = 0;
  for (const at of since) {
    const job = jobNos[at]!;
    if (outcomes[runNos[at]!] !== PASSED) failures++;
    else if (failedBefore.size > 0 && ranBefore.has(job) && !failedBefore.has(job)) {
      passesElsewhere++;
    } else passes++;
  }
  const calm: CalmSince = calmAfter(rarestFailures(history, before, since), passes);
  if (failures > 0) calm.byChance = null;
  return {
    calm,
    failuresBefore: before.failures,
    failuresSince: failures,
    passesElsewhere,
  };
}

/**
 * The runs before a commit that its passes are compared with: all, or those from the last segment with failures on, where
 * it failed more rarely. An earlier fault that is repaired says nothing about this one.
 */
function rarestFailures(
  { of, outcomes }: EnvironmentHistory,
  all: VersionOutcome,
  since: readonly number[],
): VersionOutcome {
  const earlier = outcomes.slice();
  for (const at of since) earlier[of.runNos[at]!] = NOT_RUN;
  const room = {
    room: new Int32Array(of.room.length),
    versions: roomForVersions(of.versions.places.length),
  };
  const passing = passingOf(historyIn({ ...of, ...room }, earlier));
  if (!passing) return all;
  const { before, passes } = passing;
  const latest = { runs: before.runs + passes, failures: before.failures };
  return passesNeeded(latest) > passesNeeded(all) ? latest : all;
}

const NO_RUNS: EnvironmentRuns = {
  environment: "",
  runNos: new Int32Array(),
  codes: new Int32Array(),
  codeNos: new Int32Array(),
  jobNos: new Int32Array(),
  room: new Int32Array(),
  versions: roomForVersions(0),
};

const NO_FAILURES = { failuresBefore: 0, failuresSince: 0, passesElsewhere: 0 };

const NO_SEGMENT: Segment = { first: 0, end: 0, runs: 0, failures: 0 };

function historyIn(of: EnvironmentRuns, outcomes: Uint8Array): EnvironmentHistory {
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

function roomForVersions(codeCount: number): Versions {
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

function environmentState(history: EnvironmentHistory, isDisruptive: boolean): TestState {
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
function failingJob(history: EnvironmentHistory): { runNo: number; runs: number } | null {
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
function changesBetween(history: EnvironmentHistory, from: number, to: number): number {
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

/** How many runs of a code version passed after the last failed one. */
function passesAtEnd(
  { of: { runNos, codeNos, versions: { places } }, outcomes, ran }: EnvironmentHistory,
  place: number,
): number {
  let passes = 0;
  for (let index = ran.length - 1;; index--) {
    const at = ran[index]!;
    if (places[codeNos[at]!] !== place + 1) continue;
    if (outcomes[runNos[at]!] !== PASSED) return passes;
    passes++;
  }
}

/** How the last segment with failures goes on, in the order of code versions; `null` without one. */
function passingOf(history: EnvironmentHistory): Passing {
  const { versions: { count, runs, failures }, segments } = history;
  const failing = segments.findLast((segment) => segment.failures > 0);
  if (!failing) return null;
  let last = failing.end - 1;
  while (failures[last] === 0) last--;
  const passesInLast = history.isInTime ? 0 : passesAtEnd(history, last);
  return {
    before: {
      runs: sum(runs, failing.first, last + 1) - passesInLast,
      failures: failing.failures,
    },
    passes: passesInLast + sum(runs, last + 1, count),
  };
}

function sum(counts: Int32Array, first: number, end: number): number {
  let total = 0;
  for (let at = first; at < end; at++) total += counts[at]!;
  return total;
}
