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
import { MAX_RUNS, runsByWeek, type RunTimes, runTimesOf } from "../../lib/analysis/durations.ts";
import type { Run, TestList } from "../../lib/analysis/run.ts";
import type { RunPosition } from "../../lib/base/cursor.ts";
import { firstSubmissionId, recordedAtOf } from "../../lib/base/identity.ts";
import { SECONDS_PER_WEEK } from "../../lib/base/time.ts";
import { ALL_SUBMISSIONS, type SubmissionFilter } from "../../lib/query/submission_filter.ts";
import { idsIn, type Queryable, textsIn } from "../connection/sql.ts";
import { isRecordedSince, weekOfNegative } from "./fragments.ts";
import { eachRun, loadRuns, loadTestDurations } from "./runs.ts";
import { loadTexts } from "./texts.ts";

const VERSION_COLUMNS = ["commitOid", "treeOid", "branch", "environment", "buildUrl"] as const;

type RunVersion = Run<typeof VERSION_COLUMNS[number]>;

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
  return await attemptsIn(tx, { ...query, runs: await findRuns(tx, query) });
}

const ATTEMPT_COLUMNS = [...VERSION_COLUMNS, "tests", "results"] as const;

type FoundRun = Run<typeof ATTEMPT_COLUMNS[number]>;

/** The attempts of a test on a page of some runs; `durations` of the test in them, unless they are to be loaded. */
async function attemptsIn(
  tx: Queryable,
  { runs, durations, ...query }: RunsQuery & {
    runs: readonly FoundRun[];
    durations?: ReadonlyMap<string, number>;
  },
): Promise<TestRun[]> {
  const { repositoryId, testNo, status, after, limit } = query;
  const submissionIds = runs.map(({ submissionId }) => submissionId);
  const [microseconds, failures] = await Promise.all([
    durations ?? loadTestDurations(tx, { repositoryId, testNo, runs }),
    selectFailures(tx, { ...query, submissionIds }),
  ]);
  const failuresOf = Map.groupBy(failures, ({ submissionId }) => submissionId);
  const page = runs.flatMap(({ tests: _, results, ...version }) => {
    const total = microseconds.get(version.submissionId);
    // Without a snapshot it may have been deleted since.
    if (total === undefined) return [];
    const failures = failuresOf.get(version.submissionId) ?? [];
    return testAttempts(results.attempts(testNo, total), failures)
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
  const runs: FoundRun[] = [];
  const candidates = eachRun(tx, {
    repositoryId,
    columns: ATTEMPT_COLUMNS,
    since: windowStart,
    filter,
    where: tx`${onlyFailures ? hasFailure : tx`true`} and ${
      after ? tx`s.submission_id <= decode(${after.submissionId}, 'hex')` : tx`true`
    }`,
  });
  // All attempts of the first one may be on the page before.
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

/** What the page of a test shows of its runs. */
interface ShownRuns {
  /** Its latest attempts in the window, as {@linkcode loadTestRuns} has them. */
  attempts: TestRun[];
  /** How it ran in each submission of the window, newest first. */
  submissions: SubmissionRuns[];
  /** Of the latest runs in the window; `null` without one. */
  times: RunTimes | null;
  /** The median run of each week, oldest first; `null` in a week without a run. */
  medians: (number | null)[];
}

/**
 * The runs of a test in the window, and how long it takes since some weeks, of 7 days each, the last one until `end`.
 * Its runs, their lists of tests and its durations are read once for all that is shown.
 */
export async function loadShownRuns(
  tx: Queryable,
  { end, weeks, ...query }: Omit<RunsQuery, "filter" | "status" | "after"> & {
    /** Seconds since 1970. */
    end: number;
    weeks: number;
  },
): Promise<ShownRuns> {
  const { repositoryId, testNo, windowStart, limit } = query;
  const lists = new Map<number, TestList>();
  const submissions: SubmissionRuns[] = [];
  const latest: FoundRun[] = [];
  const inWindow: Run<"tests">[] = [];
  const columns = ATTEMPT_COLUMNS;
  for await (const run of eachRun(tx, { repositoryId, columns, since: windowStart, lists })) {
    const counts = run.results.counts(testNo);
    if (!counts) continue;
    const { submissionId, recordedAt, tests, branch, environment } = run;
    submissions.push({ ...counts, branch: branch ?? "", environment });
    if (latest.length < limit) latest.push(run);
    inWindow.push({ submissionId, recordedAt, tests });
  }
  const since = end - weeks * SECONDS_PER_WEEK;
  const older = since >= windowStart ? [] : await loadRuns(tx, {
    repositoryId,
    columns: ["tests"],
    since,
    where: tx`s.submission_id < decode(${firstSubmissionId(windowStart)}, 'hex')`,
    lists,
  });
  const all = [...inWindow, ...older.filter(({ tests }) => tests.indexOf(testNo) >= 0)];
  const timed = inWindow.slice(0, MAX_RUNS);
  const timedOf = Array.from(
    runsByWeek(all, { since, weeks }),
    ([week, runs]) => [week, runs.slice(0, MAX_RUNS)] as const,
  );
  const needed = new Map(
    [latest, timed, ...timedOf.map(([, runs]) => runs)].flat().map((
      run,
    ) => [run.submissionId, run]),
  );
  const runs = [...needed.values()];
  const durations = await loadTestDurations(tx, { repositoryId, testNo, runs });
  const timesOf = (runs: readonly Run[]) =>
    runTimesOf(runs.flatMap(({ submissionId }) => durations.get(submissionId) ?? []));
  const medians = Array<number | null>(weeks).fill(null);
  for (const [week, runs] of timedOf) medians[week] = timesOf(runs)?.medianMicroseconds ?? null;
  const everything = { filter: ALL_SUBMISSIONS, status: "all", after: null } as const;
  const attempts = await attemptsIn(tx, { ...query, ...everything, runs: latest, durations });
  return { attempts, submissions, times: timesOf(timed), medians };
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

/** The submission of a disruption, with what CI says about it. */
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
