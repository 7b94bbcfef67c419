// Tests: tests/db/write/store_submission_test.ts
/** Rows of submissions. One whose archive is being processed or has failed is listed, without results. */
import type { SubmissionContent } from "../../lib/analysis/submission_content.ts";
import { countTests, hasFailedAfterPass } from "../../lib/analysis/test_counts.ts";
import { keyedSubmissionId } from "../../lib/base/identity.ts";
import type { ReportGaps } from "../../lib/report/report_gaps.ts";
import { arrayOf, type Queryable, textArray } from "../connection/sql.ts";
import { codeVersionOf } from "../read/fragments.ts";
import { bumpForAddition, type LockedRepository } from "./repository_row.ts";

/** The facts of a submission before its reports are read. */
export interface SubmissionHead {
  repositoryId: number;
  key: string;
  /** Seconds since 1970: the time of every result. */
  recordedAt: number;
  /** Seconds since 1970. */
  uploadedAt: number;
  /** `""` when there is none. */
  buildUrl: string;
  commitOid: string;
  treeOid: string | null;
  branch: string | null;
  /** What results depend on in addition to the code: operating system, runtime, browser; `""` when unknown. */
  environment?: string;
  /** Job of the CI service, `""` when unknown. */
  job?: string;
  /** Workflow or pipeline that has the job, `""` when unknown. */
  workflow?: string;
  /** Shard of the job, as the CI service names it; `""` when unknown. */
  shard?: string;
  /** Attempt of the job in its build, counted from 1; `""` when unknown. */
  attempt?: string;
  /** Machine that ran the tests, `""` when unknown. */
  runner?: string;
  /** Number of the pull request; `null` when unknown. */
  pullNumber?: number | null;
  /** `""` when unknown, as the name of the commit's author. */
  pullTitle?: string;
  author?: string;
  /** The branch that a merge queue tests for, `""` when it does not. */
  queueBase?: string;
  /** How the command that ran the tests ended; `null` when unknown. */
  exitCode?: number | null;
  /** What the reports hide; `null` when unknown. */
  gaps?: ReportGaps | null;
  /** Tags of every test. */
  tags: string[];
  /** What was repaired, ignored or left out. */
  notes?: string[];
}

/**
 * Inserts the row of a submission, `processing` without results, with the data version that the caller has
 * incremented. Returns its code version; `undefined` when a submission has its key.
 */
export async function insertSubmission(
  tx: Queryable,
  facts: SubmissionHead & { id: string; dataVersion: number },
  results: {
    content: SubmissionContent;
    digest: string;
    testListNo: number;
    testTagDigest: string | null;
    ambiguousTestNos: readonly number[];
    overheads: Uint8Array;
  } | null,
): Promise<string | undefined> {
  const content = results?.content;
  const counts = content && countTests(content.exceptions, content.testHashes.length);
  const { gaps = null } = facts;
  const [row] = await tx<{ codeVersion: string }[]>`
    insert into submission as s (repository_id, submission_id, recorded_at, uploaded_at, status, key,
      build_url, commit_oid, tree_oid, branch, environment, job, workflow, shard, attempt, runner,
      pull_number, pull_title, author, queue_base, exit_code, tags, upload_digest,
      test_result_count, ran_test_count, skipped_test_count, failed_test_count, test_list_no,
      test_tag_digest, durations, duration_unit, exceptions, notes, ambiguous_test_nos,
      overheads, data_version, cut_off_report_count, unlisted_suite_count, outside_failure_count,
      empty_report_count, failed_after_pass)
    values (${facts.repositoryId}, decode(${facts.id}, 'hex'), to_timestamp(${facts.recordedAt}),
      to_timestamp(${facts.uploadedAt}), ${results ? "processed" : "processing"}, ${facts.key},
      ${facts.buildUrl}, ${facts.commitOid}, ${facts.treeOid}, ${facts.branch},
      ${facts.environment ?? ""}, ${facts.job ?? ""}, ${facts.workflow ?? ""},
      ${facts.shard ?? ""}, ${facts.attempt ?? ""}, ${facts.runner ?? ""}, ${
    facts.pullNumber ?? null
  }::bigint,
      ${facts.pullTitle ?? ""}, ${facts.author ?? ""}, ${facts.queueBase ?? ""},
      ${facts.exitCode ?? null}::int,
      ${textArray(facts.tags)}::text[], decode(${results?.digest ?? null}::text, 'hex'),
      ${content?.resultCount ?? 0}, ${counts?.ran ?? null}::int, ${counts?.skipped ?? null}::int,
      ${counts?.failed ?? null}::int, ${results?.testListNo ?? null}::int,
      decode(${results?.testTagDigest ?? null}::text, 'hex'), ${content?.durations ?? null}::bytea,
      ${content?.durationUnit ?? null}::int, ${content?.exceptions ?? null}::bytea,
      ${textArray(facts.notes ?? [])}::text[],
      ${arrayOf(results?.ambiguousTestNos ?? [])}::text::int[],
      ${results?.overheads ?? new Uint8Array()}::bytea, ${facts.dataVersion},
      ${gaps && gaps.cutOffReportCount}::int, ${gaps && gaps.unlistedSuiteCount}::int,
      ${gaps && gaps.outsideFailureCount}::int, ${gaps && gaps.emptyReportCount}::int,
      ${content !== undefined && hasFailedAfterPass(content.exceptions)})
    on conflict do nothing
    returning ${codeVersionOf(tx)} as "codeVersion"`;
  return row?.codeVersion;
}

/** How a submission stands to the others. */
interface PlaceOfRun {
  /** Whether it is the only one of its code version, as most are. */
  isOnlyRun: boolean;
  /** Whether no later one is of its branch, environment, job and workflow. */
  isLatest: boolean;
}

/**
 * The place of a submission that was inserted. The code version is no parameter: this is sent together with the
 * insertion that computes it. It is not part of that statement, because Citus allows no subquery in an insertion.
 * @throws {Error} if it is not inserted
 */
export async function placeOfRun(
  tx: Queryable,
  { repositoryId, submissionId }: { repositoryId: number; submissionId: string },
): Promise<PlaceOfRun> {
  const isOther = tx`s.repository_id = ${repositoryId} and s.status = 'processed'
    and s.environment = o.environment and s.job = o.job and s.workflow = o.workflow`;
  const [row] = await tx<PlaceOfRun[]>`
    select not exists (
        select 1 from submission s
        where ${isOther} and s.code_version = o.code_version and s.submission_id <> o.submission_id
      ) as "isOnlyRun",
      not exists (
        select 1 from submission s
        where ${isOther} and s.branch = o.branch and s.submission_id > o.submission_id
      ) as "isLatest"
    from submission o
    where o.repository_id = ${repositoryId} and o.submission_id = decode(${submissionId}, 'hex')`;
  if (!row) throw new Error(`submission ${submissionId} is not stored`);
  return row;
}

/** Adds a note to a submission that was inserted. */
export async function addNote(
  tx: Queryable,
  { repositoryId, submissionId, note }: {
    repositoryId: number;
    submissionId: string;
    note: string;
  },
): Promise<void> {
  await tx`
    update submission set notes = array_append(notes, ${note}::text)
    where repository_id = ${repositoryId} and submission_id = decode(${submissionId}, 'hex')`;
}

/** Shows an archive as `processing` in its repository. One that was processed before stays as it is. */
export async function showProcessing(
  tx: Queryable,
  { idPrefix }: LockedRepository,
  facts: SubmissionHead,
): Promise<void> {
  await removeUnprocessed(tx, facts);
  const id = keyedSubmissionId({ ...facts, idPrefix });
  const dataVersion = await bumpForAddition(tx, facts.repositoryId);
  await insertSubmission(tx, { ...facts, id, dataVersion }, null);
}

/** Shows an archive that was `processing` as `failed`. */
export async function showFailed(
  tx: Queryable,
  { repositoryId, key }: Pick<SubmissionHead, "repositoryId" | "key">,
): Promise<void> {
  const dataVersion = await bumpForAddition(tx, repositoryId);
  await tx`
    update submission set status = 'failed', data_version = ${dataVersion}
    where repository_id = ${repositoryId} and key = ${key} and status = 'processing'`;
}

/** Removes the submission of an archive that has not been processed. */
export async function removeUnprocessed(
  tx: Queryable,
  { repositoryId, key }: Pick<SubmissionHead, "repositoryId" | "key">,
): Promise<void> {
  const { count } = await tx`
    delete from submission
    where repository_id = ${repositoryId} and key = ${key} and status <> 'processed'`;
  if (count > 0) await bumpForAddition(tx, repositoryId);
}
