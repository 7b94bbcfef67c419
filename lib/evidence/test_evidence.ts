/** The history of one test on the base branch: its state, since when, and whether it is calm. */
import { matchesPatterns, type Patterns } from "../query/submission_filter.ts";
import { rateInterval } from "./beta.ts";
import { calmAfter } from "./calm.ts";
import {
  changesBetween,
  type EnvironmentHistory,
  type EnvironmentRuns,
  environmentsOf,
  environmentState,
  failingJob,
  historyIn,
  NO_RUNS,
  type Passing,
  passingOf,
  type TestedRun,
  type Versions,
} from "./environment_history.ts";
import { byteOf, type RunOutcome } from "./outcomes_of_runs.ts";
import {
  type CalmSince,
  calmSince,
  leastProved,
  type Repair,
  type RunsAfterRepair,
  type RunsSince,
  runsSince,
} from "./repair.ts";
import { changeRange, type VersionOutcome } from "./segments.ts";
import { type TestState, worstEnvironment } from "./states.ts";
import { MAX_HISTORY_RUNS } from "./stop_rule.ts";

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

/** How the test ended in a submission on the base branch. */
export interface HistoryRun extends TestedRun, RunOutcome {}

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

/** Runs on the base branch, for the evidence for each of thousands of tests. */
export class BaseHistories {
  readonly #runs: readonly TestedRun[];
  readonly #environments: EnvironmentRuns[];

  /** @param runs those that count, oldest first */
  constructor(runs: readonly TestedRun[]) {
    this.#runs = runs;
    this.#environments = environmentsOf(runs);
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
    const ranSince = repair && runsSince(this.#runs, repair);
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
      ? leastProved(found, ranSince)
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
}

const NO_FAILURES = { failuresBefore: 0, failuresSince: 0, passesElsewhere: 0 };
