// Tests: tests/db/read/tracked_tests_test.ts
/** SQL and rows that several queries about tracked tests share. */
import type { Quarantine } from "../../lib/analysis/quarantine.ts";
import type { StateVersion, TrackedTestBase } from "../../lib/analysis/tests_state.ts";
import type { LatestDisruption } from "../../lib/analysis/tracked_test.ts";
import {
  firstSubmissionId,
  recordedAtOf,
  testId,
  type TestIdentity,
} from "../../lib/base/identity.ts";
import type { SubmissionFilter } from "../../lib/query/submission_filter.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { isSelected, quarantineColumns } from "./fragments.ts";

export interface TestRow extends TestIdentity, Omit<Quarantine, "quarantinedAt"> {
  repositoryId: number;
  testNo: number;
  testHash: number;
  firstDisruptionAt: number | null;
  latestSubmissionId: string | null;
  latestCommitOid: string;
  latestBuildUrl: string;
  latestMessage: string;
  positiveSubmissionId: string;
  positiveBuildUrl: string;
  /** `null` when it is not quarantined. */
  quarantinedAt: number | null;
}

/** SQL: the columns of a {@linkcode TestRow} from `test` t, `disruptive_test` d, `quarantine` q. */
export function testColumns(sql: Queryable) {
  return sql`t.repository_id::float8 as "repositoryId", t.test_no as "testNo",
    t.test_hash::float8 as "testHash", t.suite, t.class, t.name, t.file,
    extract(epoch from d.first_disruption_at)::float8 as "firstDisruptionAt",
    encode(d.latest_submission_id, 'hex') as "latestSubmissionId",
    d.latest_commit_oid as "latestCommitOid", d.latest_build_url as "latestBuildUrl",
    d.latest_message as "latestMessage",
    encode(d.positive_submission_id, 'hex') as "positiveSubmissionId",
    d.positive_build_url as "positiveBuildUrl",
    ${quarantineColumns(sql)}`;
}

/** A tag with the tracked tests that have it, as the text of an `int4multirange`. */
interface TagRow {
  repositoryId: number;
  tag: string;
  tests: string;
}

/** The tags of all tests that are disruptive since `firstId` or quarantined. */
export function selectTags(sql: Queryable, { repositoryIds, firstId }: SubmissionRange) {
  return sql<TagRow[]>`
    with tracked as (
      select repository_id, range_agg(int4range(test_no, test_no, '[]')) as tests
      from (
        select repository_id, test_no from disruptive_test
        where repository_id = any(${repositoryIds}::bigint[])
          and latest_submission_id >= decode(${firstId}, 'hex')
        union all
        select repository_id, test_no from quarantine
        where repository_id = any(${repositoryIds}::bigint[])
      ) each
      group by repository_id
    )
    select g.repository_id::float8 as "repositoryId", g.tag, (g.tests * tracked.tests)::text as tests
    from tracked
    join test_tag g on g.repository_id = tracked.repository_id
    where g.repository_id = any(${repositoryIds}::bigint[]) and g.tests && tracked.tests`;
}

/** The sorted tags of each test that has any, by test_no. */
export function tagsByTest(rows: readonly TagRow[]): Map<number, string[]> {
  const tagsOf = new Map<number, string[]>();
  for (const { tag, tests } of rows.toSorted((a, b) => a.tag < b.tag ? -1 : 1)) {
    for (const [, first, end] of tests.matchAll(/(\d+),(\d+)/g)) {
      for (let testNo = Number(first); testNo < Number(end); testNo++) {
        const tags = tagsOf.get(testNo);
        if (tags) tags.push(tag);
        else tagsOf.set(testNo, [tag]);
      }
    }
  }
  return tagsOf;
}

export function trackedTestBase(
  row: TestRow,
  { idPrefix, disruptionCount }: { idPrefix: number; disruptionCount: number },
): TrackedTestBase {
  const disruptive = row.latestSubmissionId !== null;
  return {
    id: testId(idPrefix, row.testHash),
    repositoryId: row.repositoryId,
    testNo: row.testNo,
    suite: row.suite,
    class: row.class,
    name: row.name,
    file: row.file,
    disruptionCount,
    firstDisruptionAt: row.firstDisruptionAt,
    latestDisruption: disruptive
      ? {
        recordedAt: recordedAtOf(row.latestSubmissionId!),
        commitOid: row.latestCommitOid,
        buildUrl: row.latestBuildUrl,
        message: row.latestMessage,
      }
      : null,
    latestPositive: disruptive
      ? { recordedAt: recordedAtOf(row.positiveSubmissionId), buildUrl: row.positiveBuildUrl }
      : null,
    quarantine: row.quarantinedAt === null ? null : {
      quarantinedAt: row.quarantinedAt,
      quarantinedBy: row.quarantinedBy,
      quarantineType: row.quarantineType,
      quarantineReason: row.quarantineReason,
      quarantineOwner: row.quarantineOwner,
      quarantineExpiresAt: row.quarantineExpiresAt,
      quarantineEnvironment: row.quarantineEnvironment,
    },
  };
}

/** Repositories, and the submissions with an id from `firstId` on and before `endId`. */
export interface SubmissionRange {
  /** Text of an array. */
  repositoryIds: string;
  firstId: string;
  endId?: string;
}

/** SQL: whether the row `s` of `submission` or `negative_result` is within a range. */
function isWithin(sql: Queryable, { repositoryIds, firstId, endId }: SubmissionRange) {
  return sql`s.repository_id = any(${repositoryIds}::bigint[])
    and s.submission_id >= decode(${firstId}, 'hex')
    ${endId === undefined ? sql`` : sql`and s.submission_id < decode(${endId}, 'hex')`}`;
}

/** The number of disruptions of a test, and the latest if it was selected. */
export interface Disruptions extends Partial<LatestDisruption> {
  disruptionCount: number;
}

/** How many disruptions each test has in a range. */
export function selectDisruptionCounts(sql: Queryable, range: SubmissionRange) {
  return sql<{ repositoryId: number; testNo: number; disruptionCount: number }[]>`
    select repository_id::float8 as "repositoryId", test_no as "testNo",
      count(*)::int as "disruptionCount"
    from negative_result s
    where ${isWithin(sql, range)} and is_disruption
    group by repository_id, test_no`;
}

/**
 * How many disruptions each test of a repository has in the submissions that count, and the latest of them.
 *
 * Submissions are numbered, because numbers have a maximum: sorting all disruptions by id for the
 * latest of each test takes three times as long. `offset 0` keeps the lookup by submission.
 *
 * @param options.firstId of submissions that count
 */
export function selectFilteredDisruptions(
  sql: Queryable,
  { repositoryId, firstId, filter }: {
    repositoryId: number;
    firstId: string;
    filter: SubmissionFilter;
  },
) {
  return sql<(Disruptions & { testNo: number })[]>`
    with run as materialized (
      select s.submission_id, s.recorded_at, s.commit_oid, s.build_url,
        row_number() over (order by s.submission_id) as run_no
      from submission s
      where s.repository_id = ${repositoryId} and s.submission_id >= decode(${firstId}, 'hex')
        and s.status = 'processed' and ${isSelected(sql, filter)}
    ), disrupted as materialized (
      select n.test_no, count(*)::int as disruption_count,
        max(run.run_no << 31 | n.result_no) as latest
      from run
      cross join lateral (
        select test_no, result_no from negative_result
        where repository_id = ${repositoryId} and submission_id = run.submission_id
          and is_disruption
        offset 0
      ) n
      group by n.test_no
    )
    select d.test_no as "testNo", d.disruption_count as "disruptionCount",
      extract(epoch from run.recorded_at)::float8 as "recordedAt", run.commit_oid as "commitOid",
      run.build_url as "buildUrl", case
        when t.latest_submission_id = run.submission_id
          and t.latest_result_no = d.latest & ${0x7fff_ffff}::bigint then t.latest_message
        else (
          select f.message from negative_result n
          join failure_text f on f.repository_id = ${repositoryId} and f.text_id = n.text_id
          where n.repository_id = ${repositoryId} and n.submission_id = run.submission_id
            and n.is_disruption and n.test_no = d.test_no
            and n.result_no = d.latest & ${0x7fff_ffff}::bigint)
      end as message
    from disrupted d
    join run on run.run_no = d.latest >> 31
    join disruptive_test t on t.repository_id = ${repositoryId} and t.test_no = d.test_no`;
}

interface VersionRow extends StateVersion {
  repositoryId: number;
  idPrefix: number;
}

/**
 * The repositories that still exist, with their versions.
 */
export function selectVersions(
  sql: Queryable,
  { repositoryIds, now, windowStart }: {
    repositoryIds: number[];
    now: number;
    windowStart: number;
  },
) {
  const ids = arrayOf(repositoryIds);
  return sql<VersionRow[]>`
    select r.repository_id::float8 as "repositoryId", r.id_prefix::float8 as "idPrefix",
      r.data_version::float8 as "dataVersion", r.addition_count::float8 as "additionCount", (
        select encode(s.submission_id, 'hex') from submission s
        where s.repository_id = any(${ids}::bigint[]) and s.repository_id = r.repository_id
          and s.submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex')
        order by s.submission_id limit 1) as "oldestSubmissionId", (
        select extract(epoch from min(q.quarantine_expires_at))::float8 from quarantine q
        where q.repository_id = any(${ids}::bigint[]) and q.repository_id = r.repository_id
          and q.quarantine_expires_at > to_timestamp(${now}::float8)) as "nextQuarantineEnd"
    from repository_state r
    where r.repository_id = any(${ids}::bigint[])`;
}
