import {
  type DurationUnit,
  emptyGroups,
  type GroupDurations,
  LatestDurations,
  submissionsWithLatestRuns,
  type TestGroups,
  testsAsGroups,
} from "../../lib/analysis/durations.ts";
import type { TestLists } from "../../lib/analysis/run_counts.ts";
import { firstSubmissionId, testId, type TestIdentity } from "../../lib/base/identity.ts";
import type { Patterns, SubmissionFilter } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { loadTestPage, selectDurations } from "./duration_rows.ts";
import { isOfJob, isSelected } from "./fragments.ts";
import { viewOf } from "./packed_rows.ts";
import { loadTestLists } from "./stored_test_lists.ts";

interface DurationsQuery extends SubmissionFilter {
  repositoryId: number;
  idPrefix: number;
  by: DurationUnit;
  windowStart: number;
  /** Only what was recorded and uploaded until this second counts; `null` for all. */
  until: number | null;
  jobs: Patterns;
}

/** The durations of the latest runs of a file, class or test. */
export interface ShownDurations extends Omit<GroupDurations, "group"> {
  /** The file or class, or the id of the test. */
  key: string;
  /** `null` unless it is a test. */
  test: TestIdentity | null;
}

interface Page {
  after: number;
  limit: number;
}

// With 20,000 tests about 40 kB each.
const SUBMISSIONS_PER_STATEMENT = 50;

/**
 * The durations of files, classes or tests that ran in the window, the longest first, equal ones by key.
 * Tests without a file or class are in no file or class.
 *
 * Reads the durations of few submissions: those with one of the latest runs of anything. 20,000 tests
 * take 32 ms by test and 27 ms by file (CPU, with a server; about the same on the embedded database).
 */
export async function loadDurations(
  tx: Queryable,
  { after, limit, ...query }: DurationsQuery & Page,
): Promise<{ count: number; durations: ShownDurations[] }> {
  const load = query.by === "test" ? durationsOfTests : durationsOfNames;
  return await load(tx, { ...query, after, limit });
}

/** The durations of tests. */
async function durationsOfTests(
  sql: Queryable,
  { idPrefix, after, limit, ...query }: DurationsQuery & Page,
) {
  const { repositoryId } = query;
  const { submissions, lists } = await loadSubmissions(sql, query);
  const { groups, testNos } = testsAsGroups(lists);
  const latest = await loadLatest(sql, { ...query, submissions, lists, groups });
  const { groups: found, medians } = latest.medians();
  const page = await loadTestPage(sql, {
    repositoryId,
    testNos: found.map((group) => testNos[group]!),
    values: medians,
    after,
    limit,
  });
  const durations = page.map(({ index, testHash, identity }): ShownDurations => {
    const { group: _group, ...run } = latest.of(found[index]!);
    return { key: testId(idPrefix, testHash), ...run, test: identity };
  });
  return { count: found.length, durations };
}

/** The durations of files or classes. */
async function durationsOfNames(
  sql: Queryable,
  { after, limit, ...query }: DurationsQuery & Page,
) {
  const [{ submissions, lists }, { names, groups }] = await Promise.all([
    loadSubmissions(sql, query),
    loadNames(sql, query),
  ]);
  const latest = await loadLatest(sql, { ...query, submissions, lists, groups });
  const found = latest.finish().sort((a, b) =>
    b.medianMicroseconds - a.medianMicroseconds || (names[a.group]! < names[b.group]! ? -1 : 1)
  );
  const durations = found.slice(after, after + limit).map(({ group, ...run }): ShownDurations => (
    { key: names[group]!, ...run, test: null }
  ));
  return { count: found.length, durations };
}

/** The submissions that count, newest first, and the tests that they ran. */
async function loadSubmissions(sql: Queryable, query: Omit<DurationsQuery, "idPrefix">) {
  const { repositoryId } = query;
  const submissions = await selectSubmissions(sql, query);
  const testListNos = new Set(submissions.map(({ testListNo }) => testListNo));
  return { submissions, lists: await loadTestLists(sql, { repositoryId, testListNos }) };
}

async function loadLatest(
  sql: Queryable,
  { repositoryId, by, submissions, lists, groups }: {
    repositoryId: number;
    by: DurationUnit;
    submissions: readonly { submissionId: string; testListNo: number }[];
    lists: TestLists;
    groups: TestGroups;
  },
): Promise<LatestDurations> {
  const testListNos = submissions.map(({ testListNo }) => testListNo);
  const needed = submissionsWithLatestRuns(testListNos, { lists, groups });
  const latest = new LatestDurations({ lists, groups, unit: by });
  for (let start = 0; start < needed.length; start += SUBMISSIONS_PER_STATEMENT) {
    const submissionIds = needed.slice(start, start + SUBMISSIONS_PER_STATEMENT)
      .map((index) => submissions[index]!.submissionId);
    for (const row of await selectDurations(sql, { repositoryId, submissionIds })) latest.add(row);
  }
  return latest;
}

/** The files or classes of tests, `""` excepted. */
async function loadNames(
  sql: Queryable,
  { repositoryId, by }: { repositoryId: number; by: DurationUnit },
): Promise<{ names: string[]; groups: TestGroups }> {
  const column = by === "file" ? sql`t.file` : sql`t.class`;
  // One row for each name: a row for each test takes 20 ms longer.
  const rows = await sql<{ name: string; testNos: Uint8Array }[]>`
    select ${column} as name, string_agg(int4send(t.test_no), '') as "testNos"
    from test t
    where t.repository_id = ${repositoryId} and ${column} <> ''
    group by ${column}`;
  const testNos = rows.map((row) => integersOf(row.testNos));
  const groupOf = emptyGroups(testNos);
  for (const [group, own] of testNos.entries()) for (const testNo of own) groupOf[testNo] = group;
  return {
    names: rows.map(({ name }) => name),
    groups: { groupOf, groupCount: rows.length },
  };
}

function integersOf(bytes: Uint8Array): Int32Array {
  const view = viewOf(bytes);
  return new Int32Array(bytes.length / 4).map((_, index) => view.getInt32(4 * index));
}

/** The submissions that count, newest first. */
function selectSubmissions(
  sql: Queryable,
  { repositoryId, windowStart, until, ...filter }: Omit<DurationsQuery, "idPrefix">,
) {
  const untilTime = until === null
    ? sql`true`
    : sql`greatest(s.recorded_at, s.uploaded_at) <= to_timestamp(${until}::float8)`;
  return sql<{ submissionId: string; testListNo: number }[]>`
    select encode(s.submission_id, 'hex') as "submissionId", s.test_list_no as "testListNo"
    from submission s
    where s.repository_id = ${repositoryId}
      and s.submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex')
      and s.status = 'processed' and ${untilTime}
      and ${isSelected(sql, filter)} and ${isOfJob(sql, filter.jobs)}
    order by s.submission_id desc`;
}
