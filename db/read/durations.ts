import {
  type DurationUnit,
  type GroupDurations,
  LatestDurations,
  submissionsWithLatestRuns,
} from "../../lib/analysis/durations.ts";
import type { Versioned } from "../../lib/base/data_version.ts";
import { firstSubmissionId, testId, type TestIdentity } from "../../lib/base/identity.ts";
import type { Patterns, SubmissionFilter } from "../../lib/query/submission_filter.ts";
import type { Database } from "../connection/connect.ts";
import type { Queryable } from "../connection/sql.ts";
import {
  emptyGroups,
  type KeyedGroups,
  loadTestsAsGroups,
  selectDurations,
  selectIdentities,
  viewOf,
} from "./duration_rows.ts";
import { isOfJob, isSelected, selectRepository, SNAPSHOT } from "./fragments.ts";
import { loadTestLists } from "./stored_test_lists.ts";

interface DurationsQuery extends SubmissionFilter {
  repositoryId: number;
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

// Of 20,000 tests about 40 kB each.
const SUBMISSIONS_PER_STATEMENT = 50;

/**
 * The durations of files, classes or tests that ran in the window, the longest first, equal ones by key.
 * Tests without a file or class are in no file or class.
 *
 * Reads the durations of few submissions: those with one of the latest runs of anything. 20,000
 * tests take 35 ms by file and 70 ms by test, of which there is one row each (CPU, embedded database).
 */
export async function loadDurations(
  sql: Database["sql"],
  { after, limit, ...query }: DurationsQuery & { after: number; limit: number },
): Promise<Versioned<{ count: number; durations: ShownDurations[] }>> {
  const { repositoryId } = query;
  return await sql.begin(SNAPSHOT, async (tx) => {
    const [repository] = await selectRepository(tx, repositoryId);
    if (!repository) return { version: null, count: 0, durations: [] };
    const [submissions, keyed] = await Promise.all([
      selectSubmissions(tx, query),
      query.by === "test"
        ? loadTestsAsGroups(tx, repositoryId)
        : loadNames(tx, { ...query, by: query.by }),
    ]);
    const { groups } = keyed;
    const testListNos = submissions.map(({ testListNo }) => testListNo);
    const lists = await loadTestLists(tx, { repositoryId, testListNos: new Set(testListNos) });
    const needed = submissionsWithLatestRuns(testListNos, { lists, groups });
    const latest = new LatestDurations({ lists, groups, unit: query.by });
    for (let start = 0; start < needed.length; start += SUBMISSIONS_PER_STATEMENT) {
      const submissionIds = needed.slice(start, start + SUBMISSIONS_PER_STATEMENT)
        .map((index) => submissions[index]!.submissionId);
      for (const row of await selectDurations(tx, { repositoryId, submissionIds })) latest.add(row);
    }
    const all = latest.finish().sort((a, b) =>
      b.medianMicroseconds - a.medianMicroseconds || keyed.compare(a.group, b.group)
    );
    const shown = all.slice(after, after + limit);
    if (keyed.names) {
      const { names } = keyed;
      const durations = shown.map(({ group, ...run }) => ({
        key: names[group]!,
        ...run,
        test: null,
      }));
      return { version: repository, count: all.length, durations };
    }
    const testNos = shown.map(({ group }) => keyed.testNos[group]!);
    const tests = await selectIdentities(tx, { repositoryId, testNos });
    const identities = new Map(tests.map(({ testNo, ...identity }) => [testNo, identity]));
    return {
      version: repository,
      count: all.length,
      durations: shown.map(({ group, ...run }) => ({
        key: testId(repository.idPrefix, keyed.hashes[group]!),
        ...run,
        test: identities.get(keyed.testNos[group]!)!,
      })),
    };
  });
}

/** The files or classes of tests, `""` excepted. */
async function loadNames(
  sql: Queryable,
  { repositoryId, by }: { repositoryId: number; by: "file" | "class" },
): Promise<KeyedGroups & { names: string[] }> {
  const column = by === "file" ? sql`t.file` : sql`t.class`;
  // One row for each name: a row for each test takes 20 ms longer.
  const rows = await sql<{ name: string; testNos: Uint8Array }[]>`
    select ${column} as name, string_agg(int4send(t.test_no), '') as "testNos"
    from test t
    where t.repository_id = ${repositoryId} and ${column} <> ''
    group by ${column}`;
  const names = rows.map(({ name }) => name);
  const testNos = rows.map((row) => integersOf(row.testNos));
  const groupOf = emptyGroups(testNos);
  for (const [group, own] of testNos.entries()) for (const testNo of own) groupOf[testNo] = group;
  return {
    names,
    groups: { groupOf, groupCount: names.length },
    compare: (a, b) => names[a]! < names[b]! ? -1 : 1,
  };
}

function integersOf(bytes: Uint8Array): Int32Array {
  const view = viewOf(bytes);
  return new Int32Array(bytes.length / 4).map((_, index) => view.getInt32(4 * index));
}

/** The submissions that count, newest first. */
function selectSubmissions(
  sql: Queryable,
  { repositoryId, windowStart, until, ...filter }: DurationsQuery,
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
