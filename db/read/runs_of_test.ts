// Tests: tests/db/read/base_branch_test.ts tests/db/read/tracked_tests_test.ts
import {
  type AttemptStatus,
  hasStatus,
  isBefore,
  mayHaveStatus,
  negativeConclusions,
  type StoredFailure,
  type TestAttempt,
  testAttempts,
} from "../../lib/analysis/attempts.ts";
import type { ResultCounts } from "../../lib/analysis/columns.ts";
import type { FailureText } from "../../lib/analysis/failure_texts.ts";
import type { Run } from "../../lib/analysis/run.ts";
import type { RunPosition } from "../../lib/base/cursor.ts";
import { firstSubmissionId, recordedAtOf } from "../../lib/base/identity.ts";
import type { SubmissionFilter } from "../../lib/query/submission_filter.ts";
import { idsIn, type Queryable, textsIn } from "../connection/sql.ts";
import { isRecordedSince, weekOfNegative } from "./fragments.ts";
import { eachRun, withDurations } from "./runs.ts";
import { loadTexts } from "./texts.ts";

const VERSION_COLUMNS = ["commitOid", "treeOid", "branch", "environment", "buildUrl"] as const;

/** The code version of a run. */
type RunVersion = Run<typeof VERSION_COLUMNS[number]>;

/** An attempt of a test in a run. */
export interface TestRun extends TestAttempt, RunVersion {
  /** `null` unless the attempt is negative. */
  text: FailureText | null;
}

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
 * The attempts of a test in the window, newest first; within a run, the last in the report first.
 *
 * Attempts have no rows. Whether the test ran in a submission follows from its list and its exceptions;
 * durations, by far the most bytes, are read only for the runs on the page.
 */
export async function loadTestRuns(tx: Queryable, query: RunsQuery): Promise<TestRun[]> {
  const { repositoryId, testNo, status, after, limit } = query;
  const runs = await findRuns(tx, query);
  const submissionIds = runs.map(({ submissionId }) => submissionId);
  const [timedRuns, failures] = await Promise.all([
    Array.fromAsync(withDurations(tx, { repositoryId, runs })),
    selectFailures(tx, { ...query, submissionIds }),
  ]);
  const failuresOf = Map.groupBy(failures, ({ submissionId }) => submissionId);
  const page = timedRuns.flatMap(({ tests: _, results, durations, ...version }) => {
    const failures = failuresOf.get(version.submissionId) ?? [];
    return testAttempts(results.attempts(testNo, durations), failures)
      .filter(({ conclusion }) => hasStatus(conclusion, status))
      .map((attempt) => ({ ...version, ...attempt }))
      .reverse();
  })
    .filter((run) => after === null || isBefore(run, after))
    .slice(0, limit);
  const textIds = page.flatMap(({ failure }) => failure?.textId ?? []);
  const texts = await loadTexts(tx, { repositoryId, textIds });
  return page.map((run) => ({ ...run, text: run.failure && texts.get(run.failure.textId)! }));
}

/** The runs in which the test has attempts with the status: enough for a page. */
async function findRuns(tx: Queryable, query: RunsQuery) {
  const { repositoryId, testNo, windowStart, filter, status, after, limit } = query;
  const onlyFailures = !["all", "skipped", "passed", "unknown"].includes(status);
  const hasFailure = tx`s.submission_id in (
    select n.submission_id from negative_result n
    where n.repository_id = ${repositoryId} and n.test_no = ${testNo}
      and ${isRecordedSince(tx, firstSubmissionId(windowStart))}
      and n.conclusion = any(${textsIn(tx, negativeConclusions(status))}))`;
  const runs: Run<typeof VERSION_COLUMNS[number] | "tests" | "results">[] = [];
  const candidates = eachRun(tx, {
    repositoryId,
    columns: [...VERSION_COLUMNS, "tests", "results"],
    since: windowStart,
    filter,
    where: tx`${onlyFailures ? hasFailure : tx`true`} and ${
      after ? tx`s.submission_id <= decode(${after.submissionId}, 'hex')` : tx`true`
    }`,
  });
  // Of the first one, all attempts may be on the page before.
  const wanted = limit + (after ? 1 : 0);
  for await (const run of candidates) {
    const counts = run.results.counts(testNo);
    if (!counts || !mayHaveStatus(counts, status)) continue;
    if (runs.push(run) === wanted) break;
  }
  return runs;
}

/** How a test ran in a submission. */
export interface SubmissionRuns extends ResultCounts {
  /** `""` when unknown, as the environment. */
  branch: string;
  environment: string;
}

/** How a test ran in each submission of the window, newest first. */
export async function loadSubmissionRuns(
  tx: Queryable,
  { repositoryId, testNo, windowStart }: Pick<RunsQuery, "repositoryId" | "testNo" | "windowStart">,
): Promise<SubmissionRuns[]> {
  const found: SubmissionRuns[] = [];
  const columns = ["branch", "environment", "results"] as const;
  for await (const run of eachRun(tx, { repositoryId, columns, since: windowStart })) {
    const counts = run.results.counts(testNo);
    const { branch, environment } = run;
    if (counts) found.push({ ...counts, branch: branch ?? "", environment });
  }
  return found;
}

/** Where a test was disruptive. */
export interface DisruptedPlace {
  /** `""` when unknown, as the others. */
  branch: string;
  queueBase: string;
  environment: string;
}

/** The branches and environments in which a test was disruptive in the window. */
export async function loadDisruptedPlaces(
  tx: Queryable,
  { repositoryId, testNo, windowStart }: Pick<RunsQuery, "repositoryId" | "testNo" | "windowStart">,
): Promise<DisruptedPlace[]> {
  return await tx<DisruptedPlace[]>`
    select distinct coalesce(s.branch, '') as branch, coalesce(s.queue_base, '') as "queueBase",
      s.environment
    from negative_result n
    join submission s on s.repository_id = n.repository_id and s.submission_id = n.submission_id
    where n.repository_id = ${repositoryId} and n.test_no = ${testNo} and n.is_disruption
      and ${isRecordedSince(tx, firstSubmissionId(windowStart))}`;
}

/** The submission of a disruption, with what CI told about it. */
interface FirstDisruption {
  submissionId: string;
  /** In seconds since 1970. */
  recordedAt: number;
  commitOid: string;
  /** `""` when unknown, as build URL, author and title. */
  branch: string;
  buildUrl: string;
  author: string;
  pullNumber: number | null;
  pullTitle: string;
}

/** The first disruption of a test that is still stored; `null` without one. */
export async function loadFirstDisrupted(
  tx: Queryable,
  { repositoryId, testNo }: { repositoryId: number; testNo: number },
): Promise<FirstDisruption | null> {
  const [found] = await tx<Omit<FirstDisruption, "recordedAt">[]>`
    select encode(s.submission_id, 'hex') as "submissionId", s.commit_oid as "commitOid",
      coalesce(s.branch, '') as branch, s.build_url as "buildUrl", s.author,
      s.pull_number::float8 as "pullNumber", s.pull_title as "pullTitle"
    from submission s
    where s.repository_id = ${repositoryId} and s.submission_id = (
      select n.submission_id from negative_result n
      where n.repository_id = ${repositoryId} and n.test_no = ${testNo} and n.is_disruption
      order by ${weekOfNegative(tx)}, n.submission_id
      limit 1)`;
  return found ? { ...found, recordedAt: recordedAtOf(found.submissionId) } : null;
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
