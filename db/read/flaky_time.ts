import type { ResultColumns } from "../../lib/analysis/columns.ts";
import { flakyMicroseconds } from "../../lib/analysis/flaky_time.ts";
import { firstSubmissionId, recordedAtOf } from "../../lib/base/identity.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { viewOf } from "./duration_rows.ts";
import { codeVersionOf } from "./fragments.ts";
import { loadTestLists } from "./stored_test_lists.ts";

/** A job is run again within hours or days. */
const REPEATED_WITHIN_SECONDS = 7 * 24 * 60 * 60;

/**
 * Microseconds of tests that flaky failures cost a repository since a moment: {@linkcode flakyMicroseconds}.
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
  const firstId = firstSubmissionId(since - REPEATED_WITHIN_SECONDS);
  const isCounted = testHashes
    ? sql`n.test_no = any(array(
        select t.test_no from test t
        where t.repository_id = ${repositoryId}
          and t.test_hash = any(array(select unnest(${arrayOf(testHashes)}::text::bigint[])))))`
    : sql`true`;
  const rows = await sql<(ResultColumns & SubmissionRow)[]>`
    with disrupted as materialized (
      select n.submission_id, string_agg(int4send(n.test_no), '') as tests
      from negative_result n
      where n.repository_id = ${repositoryId} and n.is_disruption
        and n.submission_id >= decode(${firstId}, 'hex') and ${isCounted}
      group by n.submission_id
    )
    select encode(s.submission_id, 'hex') as "submissionId", s.test_list_no as "testListNo",
      ${codeVersionOf(sql)} || ' ' || s.job as version,
      case when s.submission_id >= decode(${firstSubmissionId(since)}, 'hex') then s.durations
        else '' end as durations,
      s.duration_unit as "durationUnit", s.exceptions, coalesce(d.tests, '') as disrupted
    from submission s
    left join disrupted d on d.submission_id = s.submission_id
    where s.repository_id = ${repositoryId} and s.status = 'processed'
      and s.submission_id >= decode(${firstId}, 'hex')
      and s.code_version in (
        select e.code_version from disrupted o
        join submission e on e.repository_id = ${repositoryId} and e.submission_id = o.submission_id)
    order by s.submission_id`;
  const testListNos = new Set(rows.map(({ testListNo }) => testListNo));
  const lists = await loadTestLists(sql, { repositoryId, testListNos });
  return flakyMicroseconds(rows.map(({ submissionId, testListNo, disrupted, ...row }) => ({
    ...row,
    testNos: lists.get(testListNo)!,
    disrupted: testNosOf(disrupted),
    isInPeriod: recordedAtOf(submissionId) >= since,
  })));
}

interface SubmissionRow {
  submissionId: string;
  testListNo: number;
  version: string;
  disrupted: Uint8Array;
}

function testNosOf(bytes: Uint8Array): Set<number> {
  const view = viewOf(bytes);
  const testNos = new Set<number>();
  for (let at = 0; at < bytes.length; at += 4) testNos.add(view.getInt32(at));
  return testNos;
}
