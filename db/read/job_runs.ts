/** What a run is compared with: earlier runs of its job, and others that failed on a large scale. */
import { OUTAGE } from "../../lib/analysis/test_counts.ts";
import { firstSubmissionId, recordedAtOf } from "../../lib/base/identity.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { isOnBranch } from "./fragments.ts";

/** A job of the CI service in an environment, and one of its shards. */
export interface Job {
  job: string;
  environment: string;
  shard: string;
}

/** Tests that ran, and that were only skipped, in a submission. */
export interface JobRun {
  ranTestCount: number;
  skippedTestCount: number;
}

/** Submissions that a run is compared with. */
const COMPARED_RUNS = 10;

/** The last submissions of a job on some branches, newest first; none of a job without a name. */
export async function loadJobRuns(
  sql: Queryable,
  { repositoryId, job, environment, shard, base }:
    & Job
    & { repositoryId: number; base: Patterns },
): Promise<JobRun[]> {
  return await sql<JobRun[]>`
    select s.ran_test_count as "ranTestCount", s.skipped_test_count as "skippedTestCount"
    from submission s
    where s.repository_id = ${repositoryId} and s.job <> '' and s.job = ${job}
      and s.environment = ${environment} and s.shard = ${shard}
      and s.status = 'processed' and s.ran_test_count > 0 and ${isOnBranch(sql, base)}
    order by s.submission_id desc
    limit ${COMPARED_RUNS}`;
}

/** A submission in which most tests may have failed for one reason. */
export interface OutageRun {
  /** 24 hex digits. */
  submissionId: string;
  /** Seconds since 1970. */
  recordedAt: number;
  /** `""` when unknown, as branch, environment and job. */
  buildUrl: string;
  branch: string;
  environment: string;
  job: string;
  ranTestCount: number;
  failedTestCount: number;
}

/** The outages among the submissions since a moment, newest first. */
export async function loadOutageRuns(
  sql: Queryable,
  { repositoryId, since, limit }: { repositoryId: number; since: number; limit: number },
): Promise<OutageRun[]> {
  const rows = await sql<Omit<OutageRun, "recordedAt">[]>`
    select encode(s.submission_id, 'hex') as "submissionId", s.build_url as "buildUrl",
      coalesce(s.branch, '') as branch, s.environment, s.job,
      s.ran_test_count as "ranTestCount", s.failed_test_count as "failedTestCount"
    from submission s
    where s.repository_id = ${repositoryId}
      and s.submission_id >= decode(${firstSubmissionId(since)}, 'hex')
      and s.status = 'processed' and ${isOutageRow(sql)}
    order by s.submission_id desc
    limit ${limit}`;
  return rows.map((run) => ({ ...run, recordedAt: recordedAtOf(run.submissionId) }));
}

/** SQL: whether the row `s` of `submission` is an outage. */
export function isOutageRow(sql: Queryable) {
  return sql`(s.ran_test_count >= ${OUTAGE.minTests}::int
    and s.failed_test_count * 100 > s.ran_test_count * ${OUTAGE.failedPercent}::int)`;
}
