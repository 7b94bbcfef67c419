/** The history of one test on the base branch: its state, since when, and whether it is calm. */
import { type Attempts, finalOutcome } from "../analysis/columns.ts";
import { rateInterval } from "./beta.ts";
import { type Calm, calmAfter } from "./calm.ts";
import { changeRange, findSegments, type VersionOutcome } from "./segments.ts";
import { MIN_BROKEN_RUNS, stateIn, type TestState, worstEnvironment } from "./states.ts";

/** More runs of an environment say nothing about today. */
export const MAX_HISTORY_RUNS = 2_000;

/** How the test ended in a submission on the base branch. */
export interface HistoryRun {
  commitOid: string;
  treeOid: string | null;
  /** What was tested: a tree, otherwise a commit. */
  code: string;
  environment: string;
  /** Seconds since 1970. */
  recordedAt: number;
  /** Whether any attempt failed. */
  hasFailed: boolean;
  /** Whether the final attempt failed. */
  hasFailedAtLast: boolean;
}

/** How a test ended in a run; `null` when it neither passed nor failed. */
export function runOutcome(
  { kinds, counts: { positive, negative } }: Attempts,
): Pick<HistoryRun, "hasFailed" | "hasFailedAtLast"> | null {
  if (positive + negative === 0) return null;
  return { hasFailed: negative > 0, hasFailedAtLast: finalOutcome(kinds) === "negative" };
}

/** A code version by its first run. */
export type HistoryVersion = Pick<HistoryRun, "commitOid" | "treeOid" | "recordedAt">;

/** A stretch of constant failure rate, with its first and its last code version. */
export interface HistorySegment extends VersionOutcome {
  from: HistoryVersion;
  to: HistoryVersion;
}

/** Where the rate changed: one of `changes` versions after `from`, up to and including `to`. */
interface Since {
  from: HistoryVersion;
  to: HistoryVersion;
  changes: number;
}

/** The passes since a commit; by no chance when there are failures among them. */
type CalmSince = Omit<Calm, "byChance"> & { byChance: number | null };

export interface TestEvidence {
  state: TestState;
  /** The environment that stands for the test; `""` when unknown. */
  environment: string;
  /** Runs and failures of the last segment. */
  runs: number;
  failures: number;
  /** `null` without a run. */
  rate: number | null;
  rateLow: number;
  rateHigh: number;
  /** Oldest first. */
  segments: HistorySegment[];
  /** `null` when its rate is the same in all runs that are stored. */
  since: Since | null;
  /** `null` when it never failed, unless a commit is given. */
  calm: CalmSince | null;
}

/** A commit that is meant as the repair. */
export interface Repair {
  /** Whole or abbreviated, in lower case. */
  commitOid: string;
  /** Seconds since 1970: its first run on the base branch, with the test or without. */
  recordedAt: number;
}

interface Version extends HistoryVersion {
  /** In the order of time. */
  runs: HistoryRun[];
}

/**
 * The evidence for a test, of the environment with the worst state.
 *
 * @param runs on the base branch without outages, oldest first
 */
export function testEvidence(
  runs: readonly HistoryRun[],
  { isDisruptive, repair }: { isDisruptive: boolean; repair: Repair | null },
): TestEvidence {
  const environments = [...Map.groupBy(runs, ({ environment }) => environment).values()]
    .map((own) => environmentEvidence(own, { isDisruptive, repair }));
  return worstEnvironment(environments) ?? environmentEvidence([], { isDisruptive, repair });
}

function environmentEvidence(
  runs: readonly HistoryRun[],
  { isDisruptive, repair }: { isDisruptive: boolean; repair: Repair | null },
): TestEvidence {
  const versions = versionsOf(runs.slice(-MAX_HISTORY_RUNS));
  const outcomes = versions.map(({ runs }) => outcomeOf(runs));
  const segments = findSegments(outcomes);
  const last = segments.at(-1) ?? { first: 0, end: 0, runs: 0, failures: 0 };
  const before = segments.at(-2);
  const range = before && changeRange(outcomes, before, last);
  const ordered = versions.flatMap(({ runs }) => runs);
  const lastFinalFailures = versions.slice(last.first, last.end)
    .flatMap(({ runs }) => runs)
    .filter(({ hasFailedAtLast }) => hasFailedAtLast).length;
  const { low, high } = rateInterval(last);
  const failing = segments.findLast(({ failures }) => failures > 0);
  return {
    state: failsSince(runs.slice(-MAX_HISTORY_RUNS))
      ? "broken"
      : stateIn({ segments, lastFinalFailures, isDisruptive }),
    environment: runs[0]?.environment ?? "",
    runs: last.runs,
    failures: last.failures,
    rate: last.runs > 0 ? last.failures / last.runs : null,
    rateLow: low,
    rateHigh: high,
    segments: segments.map(({ first, end, runs, failures }) => ({
      runs,
      failures,
      from: shown(versions[first]!),
      to: shown(versions[end - 1]!),
    })),
    since: range
      ? {
        from: shown(versions[range.from]!),
        to: shown(versions[range.to]!),
        changes: range.to - range.from,
      }
      : null,
    calm: repair
      ? calmSince(ordered, repair)
      : failing
      ? calmOf(versions.slice(failing.first).flatMap(({ runs }) => runs))
      : null,
  };
}

/**
 * Whether a test broke without a change: the calendar, a certificate or a service breaks code that passed before,
 * which its code version hides. Its runs in the order of time show it.
 *
 * @param runs of an environment, oldest first
 */
function failsSince(runs: readonly HistoryRun[]): boolean {
  if (!runs.slice(-MIN_BROKEN_RUNS).every(({ hasFailedAtLast }) => hasFailedAtLast)) return false;
  const segments = findSegments(
    runs.map(({ hasFailed }) => ({ runs: 1, failures: Number(hasFailed) })),
  );
  const last = segments.at(-1);
  return last !== undefined && last.runs >= MIN_BROKEN_RUNS &&
    runs.slice(last.first).every(({ hasFailedAtLast }) => hasFailedAtLast);
}

/** The code versions of the runs of an environment, in the order of their first runs. */
function versionsOf(runs: readonly HistoryRun[]): Version[] {
  return [...Map.groupBy(runs, ({ code }) => code).values()]
    .map((own) => ({ ...shown(own[0]!), runs: own }));
}

function shown({ commitOid, treeOid, recordedAt }: HistoryVersion): HistoryVersion {
  return { commitOid, treeOid, recordedAt };
}

function outcomeOf(runs: readonly HistoryRun[]): VersionOutcome {
  return { runs: runs.length, failures: runs.filter(({ hasFailed }) => hasFailed).length };
}

/** @param runs from the last segment with failures on */
function calmOf(runs: readonly HistoryRun[]): Calm {
  const end = runs.findLastIndex(({ hasFailed }) => hasFailed) + 1;
  return calmAfter(outcomeOf(runs.slice(0, end)), runs.length - end);
}

/** What the runs since a commit say, against all before its first one. */
function calmSince(runs: readonly HistoryRun[], { commitOid, recordedAt }: Repair): CalmSince {
  const own = runs.findIndex((run) => run.commitOid.toLowerCase().startsWith(commitOid));
  const later = runs.findIndex((run) => run.recordedAt >= recordedAt);
  const first = own >= 0 ? own : later >= 0 ? later : runs.length;
  const after = outcomeOf(runs.slice(first));
  const calm = calmAfter(outcomeOf(runs.slice(0, first)), after.runs - after.failures);
  return { ...calm, byChance: after.failures > 0 ? null : calm.byChance };
}
