import {
  type AttemptStatus,
  countNonNegative,
  hasStatus,
  negativeConclusions,
  type StoredFailure,
  type TestAttempt,
  testAttempts,
} from "../../lib/analysis/attempts.ts";
import {
  attemptsAt,
  type ResultColumns,
  type ResultCounts,
  resultCountsAt,
} from "../../lib/analysis/columns.ts";
import type { FailureText } from "../../lib/analysis/failure_texts.ts";
import type { RunPosition } from "../../lib/base/cursor.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { ALL_SUBMISSIONS, type SubmissionFilter } from "../../lib/query/submission_filter.ts";
import { idsIn, type Queryable, textsIn } from "../connection/sql.ts";
import { loadTexts } from "./texts.ts";
import { isRecordedSince, isSelected } from "./fragments.ts";
import { loadTestLists } from "./stored_test_lists.ts";

export interface TestRun extends TestAttempt, RunPosition {
  buildUrl: string;
  commitOid: string;
  treeOid: string | null;
  branch: string | null;
  /** `""` when unknown. */
  environment: string;
  /** `null` unless the attempt is negative. */
  text: FailureText | null;
}

/** The code version of a submission in which a test ran. */
export type RunVersion = Pick<
  TestRun,
  "submissionId" | "commitOid" | "treeOid" | "branch" | "environment" | "buildUrl"
>;

interface RunsQuery {
  repositoryId: number;
  testNo: number;
  windowStart: number;
  filter: SubmissionFilter;
  status: AttemptStatus;
  /** The attempt before the page, which need not exist; `null` for the first page. */
  after: RunPosition | null;
  limit: number;
}

/**
 * The attempts of a test in the window, newest first; within a submission, the last in the report first.
 *
 * Attempts have no rows. Whether the test ran in a submission follows from its list and its exceptions;
 * durations, by far the most bytes, are read only for the submissions on the page.
 */
export async function loadTestRuns(
  tx: Queryable,
  query: RunsQuery,
): Promise<TestRun[]> {
  const { repositoryId, status, after, limit } = query;
  const found = await findSubmissions(tx, query);
  const submissionIds = [...found.keys()];
  const [submissions, failures] = await Promise.all([
    selectSubmissions(tx, { repositoryId, submissionIds }),
    selectFailures(tx, { ...query, submissionIds }),
  ]);
  const failuresOf = Map.groupBy(failures, ({ submissionId }) => submissionId);
  const runs = submissions.flatMap(({ durations, durationUnit, exceptions, ...submission }) => {
    const { submissionId } = submission;
    const columns = { durations, durationUnit, exceptions };
    const attempts = attemptsAt(columns, found.get(submissionId)!.index);
    return testAttempts(attempts, failuresOf.get(submissionId) ?? [])
      .filter(({ conclusion }) => hasStatus(conclusion, status))
      .map((attempt) => ({ ...submission, ...attempt }))
      .reverse();
  })
    .filter((run) => after === null || isBefore(run, after))
    .slice(0, limit);
  const textIds = runs.flatMap(({ failure }) => failure?.textId ?? []);
  const texts = await loadTexts(tx, { repositoryId, textIds });
  return runs.map((run) => ({ ...run, text: run.failure && texts.get(run.failure.textId)! }));
}

function isBefore(run: RunPosition, other: RunPosition): boolean {
  if (run.submissionId !== other.submissionId) return run.submissionId < other.submissionId;
  return run.runCount < other.runCount;
}

/** How a test ran in a submission. */
export interface SubmissionRuns extends ResultCounts {
  /** `""` when unknown. */
  branch: string;
  /** `""` when unknown. */
  environment: string;
}

/** How a test ran in each submission of the window, newest first. */
export async function loadSubmissionRuns(
  tx: Queryable,
  query: Pick<RunsQuery, "repositoryId" | "testNo" | "windowStart">,
): Promise<SubmissionRuns[]> {
  const all = { filter: ALL_SUBMISSIONS, status: "all", after: null, limit: Infinity } as const;
  const found = await findSubmissions(tx, { ...query, ...all });
  return [...found.values()];
}

const SUBMISSIONS_PER_STATEMENT = 250;

interface FoundSubmission extends SubmissionRuns {
  /** Index of the test in the list of the submission. */
  index: number;
}

/**
 * The submissions in which the test has attempts with the status: enough for a page. Of the first one,
 * all attempts may be on the page before.
 */
async function findSubmissions(
  tx: Queryable,
  query: RunsQuery,
): Promise<Map<string, FoundSubmission>> {
  const { repositoryId, testNo, status, after, limit } = query;
  const indexes = new Map<number, number>();
  const found = new Map<string, FoundSubmission>();
  let before: string | null = null;
  for (;;) {
    const candidates: CandidateRow[] = await selectCandidates(tx, { ...query, before });
    const unknown = new Set(
      candidates.map(({ testListNo }) => testListNo).filter((no) => !indexes.has(no)),
    );
    if (unknown.size > 0) {
      const lists = await loadTestLists(tx, { repositoryId, testListNos: unknown });
      for (const [testListNo, testNos] of lists) indexes.set(testListNo, testNos.indexOf(testNo));
    }
    for (const { submissionId, testListNo, exceptions, branch, environment } of candidates) {
      const index = indexes.get(testListNo)!;
      if (index === -1) continue;
      const counts = resultCountsAt(exceptions, [index]).get(index)!;
      if (!mayHaveStatus(counts, status)) continue;
      found.set(submissionId, { ...counts, index, branch, environment });
      if (found.size === limit + (after ? 1 : 0)) return found;
    }
    if (candidates.length < SUBMISSIONS_PER_STATEMENT) return found;
    before = candidates.at(-1)!.submissionId;
  }
}

function mayHaveStatus(counts: ResultCounts, status: AttemptStatus): boolean {
  // Submissions without a wanted failure are not candidates when only failures are wanted.
  const negativeCount = negativeConclusions(status).length > 0 ? counts.negative : 0;
  return negativeCount + countNonNegative(counts, status) > 0;
}

interface CandidateRow {
  submissionId: string;
  testListNo: number;
  exceptions: Uint8Array;
  branch: string;
  /** `""` when unknown. */
  environment: string;
}

/** The next submissions that may be on the page, newest first. */
function selectCandidates(
  sql: Queryable,
  { repositoryId, testNo, windowStart, filter, status, after, before }:
    & RunsQuery
    & { before: string | null },
) {
  const firstId = firstSubmissionId(windowStart);
  const onlyFailures = !["all", "skipped", "passed", "unknown"].includes(status);
  return sql<CandidateRow[]>`
    select encode(s.submission_id, 'hex') as "submissionId", s.test_list_no as "testListNo",
      s.exceptions, coalesce(s.branch, '') as branch, s.environment
    from submission s
    where s.repository_id = ${repositoryId} and s.status = 'processed'
      and s.submission_id >= decode(${firstId}, 'hex') and ${isSelected(sql, filter)}
      ${after ? sql`and s.submission_id <= decode(${after.submissionId}, 'hex')` : sql``}
      ${before === null ? sql`` : sql`and s.submission_id < decode(${before}, 'hex')`}
      ${
    onlyFailures
      ? sql`and s.submission_id in (
          select n.submission_id from negative_result n
          where n.repository_id = ${repositoryId} and n.test_no = ${testNo}
            and ${isRecordedSince(sql, firstId)}
            and n.conclusion = any(${textsIn(sql, negativeConclusions(status))}))`
      : sql``
  }
    order by s.submission_id desc
    limit ${SUBMISSIONS_PER_STATEMENT}`;
}

/** Submissions, newest first. */
function selectSubmissions(
  sql: Queryable,
  { repositoryId, submissionIds }: { repositoryId: number; submissionIds: string[] },
) {
  return sql<(RunVersion & ResultColumns)[]>`
    select encode(submission_id, 'hex') as "submissionId", build_url as "buildUrl",
      commit_oid as "commitOid", tree_oid as "treeOid", branch, environment, durations,
      duration_unit as "durationUnit", exceptions
    from submission
    where repository_id = ${repositoryId} and submission_id = any(${idsIn(sql, submissionIds)})
    order by submission_id desc`;
}

/** The failures of a test in some submissions, in the order of the report. */
function selectFailures(
  sql: Queryable,
  { repositoryId, testNo, windowStart, submissionIds }: RunsQuery & { submissionIds: string[] },
) {
  return sql<(StoredFailure & { submissionId: string })[]>`
    select encode(n.submission_id, 'hex') as "submissionId", n.result_no as "resultNo",
      n.conclusion, n.is_disruption as "isDisruption", encode(n.text_id, 'hex') as "textId"
    from negative_result n
    where n.repository_id = ${repositoryId} and n.test_no = ${testNo}
      and ${isRecordedSince(sql, firstSubmissionId(windowStart))}
      and n.submission_id = any(${idsIn(sql, submissionIds)})
    order by n.result_no`;
}
