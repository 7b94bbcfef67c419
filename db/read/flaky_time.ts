import { type FlakySubmission, flakyTime } from "../../lib/analysis/flaky_time.ts";
import { firstSubmissionId, recordedAtOf } from "../../lib/base/identity.ts";
import { arrayOf, idsIn, type Queryable } from "../connection/sql.ts";
import { codeVersionOf } from "./fragments.ts";
import { viewOf } from "./packed_rows.ts";
import { loadTestLists } from "./stored_test_lists.ts";

/** A job is run again within hours or days. */
const REPEATED_WITHIN_SECONDS = 7 * 24 * 60 * 60;

/**
 * Microseconds of tests that flaky failures cost a repository since a moment: {@linkcode flakyTime}.
 *
 * @param options.testHashes only failures of these tests; of all tests unless given
 */
export async function loadFlakyMicroseconds(
  sql: Queryable,
  { repositoryId, since, testHashes }: {
    repositoryId: number;
    /** Seconds since 1970. */
    since: number;
    testHashes?: readonly number[];
  },
): Promise<number> {
  const isCounted = testHashes
    ? sql`n.test_no = any(array(
        select t.test_no from test t
        where t.repository_id = ${repositoryId}
          and t.test_hash = any(array(select unnest(${arrayOf(testHashes)}::text::bigint[])))))`
    : sql`true`;
  const rows = await sql<SubmissionRow[]>`
    select s.*
    from (
      select encode(s.submission_id, 'hex') as "submissionId", s.test_list_no as "testListNo",
        ${codeVersionOf(sql)} || ' ' || s.job as version, s.duration_unit as "durationUnit",
        s.exceptions, coalesce(d.tests, '') as disrupted,
        bool_or(d.tests is not null) over (partition by s.code_version) as "isFlaky"
      from submission s
      left join lateral (
        select string_agg(int4send(n.test_no), '') as tests
        from negative_result n
        where n.repository_id = ${repositoryId} and n.submission_id = s.submission_id
          and n.is_disruption and ${isCounted}
      ) d on true
      where s.repository_id = ${repositoryId} and s.status = 'processed'
        and s.submission_id >= decode(${firstSubmissionId(since - REPEATED_WITHIN_SECONDS)}, 'hex')
        and s.code_version in (
          select e.code_version from submission e
          where e.repository_id = ${repositoryId}
            and e.submission_id >= decode(${firstSubmissionId(since)}, 'hex'))
    ) s
    where s."isFlaky"
    order by s."submissionId" collate "C"`;
  const testListNos = new Set(rows.map(({ testListNo }) => testListNo));
  const lists = await loadTestLists(sql, { repositoryId, testListNos });
  const submissions = rows.map(({ testListNo, disrupted, ...row }): FlakySubmission => ({
    ...row,
    testNos: lists.get(testListNo)!,
    disrupted: testNosOf(disrupted),
    isInPeriod: recordedAtOf(row.submissionId) >= since,
  }));
  const { microseconds, incomplete } = flakyTime(submissions);
  if (incomplete.length === 0) return microseconds;
  const durations = await loadDurations(sql, { repositoryId, submissionIds: incomplete });
  return flakyTime(
    submissions.map((row) => ({ ...row, durations: durations.get(row.submissionId) })),
  ).microseconds;
}

interface SubmissionRow {
  submissionId: string;
  testListNo: number;
  version: string;
  durationUnit: number;
  exceptions: Uint8Array;
  disrupted: Uint8Array;
}

/** The durations of submissions, by id. */
async function loadDurations(
  sql: Queryable,
  { repositoryId, submissionIds }: { repositoryId: number; submissionIds: readonly string[] },
): Promise<Map<string, Uint8Array>> {
  const rows = await sql<{ submissionId: string; durations: Uint8Array }[]>`
    select encode(s.submission_id, 'hex') as "submissionId", s.durations
    from submission s
    where s.repository_id = ${repositoryId}
      and s.submission_id = any(${idsIn(sql, submissionIds)})`;
  return new Map(rows.map(({ submissionId, durations }) => [submissionId, durations]));
}

function testNosOf(bytes: Uint8Array): Set<number> {
  const view = viewOf(bytes);
  const testNos = new Set<number>();
  for (let at = 0; at < bytes.length; at += 4) testNos.add(view.getInt32(at));
  return testNos;
}
