import { decodeTestList } from "../../lib/analysis/columns.ts";
import type { TestLists } from "../../lib/analysis/run_counts.ts";
import { integersIn, type Queryable } from "../connection/sql.ts";

/** The tests (test_no) of lists, in ascending order of test_hash. */
export async function loadTestLists(
  sql: Queryable,
  { repositoryId, testListNos }: { repositoryId: number; testListNos: Iterable<number> },
): Promise<TestLists> {
  const rows = await sql<{ test_list_no: number; test_count: number; tests: Uint8Array }[]>`
    select test_list_no, test_count, tests from test_list
    where repository_id = ${repositoryId}
      and test_list_no = any(${integersIn(sql, testListNos)})`;
  return new Map(
    rows.map((row) => [row.test_list_no, decodeTestList(row.tests, row.test_count)]),
  );
}

/** The tests (test_no) of one list, in ascending order of test_hash. */
export async function loadTestList(
  sql: Queryable,
  { repositoryId, testListNo }: { repositoryId: number; testListNo: number },
): Promise<Int32Array> {
  const lists = await loadTestLists(sql, { repositoryId, testListNos: [testListNo] });
  return lists.get(testListNo)!;
}
