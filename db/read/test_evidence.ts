// Tests: tests/lib/cli/commands/evidence_test.ts tests/routes/test_evidence_test.ts
/** The runs of one test on the base branch. */
import { ImpliedPasses } from "../../lib/analysis/repetition/implied_passes.ts";
import { type Run, SelectedTests } from "../../lib/analysis/run.ts";
import { areSeveral, severalCommits } from "../../lib/base/commit.ts";
import { basePatterns } from "../../lib/evidence/base_branch.ts";
import { STOPPED_RUNS } from "../../lib/evidence/states.ts";
import { jobKeyOf, retiredEnvironments, stopIn } from "../../lib/evidence/stopped.ts";
import {
  type HistoryRun,
  MAX_HISTORY_RUNS,
  type Repair,
  runOutcome,
  type Stopped,
} from "../../lib/evidence/test_evidence.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { loadBaseBranch } from "./base_branch.ts";
import { isOfBase } from "./fragments.ts";
import { eachRun } from "./runs.ts";
import { loadTestFacts } from "./test_facts.ts";
import { MAX_BASE_SUBMISSIONS } from "./test_states.ts";

const COLUMNS = [
  "commitOid",
  "treeOid",
  "code",
  "environment",
  "job",
  "shard",
  "runner",
  "isOutage",
  "results",
] as const;

/** A run of the test, and where it ran. */
type BaseRun = HistoryRun & Run<"job" | "shard" | "runner">;

/** How a test ran on the base branch. */
interface BaseHistory {
  /** Oldest first, without outages and without runs in which it was only skipped. */
  runs: BaseRun[];
  /** Those that say how it runs now: without environments in which it stopped while it goes on in others. */
  current: BaseRun[];
  /** `null` when no commit was given, or it has no run on the base branch. */
  repair: Repair | null;
  /** What is wrong with the commit that was given; `null` if it is one commit, or unknown. */
  wrongCommit: string | null;
  base: string;
  /** Seconds since 1970, by environment: the oldest run on the base branch that counts, with the test or without. */
  firstRecordedAt: Map<string, number>;
  /** `null` while the test runs. */
  stopped: Stopped | null;
}

/**
 * @param options.commitOid whole or abbreviated, in lower case; `""` for none
 * @param options.laterCommits commits that contain it: if it has no run itself, the first run of one of them
 * counts
 */
export async function loadBaseHistory(
  sql: Queryable,
  { repositoryId, testNo, now, environments, commitOid, laterCommits = new Set() }: {
    repositoryId: number;
    testNo: number;
    /** Seconds since 1970. */
    now: number;
    environments: Patterns;
    commitOid: string;
    laterCommits?: ReadonlySet<string>;
  },
): Promise<BaseHistory> {
  const base = await loadBaseBranch(sql, { repositoryId, now });
  const filter = { branches: null, environments };
  const where = isOfBase(sql, basePatterns(base));
  const selected = new SelectedTests([testNo]);
  const { setUpOf } = await loadTestFacts(sql, { repositoryId, testNos: new Set([testNo]) });
  const implied = new ImpliedPasses([testNo], setUpOf);
  const runs: BaseRun[] = [];
  const counts = new Map<string, number>();
  const firstRecordedAt = new Map<string, number>();
  let repair: Repair | null = null;
  const commits = new Set<string>();
  // The newest come first.
  const turns: Turn[] = [];
  let submissions = 0;
  for await (const run of eachRun(sql, { repositoryId, columns: COLUMNS, filter, where })) {
    const { results, isOutage, ...version } = run;
    const count = counts.get(version.environment) ?? 0;
    if (count < MAX_HISTORY_RUNS) firstRecordedAt.set(version.environment, version.recordedAt);
    const commit = version.commitOid.toLowerCase();
    const isGiven = commitOid !== "" && commit.startsWith(commitOid);
    if (isGiven) commits.add(commit);
    if (isGiven || laterCommits.has(commit)) repair = { commitOid, recordedAt: version.recordedAt };
    if (!isOutage) {
      let outcome = null as ReturnType<typeof runOutcome>;
      results.each(selected, (_, attempts) => outcome = runOutcome(attempts));
      // A report has a set-up only when it failed.
      if (implied.in(results).length > 0) outcome = { hasFailed: false, hasFailedAtLast: false };
      turns.push({ ran: outcome !== null, run: version });
      if (outcome && count < MAX_HISTORY_RUNS) {
        counts.set(version.environment, count + 1);
        runs.push({ ...version, ...outcome });
      }
    }
    if (++submissions === MAX_BASE_SUBMISSIONS) break;
  }
  runs.reverse();
  turns.reverse();
  const retired = retiredEnvironments(
    turns.filter(({ ran }) => ran).map(({ run: { environment } }) => environment),
  );
  return {
    runs,
    current: runs.filter(({ environment }) => !retired.has(environment)),
    repair,
    wrongCommit: areSeveral(commits) ? severalCommits(commitOid) : null,
    base,
    firstRecordedAt,
    stopped: stoppedOf(turns),
  };
}

/** A run on the base branch, and whether the test ran in it. */
interface Turn {
  ran: boolean;
  run: Run<"job" | "environment" | "shard">;
}

/** @param turns oldest first */
function stoppedOf(turns: readonly Turn[]): Stopped | null {
  const place = turns.findLastIndex(({ ran }) => ran);
  // Nearly all tests are in the latest runs.
  if (place < 0 || turns.length - place <= STOPPED_RUNS) return null;
  const last = turns[place]!;
  const key = jobKeyOf(last.run);
  const own = turns.filter(({ run }) => jobKeyOf(run) === key);
  if (stopIn(own.map(({ ran }) => ran)) === null) return null;
  return {
    lastRunAt: last.run.recordedAt,
    jobRuns: own.length - 1 - own.indexOf(last),
  };
}
