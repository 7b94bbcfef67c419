import {
  type GroupDurations,
  LatestDurations,
  submissionsWithLatestRuns,
  testsAsGroups,
} from "../../lib/analysis/durations.ts";
import type { RunCounts } from "../../lib/analysis/run_counts.ts";
import {
  findSlowDowns,
  type SlowDown,
  type SlowOrder,
  type TimedRun,
} from "../../lib/analysis/slow_downs.ts";
import {
  firstSubmissionId,
  recordedAtOf,
  testId,
  type TestIdentity,
} from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import type { SubmissionFilter } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { loadTestPage, selectDurations } from "./duration_rows.ts";
import { isSelected } from "./fragments.ts";
import { loadTestLists } from "./stored_test_lists.ts";

/** A test with how long it takes. */
export interface SlowTest
  extends
    TestIdentity,
    Pick<GroupDurations, "medianMicroseconds" | "p90Microseconds" | "runCount"> {
  /** 24 hex digits. */
  id: string;
  testNo: number;
  /** Microseconds of all its runs in the window. */
  totalMicroseconds: number;
  /** `null` unless it became slower in the window. */
  slowDown: SlowDown | null;
}

/** Enough to see a slow-down, few enough for a repository with a thousand runs a day. */
const RUNS_PER_DAY = 8;

/** With 20,000 tests about 40 kB each. */
const MAX_SUBMISSIONS = 500;

const SUBMISSIONS_PER_STATEMENT = 50;

interface SlowTestsQuery {
  repositoryId: number;
  idPrefix: number;
  windowStart: number;
  filter: SubmissionFilter;
  sort: SlowOrder;
  after: number;
  limit: number;
  /** How often tests ran, for the same window and filter, with the time. */
  runs: RunCounts;
}

/**
 * The tests that ran in the window, or with `slower` those that became slower, and how many there are.
 * Slow-downs are found in the latest 8 runs of each day.
 */
export async function loadSlowTests(
  tx: Queryable,
  { after, limit, sort, runs, ...query }: SlowTestsQuery,
): Promise<{ count: number; tests: SlowTest[] }> {
  const { repositoryId, idPrefix } = query;
  const submissions = await selectSubmissions(tx, query);
  const testListNos = submissions.map(({ testListNo }) => testListNo);
  const lists = await loadTestLists(tx, { repositoryId, testListNos: new Set(testListNos) });
  const { groups, testNos } = testsAsGroups(lists);
  const latest = new Set(submissionsWithLatestRuns(testListNos, { lists, groups }));
  const daily = new Set(dailySubmissions(submissions, { lists, groups }));
  const needed = [...latest.union(daily)].sort((a, b) => a - b);
  const durations = new LatestDurations({ lists, groups });
  const timed: TimedRun[] = [];
  for (let start = 0; start < needed.length; start += SUBMISSIONS_PER_STATEMENT) {
    const indexes = needed.slice(start, start + SUBMISSIONS_PER_STATEMENT);
    const submissionIds = indexes.map((index) => submissions[index]!.submissionId);
    const rows = await selectDurations(tx, { repositoryId, submissionIds });
    for (const [row, stored] of rows.entries()) {
      const index = indexes[row]!;
      const submission = submissions[index]!;
      const { submissionId, commitOid } = submission;
      const recordedAt = recordedAtOf(submissionId);
      if (latest.has(index)) durations.add(stored);
      if (daily.has(index)) timed.push({ ...stored, submissionId, commitOid, recordedAt });
    }
  }
  const found = durations.finish();
  const usual = new Float64Array(groups.groupOf.length);
  for (const { group, medianMicroseconds } of found) usual[testNos[group]!] = medianMicroseconds;
  const slowDowns = findSlowDowns(timed.reverse(), { lists, usual });
  const all = found.map(({ group, ...run }) => {
    const testNo = testNos[group]!;
    return {
      ...run,
      testNo,
      totalMicroseconds: runs.of(testNo).timeConsumed ?? 0,
      slowDown: slowDowns.get(testNo) ?? null,
    };
  }).filter(({ slowDown }) => sort !== "slower" || slowDown !== null);
  const page = await loadTestPage(tx, {
    repositoryId,
    testNos: Int32Array.from(all, ({ testNo }) => testNo),
    values: Float64Array.from(all, (test) => slownessOf(test, sort)),
    after,
    limit,
  });
  return {
    count: all.length,
    tests: page.map(({ index, testHash, identity }) => (
      { ...all[index]!, ...identity, id: testId(idPrefix, testHash) }
    )),
  };
}

/** What slow tests are ordered by, in descending order. */
export function slownessOf(
  test: Pick<SlowTest, "totalMicroseconds" | "medianMicroseconds" | "slowDown">,
  sort: SlowOrder,
): number {
  if (sort === "total") return test.totalMicroseconds;
  if (sort === "median") return test.medianMicroseconds;
  const { afterMicroseconds = 0, beforeMicroseconds = 0 } = test.slowDown ?? {};
  return afterMicroseconds - beforeMicroseconds;
}

/** The submissions with the latest runs of each day, as indexes. */
function dailySubmissions(
  submissions: readonly SubmissionRow[],
  options: Pick<Parameters<typeof submissionsWithLatestRuns>[1], "lists" | "groups">,
): number[] {
  const environment = commonEnvironment(submissions);
  const days = Map.groupBy(
    [...submissions.keys()].filter((index) => submissions[index]!.environment === environment),
    (index) => Math.floor(recordedAtOf(submissions[index]!.submissionId) / SECONDS_PER_DAY),
  );
  return [...days.values()].flatMap((indexes) => {
    const testListNos = indexes.map((index) => submissions[index]!.testListNo);
    return submissionsWithLatestRuns(testListNos, { ...options, maxRuns: RUNS_PER_DAY })
      .map((one) => indexes[one]!);
  }).slice(0, MAX_SUBMISSIONS);
}

/** The environment of most submissions: durations of different ones cannot be compared. */
function commonEnvironment(submissions: readonly SubmissionRow[]): string {
  const counts = new Map<string, number>();
  for (const { environment } of submissions) {
    counts.set(environment, (counts.get(environment) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0]?.[0] ?? "";
}

interface SubmissionRow {
  submissionId: string;
  testListNo: number;
  commitOid: string;
  environment: string;
}

/** The submissions that count, newest first. */
function selectSubmissions(
  sql: Queryable,
  { repositoryId, windowStart, filter }: Pick<
    SlowTestsQuery,
    "repositoryId" | "windowStart" | "filter"
  >,
) {
  return sql<SubmissionRow[]>`
    select encode(s.submission_id, 'hex') as "submissionId", s.test_list_no as "testListNo",
      s.commit_oid as "commitOid", s.environment
    from submission s
    where s.repository_id = ${repositoryId}
      and s.submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex')
      and s.status = 'processed' and ${isSelected(sql, filter)}
    order by s.submission_id desc`;
}
