import { MASS_FAILURE } from "../../lib/analysis/test_counts.ts";
import { MERGE_QUEUE } from "../../lib/ci/merge_queue.ts";
import type { Patterns, SubmissionFilter } from "../../lib/query/submission_filter.ts";
import { arrayOf, type Fragment, type Queryable, textsIn } from "../connection/sql.ts";

/** SQL: the week of the row `n` of `negative_result`, as its index by test has it. */
export function weekOfNegative(sql: Queryable) {
  return sql`get_byte(n.submission_id, 0) * 32 + get_byte(n.submission_id, 1) / 8`;
}

/**
 * SQL: whether the row `n` of `negative_result`, a failure of a given test, has at least this id.
 * The index is searched by week; the id filters the first week.
 */
export function isRecordedSince(sql: Queryable, firstId: string) {
  const week = Math.floor(parseInt(firstId.slice(0, 4), 16) / 8);
  return sql`(${weekOfNegative(sql)}) >= ${week}::int
    and n.submission_id >= decode(${firstId}, 'hex')`;
}

/**
 * SQL: names the repositories in a look-up whose column is compared with one of them already. Of one repository
 * Citus asks its worker alone, and the planner keeps the plan. Of several `is true` has each look-up search the
 * index for its own repository, not for every one.
 */
export function isOneOf(sql: Queryable, column: Fragment, repositoryIds: readonly number[]) {
  return repositoryIds.length === 1
    ? sql`${column} = ${repositoryIds[0]!}`
    : sql`(${column} = any(${arrayOf(repositoryIds)}::bigint[])) is true`;
}

/** SQL: whether the row `s` of `submission` counts. */
export function isSelected(sql: Queryable, { branches, environments }: SubmissionFilter) {
  if (environments === null) return isOnBranch(sql, branches);
  // Unknown ones match no pattern.
  return sql`${isOnBranch(sql, branches)} and s.environment <> ''
    and s.environment like any(${textsIn(sql, likePatterns(environments))})`;
}

/** SQL: whether the row `s` of `submission` is on one of the branches. */
function isOnBranch(sql: Queryable, branches: Patterns) {
  if (branches === null) return sql`true`;
  return sql`s.branch like any(${textsIn(sql, likePatterns(branches))})`;
}

/** SQL: whether the row `s` of `submission` is on one of the base branches, or of a merge queue for one. */
export function isOfBase(sql: Queryable, base: Patterns) {
  if (base === null) return sql`true`;
  const patterns = () => textsIn(sql, likePatterns(base));
  // An unknown `queue_base` is `''`, which `*` would fit.
  return sql`coalesce(s.branch like any(${patterns()})
    or s.queue_base like any(${patterns()}) and s.queue_base <> '', false)`;
}

/**
 * SQL: the branch of the row `s` of `submission`, or the one that a merge queue tests for, with the literal pattern that
 * its index has: `mergeQueueOf` of `lib/ci/merge_queue.ts`.
 */
export function branchTestedFor(sql: Queryable) {
  return sql`(coalesce(nullif(s.queue_base, ''),
    substring(s.branch from '^gh-readonly-queue/(.+)/pr-[^/]+$'), s.branch))`;
}

const QUEUE_BRANCHES = `${MERGE_QUEUE}%`;

/**
 * SQL: whether the row `s` of `submission` is a change that the merge queue for one of the base branches rejected: a
 * failed run of code that never ran on the branch itself.
 *
 * @param merged code that runs there now
 */
export function isRejected(
  sql: Queryable,
  { repositoryId, base, merged }: { repositoryId: number; base: Patterns; merged: string },
) {
  return sql`(s.failed_test_count > 0
    and (s.queue_base <> '' or coalesce(s.branch like ${QUEUE_BRANCHES}, false))
    and s.code_version <> ${merged} and not exists (
      select true from submission b
      where b.repository_id = ${repositoryId} and b.code_version = s.code_version
        and b.branch like any(${textsIn(sql, likePatterns(base ?? ["*"]))})
        and b.branch not like ${QUEUE_BRANCHES} and b.queue_base = ''))`;
}

/** SQL: whether the command behind the row `s` of `submission` failed, although no test did. */
export function isFailedWithoutTest(sql: Queryable) {
  return sql`(s.status = 'processed' and coalesce(s.exit_code, 0) <> 0
    and coalesce(s.failed_test_count, 0) = 0)`;
}

/** SQL: whether the reports of the row `s` of `submission` hide tests or failures; false when unknown. */
export function hasGaps(sql: Queryable) {
  return sql`coalesce(
    s.cut_off_report_count + s.unlisted_suite_count + s.outside_failure_count > 0, false)`;
}

/** SQL: whether the row `s` of `submission` is a mass failure: of an outage, or of one change alone. */
export function isMassFailureRow(sql: Queryable) {
  return sql`(s.ran_test_count >= ${MASS_FAILURE.minTests}::int
    and s.failed_test_count * 100 > s.ran_test_count * ${MASS_FAILURE.failedPercent}::int)`;
}

/** SQL: whether the row `s` of `submission` is of one of the jobs. */
export function isOfJob(sql: Queryable, jobs: Patterns) {
  if (jobs === null) return sql`true`;
  return sql`s.job <> '' and s.job like any(${textsIn(sql, likePatterns(jobs))})`;
}

function likePatterns(patterns: readonly string[]): string[] {
  return patterns
    // Stored text has neither NUL nor unpaired surrogates.
    .filter((pattern) => !pattern.includes("\0") && pattern.isWellFormed())
    .map((pattern) => pattern.replaceAll(/[\\%_]/g, "\\$&").replaceAll("*", "%"));
}

/** SQL: the code version of the row `s` of `submission`: its code in its environment, job and workflow. */
export function codeVersionOf(sql: Queryable) {
  return sql`(s.code_version || ' ' || s.environment || chr(10) || s.job || chr(10) || s.workflow)`;
}

/** The code of a code version, as `submission.code_version`. */
export function codeOf(codeVersion: string): string {
  return codeVersion.slice(0, codeVersion.indexOf(" "));
}

/** SQL: whether the row `t` of `test` has one of the hashes, or would have one with a file, or without. */
export function hasHash(sql: Queryable, testHashes: readonly number[]) {
  const hashes = () => sql`array(select unnest(${arrayOf(testHashes)}::text::bigint[]))`;
  return sql`(t.test_hash = any(${hashes()}) or t.alias_hash = any(${hashes()}))`;
}

/** SQL: whether the row `s` of `submission` is of one of the code versions. The index has the code. */
export function hasCodeVersion(sql: Queryable, codeVersions: readonly string[]) {
  const codes = codeVersions.map(codeOf);
  return sql`s.code_version = any(${textsIn(sql, codes)})
    and ${codeVersionOf(sql)} = any(${textsIn(sql, [...codeVersions])})`;
}

/** SQL: whether the row `s` of `submission` is of one of the builds, by their index. */
export function isOfBuild(sql: Queryable, buildUrls: readonly string[]) {
  const urls = () => textsIn(sql, [...buildUrls]);
  return sql`s.build_url <> '' and s.build_url = any(${urls()})
    and md5(s.build_url) = any(array(select md5(url) from unnest(${urls()}) url))`;
}

/** SQL: the key of the build of the row `s` of `submission`. */
export function buildKeyOf(sql: Queryable) {
  return sql`(case s.build_url when '' then 'id:' || encode(s.submission_id, 'hex')
    else 'url:' || s.build_url end collate "C")`;
}

/** SQL: whether the row `q` of `quarantine` has not ended at a moment, in seconds since 1970. */
export function isActive(sql: Queryable, now: number) {
  return sql`(q.quarantine_expires_at > to_timestamp(${now}::float8)) is not false`;
}

/** SQL: the columns of a `Quarantine` from `quarantine` q. */
export function quarantineColumns(sql: Queryable) {
  return sql`extract(epoch from q.quarantined_at)::float8 as "quarantinedAt",
    q.quarantined_by as "quarantinedBy", q.quarantine_type as "quarantineType",
    q.quarantine_reason as "quarantineReason", q.quarantine_owner as "quarantineOwner",
    extract(epoch from q.quarantine_expires_at)::float8 as "quarantineExpiresAt",
    q.quarantine_environment as "quarantineEnvironment"`;
}

/** Seconds of a period: those of which submission ids have the same first two bytes. */
export const PERIOD_SECONDS = 2 ** 16;

/** SQL: the period of `submission_id`, in which `truth_count` counts. */
export function periodOf(sql: Queryable) {
  return sql`(get_byte(submission_id, 0) * 256 + get_byte(submission_id, 1))`;
}

/** SQL: whether a row of `failure_evidence` counts: a repeat of a failure at its code version does not. */
export function countsOnce(sql: Queryable) {
  return sql`(not is_repeat)`;
}

/** SQL: whether a row of `failure_evidence` is one of those that shares count: of known truth, and of no outage. */
export function countsInShare(sql: Queryable) {
  return sql`(${countsOnce(sql)} and truth is not null and evidence <> 'outage')`;
}
