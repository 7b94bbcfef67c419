// Tests: tests/lib/cli/commands/evidence_test.ts tests/routes/test_evidence_test.ts
/** The runs of one test on the base branch. */
import { ImpliedPasses } from "../../lib/analysis/repetition/implied_passes.ts";
import { type Run, SelectedTests } from "../../lib/analysis/run.ts";
import { areSeveral, severalCommits } from "../../lib/base/commit.ts";
import { type Base, basePatterns } from "../../lib/evidence/base_branch.ts";
import { JobRuns, type Stopped } from "../../lib/evidence/stopped.ts";
import { runOutcome } from "../../lib/evidence/outcomes_of_runs.ts";
import type { Repair } from "../../lib/evidence/repair.ts";
import { type HistoryRun, wasAdded } from "../../lib/evidence/test_evidence.ts";
import { MAX_HISTORY_RUNS, retiredEnvironments } from "../../lib/evidence/stop_rule.ts";
import { countedRuns } from "../../lib/evidence/base_runs.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { loadBase } from "./base_branch.ts";
import { isOfBase } from "./fragments.ts";
import { eachRun } from "./runs.ts";
import { loadTestFacts } from "./test_facts.ts";
import { BASE_COLUMNS, MAX_BASE_SUBMISSIONS } from "./base_runs.ts";

const COLUMNS = [...BASE_COLUMNS, "runner"] as const;

type RunOutcome = ReturnType<typeof runOutcome>;

/** A run of the test, and where it ran. */
type BaseRun = HistoryRun & Run<"job" | "shard" | "runner">;

/** How a test ran on the base branch. */
interface TestHistory extends Base {
  /** Oldest first, without outages and without runs in which it was only skipped. */
  runs: BaseRun[];
  /** Those that say how it runs now: without environments in which it stopped while it goes on in others. */
  current: BaseRun[];
  /** `null` when no commit was given, or it has no run on the base branch. */
  repair: Repair | null;
  /** What is wrong with the commit that was given; `null` if it is one commit, or unknown. */
  wrongCommit: string | null;
  /** The last run on the base branch, of any test, in seconds since 1970; 0 without one. */
  latestRunAt: number;
  /** Whether the base branch has runs in an environment from before the first one of the test. */
  wasAdded(environment: string): boolean;
  /** `null` while the test runs. */
  stopped: Stopped | null;
}

/**
 * @param options.commitOid whole or abbreviated, in lower case; `""` for none
 * @param options.laterCommits commits that contain it: if it has no run itself, the first run of one of them
 * counts
 */
export async function loadTestHistory(
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
): Promise<TestHistory> {
  const { base, isBaseNamed } = await loadBase(sql, { repositoryId, now });
  const filter = { branches: null, environments };
  const where = isOfBase(sql, basePatterns(base));
  const selected = new SelectedTests([testNo]);
  const { setUpOf } = await loadTestFacts(sql, { repositoryId, testNos: new Set([testNo]) });
  const implied = new ImpliedPasses([testNo], setUpOf);
  let repair: Repair | null = null;
  const commits = new Set<string>();
  const all: (Run<Exclude<typeof COLUMNS[number], "results">> & { outcome: RunOutcome })[] = [];
  for await (const run of eachRun(sql, { repositoryId, columns: COLUMNS, filter, where })) {
    const { results, ...version } = run;
    const commit = version.commitOid.toLowerCase();
    const isGiven = commitOid !== "" && commit.startsWith(commitOid);
    if (isGiven) commits.add(commit);
    if (isGiven || laterCommits.has(commit)) repair = { commitOid, recordedAt: version.recordedAt };
    let outcome = null as RunOutcome;
    results.each(selected, (_, attempts) => outcome = runOutcome(attempts));
    // A report has a set-up only when it failed.
    if (implied.in(results).length > 0) outcome = { hasFailed: false, hasFailedAtLast: false };
    all.push({ ...version, outcome });
    if (all.length === MAX_BASE_SUBMISSIONS) break;
  }
  const counted = countedRuns(all.reverse());
  const ran = counted.flatMap(({ outcome, ...run }) => outcome ? [{ ...run, ...outcome }] : []);
  const runs = latestOfEach(ran);
  const retired = retiredEnvironments(ran);
  return {
    runs,
    current: runs.filter(({ environment }) => !retired.has(environment)),
    repair,
    wrongCommit: areSeveral(commits) ? severalCommits(commitOid) : null,
    base,
    isBaseNamed,
    latestRunAt: all.at(-1)?.recordedAt ?? 0,
    wasAdded: (environment) =>
      wasAdded(counted, { environment, ranIn: (runNo) => counted[runNo]!.outcome !== null }),
    stopped: new JobRuns(counted).stopOf({
      last: counted.findLastIndex(({ outcome }) => outcome !== null),
      ranIn: (runNo) => counted[runNo]!.outcome !== null,
    }),
  };
}

/** The last 2,000 runs of each environment. */
function latestOfEach(runs: readonly BaseRun[]): BaseRun[] {
  const counts = new Map<string, number>();
  return runs.toReversed().filter(({ environment }) => {
    const count = counts.get(environment) ?? 0;
    counts.set(environment, count + 1);
    return count < MAX_HISTORY_RUNS;
  }).reverse();
}
