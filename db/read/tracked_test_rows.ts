/** SQL and rows that several queries about tracked tests share. */
import type { TrackedTestBase, RecordedRun, StateVersion } from "../../lib/analysis/tests_state.ts";
import { recordedAtOf, testId } from "../../lib/base/identity.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { oldestSubmission, versionColumns } from "./fragments.ts";

/** A test with what is known of its disruptions and its quarantine. */
export interface TestRow {
  repositoryId: number;
  testNo: number;
  testHash: number;
  suite: string;
  class: string;
  name: string;
  file: string;
  firstDisruptionAt: number | null;
  latestSubmissionId: string | null;
  latestCommitOid: string;
  latestBuildUrl: string;
  latestMessage: string;
  positiveSubmissionId: string;
  positiveBuildUrl: string;
  quarantinedAt: number | null;
  quarantinedBy: string | null;
  quarantineType: "manual" | "automatic";
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
    extract(epoch from q.quarantined_at)::float8 as "quarantinedAt",
    q.quarantined_by as "quarantinedBy", q.quarantine_type as "quarantineType"`;
}

/** A tag with the tracked tests that have it, as the text of an `int4multirange`. */
export interface TagRow {
  repositoryId: number;
  tag: string;
  tests: string;
}

/** The tags of all tests that are disruptive since `firstId` or quarantined. */
export function selectTags(
  sql: Queryable,
  { repositoryIds, firstId }: { repositoryIds: string; firstId: string },
) {
  return sql<TagRow[]>`
    with tracked as (
      select repository_id, range_agg(int4range(test_no, test_no, '[]')) as tests
      from (
        select repository_id, test_no from disruptive_test
        where repository_id = any(${repositoryIds}::text::bigint[])
          and latest_submission_id >= decode(${firstId}, 'hex')
        union all
        select repository_id, test_no from quarantine
        where repository_id = any(${repositoryIds}::text::bigint[])
      ) each
      group by repository_id
    )
    select g.repository_id::float8 as "repositoryId", g.tag, (g.tests * tracked.tests)::text as tests
    from tracked
    join test_tag g on g.repository_id = tracked.repository_id
    where g.repository_id = any(${repositoryIds}::text::bigint[]) and g.tests && tracked.tests`;
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

/** The test of a row. */
export function trackedTestBase(
  row: TestRow,
  { idPrefix, disruptionCount }: { idPrefix: number; disruptionCount: number },
): TrackedTestBase {
  const disruptive = row.latestSubmissionId !== null;
  return {
    id: testId(idPrefix, row.testHash),
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
    },
  };
}

/** A processed submission. */
export interface RunRow extends Omit<RecordedRun, "recordedAt"> {
  repositoryId: number;
  submissionId: string;
}

/** SQL: the columns of a {@linkcode RunRow} from `submission`. */
export function runColumns(sql: Queryable, { withTime }: { withTime: boolean }) {
  return sql`repository_id::float8 as "repositoryId",
    encode(submission_id, 'hex') as "submissionId", test_list_no as "testListNo",
    ${withTime ? sql`durations` : sql`null::bytea`} as durations,
    duration_unit as "durationUnit", exceptions`;
}

/** The run of a row. */
export function recordedRun({ submissionId, ...run }: RunRow): RecordedRun {
  return { ...run, recordedAt: recordedAtOf(submissionId) };
}

/** A repository with the version of its data. */
export interface VersionRow extends StateVersion {
  repositoryId: number;
  idPrefix: number;
}

/**
 * The repositories that still exist; the first statement of a transaction that loads tests.
 *
 * It makes the server plan all statements of the transaction for their parameters. A generic plan,
 * used from the sixth load on a connection on, expects a third of all submissions to be newer than
 * the last one, and takes 70 ms instead of 10.
 */
export function selectVersions(
  sql: Queryable,
  { repositoryIds, windowStart }: { repositoryIds: number[]; windowStart: number },
) {
  return sql<VersionRow[]>`
    select r.repository_id::float8 as "repositoryId", r.id_prefix::float8 as "idPrefix",
      ${versionColumns(sql)}, r.addition_count::float8 as "additionCount",
      ${oldestSubmission(sql, windowStart)} as "oldestSubmissionId"
    from repository r
    where r.repository_id = any(${arrayOf(repositoryIds)}::text::bigint[])
      and set_config('plan_cache_mode', 'force_custom_plan', true) is not null`;
}
