// Tests: tests/lib/evidence/test_evidence_test.ts
/** What the runs since a commit that is meant as the repair of a test prove. */
import { type Calm, calmAfter, passesNeeded } from "./calm.ts";
import {
  type EnvironmentHistory,
  historyIn,
  passingOf,
  roomForVersions,
  type TestedRun,
} from "./environment_history.ts";
import { NOT_RUN, PASSED } from "./outcomes_of_runs.ts";
import type { VersionOutcome } from "./segments.ts";
import { STOPPED_RUNS } from "./stop_rule.ts";

/** The passes since a commit; by no chance when there are failures among them. */
export type CalmSince = Omit<Calm, "byChance"> & { byChance: number | null };

/** A commit that is meant as the repair. */
export interface Repair {
  /** Whole or abbreviated, in lower case. */
  commitOid: string;
  /** Seconds since 1970: its first run on the base branch, with the test or without. */
  recordedAt: number;
}

/**
 * The runs of a commit and of later code, by their numbers. Code that ran before the first run of the commit is
 * without it, even if it runs again later, unless the commit restores it. If a later commit brings such code back, its
 * passes prove nothing, but the test failed again.
 */
export function runsSince(
  runs: readonly TestedRun[],
  { commitOid, recordedAt }: Repair,
): RunsSince {
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

/** Whether a run, by its number, says what a commit or later code does. */
export type RunsSince = (runNo: number, hasFailed: boolean) => boolean;

/** The environments in which a repair is proved least, and those that have not run the test since. */
export function leastProved<Found extends { history: EnvironmentHistory; environment: string }>(
  found: readonly Found[],
  ranSince: RunsSince,
): { asked: (Found & { proof?: RunsAfterRepair })[]; notRunSince: string[] } {
  const proofs = found.map((one) => {
    const proof = calmSince(one.history, ranSince);
    const runsSince = proof.calm.passes + proof.failuresSince;
    return { ...one, proof, unproved: howUnproved(proof), runsSince };
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

/** How little the runs prove: 3 when the test failed again, 0 when there was nothing to repair. */
function howUnproved({ calm, failuresBefore, failuresSince }: RunsAfterRepair): number {
  if (failuresSince > 0) return 3;
  if (failuresBefore === 0) return 0;
  return calm.passes < calm.passesNeeded ? 2 : 1;
}

export type RunsAfterRepair = ReturnType<typeof calmSince>;

/** What the runs since a commit say, against all others. */
export function calmSince(history: EnvironmentHistory, ranSince: RunsSince) {
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
  const { before, allPasses } = passing;
  const latest = { runs: before.runs + allPasses, failures: before.failures };
  return passesNeeded(latest) > passesNeeded(all) ? latest : all;
}
