/** Durations of single tests, for pages. */
import {
  type GroupDurations,
  LatestDurations,
  submissionsWithLatestRuns,
  type TestGroups,
} from "../../lib/analysis/durations.ts";
import type { TestLists } from "../../lib/analysis/run_counts.ts";
import { firstSubmissionId, recordedAtOf } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { ALL_SUBMISSIONS, type SubmissionFilter } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { isSelected } from "./fragments.ts";
import { selectDurations } from "./duration_rows.ts";
import { loadTestLists } from "./stored_test_lists.ts";

const SECONDS_PER_WEEK = 7 * SECONDS_PER_DAY;

/** The latest runs of one test since a moment; `null` without a run. */
export async function loadDurationsOfTest(
  sql: Queryable,
  { repositoryId, testNo, windowStart }: {
    repositoryId: number;
    testNo: number;
    windowStart: number;
  },
): Promise<GroupDurations | null> {
  const groups = groupsOf([testNo]);
  const submissions = await selectSubmissions(sql, {
    repositoryId,
    since: windowStart,
    filter: ALL_SUBMISSIONS,
  });
  const lists = await listsOf(sql, { repositoryId, submissions });
  const [found] = await latestDurations(sql, { repositoryId, submissions, lists, groups });
  return found ?? null;
}

/**
 * The median run of each of some tests in each of the latest weeks, oldest first; `null` in a week without
 * a run. Weeks are periods of 7 days, the last one until `end`.
 *
 * @returns arrays by test_no
 */
export async function loadWeeklyMedians(
  sql: Queryable,
  { repositoryId, testNos, filter = ALL_SUBMISSIONS, end, weeks }: {
    repositoryId: number;
    testNos: readonly number[];
    filter?: SubmissionFilter;
    /** Seconds since 1970. */
    end: number;
    weeks: number;
  },
): Promise<Map<number, (number | null)[]>> {
  const medians = new Map(
    testNos.map((testNo) => [testNo, Array<number | null>(weeks).fill(null)]),
  );
  if (testNos.length === 0) return medians;
  const groups = groupsOf(testNos);
  const since = end - weeks * SECONDS_PER_WEEK;
  const all = await selectSubmissions(sql, { repositoryId, since, filter });
  const lists = await listsOf(sql, { repositoryId, submissions: all });
  const byWeek = Map.groupBy(
    all,
    ({ submissionId }) => Math.floor((recordedAtOf(submissionId) - since) / SECONDS_PER_WEEK),
  );
  for (const [week, submissions] of byWeek) {
    // Recorded after the end.
    if (week >= weeks) continue;
    const found = await latestDurations(sql, { repositoryId, submissions, lists, groups });
    for (const { group, medianMicroseconds } of found) {
      medians.get(testNos[group]!)![week] = medianMicroseconds;
    }
  }
  return medians;
}

function groupsOf(testNos: readonly number[]): TestGroups {
  const groupOf = new Int32Array(Math.max(...testNos) + 1).fill(-1);
  for (const [group, testNo] of testNos.entries()) groupOf[testNo] = group;
  return { groupOf, groupCount: testNos.length };
}

interface SubmissionRow {
  submissionId: string;
  testListNo: number;
}

async function listsOf(
  sql: Queryable,
  { repositoryId, submissions }: { repositoryId: number; submissions: readonly SubmissionRow[] },
): Promise<TestLists> {
  const testListNos = new Set(submissions.map(({ testListNo }) => testListNo));
  return await loadTestLists(sql, { repositoryId, testListNos });
}

async function latestDurations(
  sql: Queryable,
  { repositoryId, submissions, ...tests }: {
    repositoryId: number;
    submissions: readonly SubmissionRow[];
    lists: TestLists;
    groups: TestGroups;
  },
): Promise<GroupDurations[]> {
  const testListNos = submissions.map(({ testListNo }) => testListNo);
  const submissionIds = submissionsWithLatestRuns(testListNos, tests)
    .map((index) => submissions[index]!.submissionId);
  const durations = new LatestDurations(tests);
  for (const row of await selectDurations(sql, { repositoryId, submissionIds })) durations.add(row);
  return durations.finish();
}

/** The submissions since a moment, newest first. */
function selectSubmissions(
  sql: Queryable,
  { repositoryId, since, filter }: {
    repositoryId: number;
    since: number;
    filter: SubmissionFilter;
  },
) {
  return sql<SubmissionRow[]>`
    select encode(s.submission_id, 'hex') as "submissionId", s.test_list_no as "testListNo"
    from submission s
    where s.repository_id = ${repositoryId}
      and s.submission_id >= decode(${firstSubmissionId(since)}, 'hex') and s.status = 'processed'
      and ${isSelected(sql, filter)}
    order by s.submission_id desc`;
}
