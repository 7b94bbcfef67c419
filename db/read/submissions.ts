// Tests: tests/lib/cli/transcripts_test.ts tests/routes/submissions_test.ts
import { firstSubmissionId, recordedAtOf } from "../../lib/base/identity.ts";
import type { ReportGaps } from "../../lib/report/report_gaps.ts";
import type { SubmissionFilter } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { hasGaps, isFailedWithoutTest, isSelected } from "./fragments.ts";

export interface SubmissionRow {
  /** 24 hex digits. */
  submissionId: string;
  key: string;
  buildUrl: string;
  commitOid: string;
  /** `""` when unknown. */
  treeOid: string;
  /** `""` when unknown. */
  branch: string;
  /** `""` when unknown. */
  environment: string;
  /** Job of the CI service, `""` when unknown. */
  job: string;
  /** Workflow or pipeline that has the job, `""` when unknown. */
  workflow: string;
  /** Shard of the job, as the CI service names it; `""` when unknown. */
  shard: string;
  /** Attempt of the job in its build, `""` when unknown. */
  attempt: string;
  /** Machine that ran the tests, `""` when unknown. */
  runner: string;
  /** Number of the pull request; `null` when unknown. */
  pullNumber: number | null;
  /** `""` when unknown, as the name of the commit's author. */
  pullTitle: string;
  author: string;
  /** Seconds since 1970. */
  recordedAt: number;
  status: "processing" | "processed" | "failed";
  testResultCount: number;
  /** Tests that passed or failed; `null` until it is processed, or by an earlier version of the program. */
  ranTestCount: number | null;
  /** Tests that were only skipped; `null` as well. */
  skippedTestCount: number | null;
  /** How the command that ran the tests ended; `null` when unknown. */
  exitCode: number | null;
  /** Whether that command failed, although no test did. */
  failedWithoutTest: boolean;
  /** Whether its reports hide tests or failures. */
  hasGaps: boolean;
  /** What was repaired, ignored or left out of the upload. */
  notes: string[];
}

function submissionColumns(sql: Queryable) {
  return sql`encode(s.submission_id, 'hex') as "submissionId", s.key, s.build_url as "buildUrl",
    s.commit_oid as "commitOid", coalesce(s.tree_oid, '') as "treeOid",
    coalesce(s.branch, '') as branch, s.environment, s.job, s.workflow, s.shard, s.attempt,
    s.runner,
    s.pull_number::float8 as "pullNumber", s.pull_title as "pullTitle", s.author,
    extract(epoch from s.recorded_at)::float8 as "recordedAt",
    s.status, s.test_result_count as "testResultCount", s.ran_test_count as "ranTestCount",
    s.skipped_test_count as "skippedTestCount",
    s.exit_code as "exitCode", ${isFailedWithoutTest(sql)} as "failedWithoutTest",
    ${hasGaps(sql)} as "hasGaps", array_to_json(s.notes) as notes`;
}

/**
 * The submissions of the window that count and are older than the one with the id `after`,
 * which need not exist; `null` for the newest.
 */
export async function loadSubmissionsPage(sql: Queryable, options: {
  repositoryId: number;
  windowStart: number;
  filter: SubmissionFilter;
  after: string | null;
  limit: number;
}): Promise<{ count: number; submissions: SubmissionRow[] }> {
  const { repositoryId, windowStart, filter, after, limit } = options;
  const inWindow = sql`s.repository_id = ${repositoryId}
    and s.submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex')
    and ${isSelected(sql, filter)}`;
  // An outer join: the count is returned even when the page is empty.
  type Row = { count: number } & (SubmissionRow | { submissionId: null });
  const rows = await sql<Row[]>`
    select total.count, page.*
    from (select count(*)::float8 as count from submission s where ${inWindow}) total
    left join (
      select ${submissionColumns(sql)}
      from submission s
      where ${inWindow}
        ${after === null ? sql`` : sql`and s.submission_id < decode(${after}, 'hex')`}
      order by s.submission_id desc
      limit ${limit}
    ) page on true
    order by page."submissionId" desc`;
  return {
    count: rows[0]!.count,
    submissions: rows.map(({ count: _count, ...page }) => page)
      .filter((page) => page.submissionId !== null),
  };
}

/** A submission as the command line lists it. */
export interface StoredSubmission extends SubmissionRow {
  /** Seconds since 1970. */
  uploadedAt: number;
}

/** All submissions of a repository, newest first, also those before the window. */
export async function listStoredSubmissions(
  sql: Queryable,
  repositoryId: number,
): Promise<StoredSubmission[]> {
  return await sql<StoredSubmission[]>`
    select ${submissionColumns(sql)}, extract(epoch from s.uploaded_at)::float8 as "uploadedAt"
    from submission s
    where s.repository_id = ${repositoryId}
    order by s.submission_id desc`;
}

/** A submission of a build. */
export interface BuildPart extends SubmissionRow {
  /** Tests with a failure or error. */
  failedTestCount: number;
  /** Whether its failures are an outage, which other branches had too. */
  isOutage: boolean;
  /** What its reports hide; `null` when unknown. */
  gaps: ReportGaps | null;
}

/**
 * The latest submission of a CI run, or the one with a key: its id, `null` when there is none.
 *
 * @param options.buildUrl `""` for none, as `key`
 */
export async function loadBuildOfRun(
  sql: Queryable,
  { repositoryId, buildUrl, key }: { repositoryId: number; buildUrl: string; key: string },
): Promise<string | null> {
  const [row] = await sql<{ id: string }[]>`
    select encode(s.submission_id, 'hex') as id
    from submission s
    where s.repository_id = ${repositoryId}
      and (s.build_url <> '' and md5(s.build_url) = md5(${buildUrl}) and s.build_url = ${buildUrl}
        or s.key = ${key})
    order by s.submission_id desc
    limit 1`;
  return row?.id ?? null;
}

/**
 * The submissions of the build that a submission belongs to, newest first: those with its build URL and its commit,
 * however much later a job was run again, or within a day of it; that one alone without a URL. An address that is
 * the same in each run of CI, which is a mistake of its configuration, does not make all of them one page.
 */
export async function loadBuild(
  sql: Queryable,
  { repositoryId, submissionId }: { repositoryId: number; submissionId: string },
): Promise<BuildPart[]> {
  const recordedAt = recordedAtOf(submissionId);
  return await sql<BuildPart[]>`
    select ${submissionColumns(sql)},
      (select count(distinct n.test_no)::int from negative_result n
        where n.repository_id = ${repositoryId} and n.submission_id = s.submission_id
      ) as "failedTestCount", s.is_outage as "isOutage",
      case when s.empty_report_count is not null then json_build_object(
        'cutOffReportCount', s.cut_off_report_count, 'unlistedSuiteCount', s.unlisted_suite_count,
        'outsideFailureCount', s.outside_failure_count, 'emptyReportCount', s.empty_report_count
      ) end as gaps
    from submission o
    join submission s on s.repository_id = o.repository_id
      and (s.submission_id = o.submission_id
        or s.build_url <> '' and md5(s.build_url) = md5(o.build_url) and s.build_url = o.build_url
          and (s.commit_oid = o.commit_oid
            or s.submission_id >= decode(${firstSubmissionId(recordedAt - SECONDS_PER_DAY)}, 'hex')
              and s.submission_id < decode(${
    firstSubmissionId(recordedAt + SECONDS_PER_DAY)
  }, 'hex')))
    where o.repository_id = ${repositoryId} and o.submission_id = decode(${submissionId}, 'hex')
    order by s.submission_id desc`;
}
