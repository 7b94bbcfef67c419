// Tests: tests/routes/build_outcome_test.ts
import { redUploads } from "../../lib/analysis/build_outcome.ts";
import { BLAMES } from "../../lib/evidence/shares.ts";
import { basePatterns } from "../../lib/evidence/base_branch.ts";
import { wholeBuild } from "../../lib/gate/whole_build.ts";
import { usualCounts } from "../../lib/gate/whole_run.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { type BuildFailure, loadBuildFailures } from "./build_failures.ts";
import { type ConclusionsOfTests, loadBuildConclusions } from "./conclusions.ts";
import { loadExpectedShards, loadJobRuns, loadMissingPlaces } from "./job_runs.ts";
import { type BuildPart, loadBuild } from "./submissions.ts";

/** What a build ended with: its page, the API and the tools say this. */
interface BuildOutcome extends ReturnType<typeof wholeBuild> {
  /** Its submissions, newest first. */
  parts: BuildPart[];
  /** Tests that failed at last: of several failures of one the one that is most probably due to the change. */
  failed: BuildFailure[];
  /** Tests that failed, and not at last. */
  retried: BuildFailure[];
  /** Submissions that ended red without a failed test, and were not run again since. */
  red: BuildPart[];
  baseBranch: string;
  /** By submission. */
  conclusions: ReadonlyMap<string, ConclusionsOfTests>;
}

/** What the build of a submission ended with. */
export async function loadBuildOutcome(
  tx: Queryable,
  build: { repositoryId: number; idPrefix: number; submissionId: string; now: number },
): Promise<BuildOutcome> {
  const parts = await loadBuild(tx, build);
  const submissionIds = parts.map(({ submissionId }) => submissionId);
  const [failures, { baseBranch, conclusions }] = await Promise.all([
    loadBuildFailures(tx, { ...build, submissionIds }),
    loadBuildConclusions(tx, { ...build, submissionIds }),
  ]);
  const { repositoryId } = build;
  const whole = await loadWholeness(tx, { repositoryId, parts, base: basePatterns(baseBranch) });
  const rankOf = (testNo: number, submissionId: string) => {
    const blame = conclusions.get(submissionId)?.get(testNo)?.blame;
    return blame ? BLAMES.indexOf(blame) : -1;
  };
  const mostYours = (failure: BuildFailure) => {
    const ranks = new Map(
      failure.failedIn.map((one) => [one, rankOf(failure.testNo, one.submissionId)]),
    );
    const [first] = failure.failedIn.toSorted((a, b) => ranks.get(b)! - ranks.get(a)!);
    return { ...failure, ...first };
  };
  return {
    parts,
    failed: failures.filter(({ failedIn }) => failedIn.length > 0).map(mostYours),
    retried: failures.filter(({ failedIn }) => failedIn.length === 0),
    red: redUploads(parts),
    baseBranch,
    conclusions,
    ...whole,
  };
}

/** Uploads whose jobs are compared with the base branch; whether more of them are whole is not known. */
const MAX_COMPARED = 50;

async function loadWholeness(
  tx: Queryable,
  { repositoryId, parts, base }: {
    repositoryId: number;
    parts: readonly BuildPart[];
    base: Patterns;
  },
) {
  const compared = parts.map(async (part, index) => {
    const { ranTestCount: ran, skippedTestCount: skipped, job, status } = part;
    const isProcessed = status === "processed";
    const isCompared = isProcessed && job !== "" && index < MAX_COMPARED;
    const ofJob = { ...part, repositoryId, base };
    const [runs, places] = isCompared
      ? await Promise.all([loadJobRuns(tx, ofJob), loadMissingPlaces(tx, ofJob)])
      : [[], []];
    return {
      ...part,
      isProcessed,
      counts: ran === null || skipped === null ? null : { ran, skipped },
      earlier: usualCounts(runs),
      places,
    };
  });
  const sharded = parts.filter(({ shard, job }) => shard !== "" && job !== "");
  const jobs = Map.groupBy(sharded, ({ job, environment }) => JSON.stringify([job, environment]));
  const expected = Array.from(jobs.values(), async ([first]) => ({
    job: first!.job,
    environment: first!.environment,
    shards: await loadExpectedShards(tx, { ...first!, repositoryId, base }),
  }));
  return wholeBuild(await Promise.all(compared), await Promise.all(expected));
}
