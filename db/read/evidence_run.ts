// Tests: tests/db/write/evidence_test.ts
/** The run whose failures are judged, and which stored runs are of the same upload, pull request or base branch. */
import { MORE_CAUSES } from "../../lib/analysis/failure_causes.ts";
import { knownCauses } from "../../lib/analysis/failure_groups.ts";
import { SelectedTests } from "../../lib/analysis/run.ts";
import type { TestCounts } from "../../lib/analysis/test_counts.ts";
import { codeVersion, isGitId, MIN_ID_LENGTH } from "../../lib/base/commit.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { countsForBase, isOfQueue } from "../../lib/evidence/base_branch.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { loadCausesOfRuns } from "./causes.ts";
import { isFailedWithoutTest, isOfBase, isOfBuild, isRejected } from "./fragments.ts";
import { loadRuns } from "./runs.ts";

/** How far back failures count as seen. */
export const MEMORY_SECONDS = 365 * SECONDS_PER_DAY;

/** Bound of the runs on the base branch that are counted, and of the failures of one test. */
export const MAX_RUNS = 1_000;

/** A run as its tests failed; `""` for what is unknown. */
export interface EvidenceRun {
  /** 24 hex digits; `null` when it is not stored. */
  submissionId: string | null;
  /** As `submission.code_version`; `null` when unknown. */
  code: string | null;
  commitOid: string;
  /** Whether no other submission is of its code version; not given when unknown. */
  isOnlyRun?: boolean;
  environment: string;
  job: string;
  workflow: string;
  shard: string;
  attempt: string;
  buildUrl: string;
  branch: string;
  /** The branch that a merge queue tests for. */
  queueBase?: string | undefined;
  /** The pull request whose change it tests, on its branch or in the merge queue. */
  pullNumber?: number | null | undefined;
  counts: Pick<TestCounts, "ran" | "failed">;
  /** Seconds since 1970: what was recorded later is not known yet. */
  moment: number;
}

/** A test that failed in the run. */
export interface GivenFailure {
  /** `null` for a test that is not stored. */
  testNo: number | null;
  /** Fingerprints of its causes. */
  causes: readonly string[];
  /** Whether an attempt of it in this run passed. */
  hasPassed: boolean;
}

/** What names an upload: one of a known attempt may be in several parts. */
type Upload = Pick<EvidenceRun, "buildUrl" | "job" | "environment" | "shard" | "attempt">;

/** SQL: whether the row `s` of `submission` is this run itself, or an upload with its build, job and attempt. */
export function isOwn(sql: Queryable, run: EvidenceRun) {
  const isSame = hasAttempt(run) ? isUpload(sql, run) : sql`false`;
  return run.submissionId === null
    ? isSame
    : sql`(s.submission_id = decode(${run.submissionId}, 'hex') or ${isSame})`;
}

/** Whether its build and its attempt are known. Where a service counts no attempts, equal uploads are earlier ones. */
function hasAttempt({ buildUrl, attempt }: Upload): boolean {
  return buildUrl !== "" && attempt !== "";
}

/** SQL: whether the row `s` of `submission` is such an upload. An unknown attempt is equal to another one. */
export function isUpload(
  sql: Queryable,
  { buildUrl, job, environment, shard, attempt }: Upload,
) {
  return sql`(s.build_url = ${buildUrl} and s.job = ${job} and s.environment = ${environment}
    and s.shard = ${shard} and s.attempt = ${attempt})`;
}

/** SQL: {@linkcode isUpload}, by the index of builds. */
function isUploadByIndex(sql: Queryable, upload: Upload) {
  return sql`${isOfBuild(sql, [upload.buildUrl])} and ${isUpload(sql, upload)}`;
}

/**
 * The upload of a run that a client asks about, where its attempt is unknown; `null` if it is not stored. It is the
 * latest of its build, job and shard, if that has these failures. Otherwise that is an earlier attempt.
 */
export async function findUploadOf(
  sql: Queryable,
  { repositoryId, run, failures }: {
    repositoryId: number;
    run: EvidenceRun;
    failures: readonly GivenFailure[];
  },
): Promise<string | null> {
  if (run.buildUrl === "" || run.attempt !== "") return null;
  const [latest] = await loadRuns(sql, {
    repositoryId,
    columns: ["code", "results"],
    where: isUploadByIndex(sql, run),
    limit: 1,
  });
  if (!latest || run.code !== null && latest.code !== run.code) return null;
  const { submissionId } = latest;
  const testNos = failures.flatMap(({ testNo }) => testNo ?? []);
  const causes = await loadCausesOfRuns(sql, {
    repositoryId,
    testNos,
    submissionIds: [submissionId],
  });
  const passed = latest.results.passed(new SelectedTests(testNos));
  const hasAll = failures.every(({ testNo, causes: own, hasPassed }) => {
    const stored = causes.get(testNo!)?.get(submissionId);
    return stored !== undefined && passed.has(testNo!) === hasPassed &&
      knownCauses(own).every((cause) => cause === MORE_CAUSES || stored.includes(cause));
  });
  return hasAll ? submissionId : null;
}

/** SQL: whether the row `n` of `negative_result` is not of this run itself. */
export function isOfOther(
  sql: Queryable,
  { repositoryId, run }: { repositoryId: number; run: EvidenceRun },
) {
  const isNotSame = !hasAttempt(run) ? sql`true` : sql`n.submission_id <> all(array(
    select s.submission_id from submission s
    where s.repository_id = ${repositoryId} and ${isUploadByIndex(sql, run)}))`;
  return run.submissionId === null
    ? isNotSame
    : sql`n.submission_id <> decode(${run.submissionId}, 'hex') and ${isNotSame}`;
}

/** SQL: whether the row `s` of `submission` is of the same pull request as the run, perhaps under another branch. */
export function isSamePull(sql: Queryable, { pullNumber = null }: EvidenceRun) {
  return pullNumber === null ? sql`false` : sql`(s.pull_number = ${pullNumber}::bigint) is true`;
}

/** SQL: whether the row `s` of `submission` is of the base branch, neither of the run's own pull request nor rejected. */
export function isOfOtherBase(
  sql: Queryable,
  { repositoryId, run, base }: { repositoryId: number; run: EvidenceRun; base: Patterns },
) {
  const isMerged = countsForBase(run, base) && !isOfQueue(run);
  const merged = isMerged ? run.code ?? "" : "";
  return sql`${isOfBase(sql, base)} and not ${isSamePull(sql, run)}
    and not ${isRejected(sql, { repositoryId, base, merged })}`;
}

/**
 * SQL: whether the row `s` of `submission` is of the code of the run, perhaps of its commit where only one of them has
 * a tree: they prove nothing about each other, and what failed in one did not fail at other code.
 */
export function isSameCode(sql: Queryable, { code, commitOid }: EvidenceRun) {
  const isCode = sql`s.code_version = ${code ?? ""}`;
  if (!isGitId(commitOid)) return sql`(${isCode})`;
  const hasTree = code !== codeVersion({ tree: "", commit: commitOid });
  const id = commitOid.toLowerCase();
  // Each may be abbreviated.
  return sql`(${isCode} or length(s.commit_oid) >= ${MIN_ID_LENGTH}::int
    and left(lower(s.commit_oid), ${id.length}::int) = left(${id}::text, length(s.commit_oid))
    and ${hasTree ? sql`s.tree_oid is null` : sql`true`})`;
}

/** SQL: whether the row `s` of `submission` was recorded in the days before the run. */
export function isBefore(sql: Queryable, { moment }: EvidenceRun, seconds: number) {
  return sql`s.submission_id >= decode(${firstSubmissionId(moment - seconds)}, 'hex')
    and s.submission_id < decode(${firstSubmissionId(moment + 1)}, 'hex')
    and s.status = 'processed'`;
}

/** As {@linkcode isOwn}, of runs of the same job and environment. */
export function isOwnUpload(
  { buildUrl, shard, attempt }: Pick<Upload, "buildUrl" | "shard" | "attempt">,
  run: EvidenceRun,
): boolean {
  return hasAttempt(run) && buildUrl === run.buildUrl && shard === run.shard &&
    attempt === run.attempt;
}

/** Whether the latest upload of a run ended red without a failed test; no run without a build is known. */
export async function loadIsFailedWithoutTest(
  sql: Queryable,
  { repositoryId, ...upload }: Upload & { repositoryId: number },
): Promise<boolean> {
  if (upload.buildUrl === "") return false;
  const [latest] = await sql<{ isRed: boolean }[]>`
    select ${isFailedWithoutTest(sql)} as "isRed" from submission s
    where s.repository_id = ${repositoryId} and ${isUploadByIndex(sql, upload)}
    order by s.submission_id desc limit 1`;
  return latest?.isRed ?? false;
}
