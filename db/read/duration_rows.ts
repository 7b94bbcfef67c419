/** Rows that the queries about durations share. */
import type { StoredDurations, TestGroups } from "../../lib/analysis/durations.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { idsIn, integersIn, type Queryable } from "../connection/sql.ts";

/** Groups with what their order is by. */
export interface KeyedGroups {
  groups: TestGroups;
  /** Compares the keys of two groups. */
  compare(a: number, b: number): number;
}

/** Each test of a repository as a group, with its test_no and test_hash. */
export interface TestsAsGroups extends KeyedGroups {
  names: null;
  testNos: Int32Array;
  hashes: Float64Array;
}

/** Each test as a group of its own. */
export async function loadTestsAsGroups(
  sql: Queryable,
  repositoryId: number,
): Promise<TestsAsGroups> {
  const [row] = await sql<{ tests: Uint8Array }[]>`
    select coalesce(string_agg(int4send(t.test_no) || int8send(t.test_hash), ''), '') as tests
    from test t
    where t.repository_id = ${repositoryId}`;
  const view = viewOf(row!.tests);
  const count = view.byteLength / 12;
  const testNos = new Int32Array(count);
  const hashes = new Float64Array(count);
  for (let index = 0; index < count; index++) {
    testNos[index] = view.getInt32(12 * index);
    hashes[index] = view.getInt32(12 * index + 4) * 2 ** 32 + view.getUint32(12 * index + 8);
  }
  const groupOf = emptyGroups([testNos]);
  for (let index = 0; index < count; index++) groupOf[testNos[index]!] = index;
  return {
    names: null,
    testNos,
    hashes,
    groups: { groupOf, groupCount: count },
    compare: (a, b) => hashes[a]! - hashes[b]!,
  };
}

/** The group of each of the tests and those between, none so far. */
export function emptyGroups(testNos: readonly Int32Array[]): Int32Array {
  let end = 0;
  for (const own of testNos) for (const testNo of own) if (testNo >= end) end = testNo + 1;
  return new Int32Array(end).fill(-1);
}

export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** The durations of submissions, newest first. */
export function selectDurations(
  sql: Queryable,
  { repositoryId, submissionIds }: { repositoryId: number; submissionIds: string[] },
) {
  return sql<StoredDurations[]>`
    select s.test_list_no as "testListNo", s.durations, s.duration_unit as "durationUnit",
      s.overheads
    from submission s
    where s.repository_id = ${repositoryId} and s.submission_id = any(${idsIn(sql, submissionIds)})
    order by s.submission_id desc`;
}

export function selectIdentities(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: number[] },
) {
  return sql<(TestIdentity & { testNo: number })[]>`
    select t.test_no as "testNo", t.suite, t.class, t.name, t.file from test t
    where t.repository_id = ${repositoryId} and t.test_no = any(${integersIn(sql, testNos)})`;
}
