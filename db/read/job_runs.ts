/** What a run is compared with: earlier runs of its job, and others that failed on a large scale. */
import { MASS_FAILURE } from "../../lib/analysis/test_counts.ts";
import type { Run } from "../../lib/analysis/run.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { isOfBase } from "./fragments.ts";
import { loadRuns } from "./runs.ts";

/** A job of the CI service in an environment, and one of its shards. */
export interface Job {
  job: string;
  environment: string;
  shard: string;
}

/** Tests that ran, and that were only skipped, in a run. */
interface JobRun {
  ranTestCount: number;
  skippedTestCount: number;
}

/** Runs that a run is compared with. */
const COMPARED_RUNS = 10;

/** The last runs of a job on some branches, newest first; none of a job without a name. */
export async function loadJobRuns(
  sql: Queryable,
  { repositoryId, job, environment, shard, base }:
    & Job
    & { repositoryId: number; base: Patterns },
): Promise<JobRun[]> {
  const runs = await loadRuns(sql, {
    repositoryId,
    columns: ["ranTestCount", "skippedTestCount"],
    where: sql`s.job <> '' and s.job = ${job} and s.environment = ${environment}
      and s.shard = ${shard} and s.ran_test_count > 0 and ${isOfBase(sql, base)}`,
    limit: COMPARED_RUNS,
  });
  return runs.map((run) => ({
    ranTestCount: run.ranTestCount!,
    skippedTestCount: run.skippedTestCount!,
  }));
}

/** A run in which so many tests failed that they may have one reason. */
interface MassFailureRun extends Run<"buildUrl" | "environment" | "job"> {
  /** `""` when unknown. */
  branch: string;
  ranTestCount: number;
  failedTestCount: number;
}

/** The mass failures among the runs since a moment, newest first. */
export async function loadMassFailures(
  sql: Queryable,
  { repositoryId, since, limit, notOnBranch = null, onlyOutages = false }: {
    repositoryId: number;
    since: number;
    limit: number;
    /** Runs of this branch are left out; `null` for none. */
    notOnBranch?: string | null;
    /** Leaves out those of one branch alone, whose change is the probable cause. */
    onlyOutages?: boolean;
  },
): Promise<MassFailureRun[]> {
  const runs = await loadRuns(sql, {
    repositoryId,
    columns: ["buildUrl", "branch", "environment", "job", "ranTestCount", "failedTestCount"],
    since,
    where: sql`${isMassFailureRow(sql)}
      ${onlyOutages ? sql`and s.is_outage` : sql``}
      ${notOnBranch ? sql`and s.branch is distinct from ${notOnBranch}` : sql``}`,
    limit,
  });
  return runs.map((run) => ({
    ...run,
    branch: run.branch ?? "",
    ranTestCount: run.ranTestCount!,
    failedTestCount: run.failedTestCount!,
  }));
}

/** SQL: whether the row `s` of `submission` is a mass failure: of an outage, or of one branch alone. */
export function isMassFailureRow(sql: Queryable) {
  return sql`(s.ran_test_count >= ${MASS_FAILURE.minTests}::int
    and s.failed_test_count * 100 > s.ran_test_count * ${MASS_FAILURE.failedPercent}::int)`;
}
