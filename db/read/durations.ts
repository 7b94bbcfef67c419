// Tests: tests/routes/durations_test.ts
import {
  type DurationUnit,
  type GroupDurations,
  groupsOf,
  type TestGroups,
  testsAsGroups,
} from "../../lib/analysis/durations.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import type { Patterns, SubmissionFilter } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { loadLatestDurations, loadTestPage } from "./duration_rows.ts";
import { isOfJob } from "./fragments.ts";
import { integersOf } from "./packed_rows.ts";
import { loadRuns } from "./runs.ts";

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
interface ShownDurations extends Omit<GroupDurations, "group"> {
  /** The file or class, or the id of the test. */
  key: string;
  /** `null` unless it is a test. */
  test: TestIdentity | null;
}

interface Page {
  after: number;
  limit: number;
}

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

async function durationsOfTests(
  sql: Queryable,
  { idPrefix, after, limit, ...query }: DurationsQuery & Page,
) {
  const { repositoryId } = query;
  const runs = await loadCountedRuns(sql, query);
  const { groups, testNos } = testsAsGroups(runs);
  const latest = await loadLatestDurations(sql, { repositoryId, runs, groups });
  const { groups: found, medians } = latest.medians();
  const page = await loadTestPage(sql, {
    repositoryId,
    idPrefix,
    testNos: found.map((group) => testNos[group]!),
    values: medians,
    after,
    limit,
  });
  const durations = page.map(({ index, test }): ShownDurations => {
    const { group: _group, ...run } = latest.of(found[index]!);
    return { key: test.id, ...run, test };
  });
  return { count: found.length, durations };
}

/** The durations of files or classes. */
async function durationsOfNames(
  sql: Queryable,
  { after, limit, ...query }: DurationsQuery & Page,
) {
  const { repositoryId, by: unit } = query;
  const [runs, { names, groups }] = await Promise.all([
    loadCountedRuns(sql, query),
    loadNames(sql, query),
  ]);
  const latest = await loadLatestDurations(sql, { repositoryId, runs, groups, unit });
  const found = latest.finish().sort((a, b) =>
    b.medianMicroseconds - a.medianMicroseconds || (names[a.group]! < names[b.group]! ? -1 : 1)
  );
  const durations = found.slice(after, after + limit).map(({ group, ...run }): ShownDurations => (
    { key: names[group]!, ...run, test: null }
  ));
  return { count: found.length, durations };
}

/** The runs that count, newest first. */
async function loadCountedRuns(
  sql: Queryable,
  { repositoryId, windowStart, until, branches, environments, jobs }: Omit<
    DurationsQuery,
    "idPrefix"
  >,
) {
  const untilTime = until === null
    ? sql`true`
    : sql`greatest(s.recorded_at, s.uploaded_at) <= to_timestamp(${until}::float8)`;
  return await loadRuns(sql, {
    repositoryId,
    columns: ["tests"],
    since: windowStart,
    filter: { branches, environments },
    where: sql`${untilTime} and ${isOfJob(sql, jobs)}`,
  });
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
  return {
    names: rows.map(({ name }) => name),
    groups: groupsOf(rows.map(({ testNos }) => integersOf(testNos))),
  };
}
