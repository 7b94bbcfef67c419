/** Lists of test numbers, each stored once for all submissions that ran the same tests. */
import { decodeTestList, encodeTestList } from "../../lib/analysis/columns.ts";
import type { Queryable } from "../connection/sql.ts";
import { takeNumbers } from "./repository_row.ts";
import { deleteTests } from "./tests.ts";

/** Lists, of some 20 kB each, that one statement reads. */
const LISTS_PER_STATEMENT = 100;

interface EncodedList {
  testCount: number;
  tests: Uint8Array;
}

/** The number of the list of exactly these tests; `null` when no submission has run it. */
export async function findTestListNo(
  sql: Queryable,
  { repositoryId, listHash }: { repositoryId: number; listHash: string },
): Promise<number | null> {
  const [row] = await sql<{ test_list_no: number }[]>`
    select test_list_no from test_list
    where repository_id = ${repositoryId} and list_hash = decode(${listHash}, 'hex')`;
  return row?.test_list_no ?? null;
}

/** Stores a new list and returns its number. */
export async function insertTestList(
  sql: Queryable,
  { repositoryId, listHash, testNos }: {
    repositoryId: number;
    listHash: string;
    testNos: Int32Array;
  },
): Promise<number> {
  const testListNo = await takeNumbers(sql, { repositoryId, column: "next_test_list_no" });
  await sql`
    insert into test_list (repository_id, test_list_no, list_hash, test_count, tests)
    values (${repositoryId}, ${testListNo}, decode(${listHash}, 'hex'), ${testNos.length},
      ${encodeTestList(testNos)})`;
  return testListNo;
}

/** Removes a list that no submission has any more, with its tests that can be deleted. */
export async function removeTestList(
  sql: Queryable,
  { repositoryId, testListNo }: { repositoryId: number; testListNo: number },
): Promise<void> {
  const [removed] = await sql<EncodedList[]>`
    delete from test_list l
    where repository_id = ${repositoryId} and test_list_no = ${testListNo}
      and ${isUnusedList(sql, repositoryId)}
    returning test_count as "testCount", tests`;
  if (!removed) return;
  const orphans = new Set(decodeTestList(removed.tests, removed.testCount));
  await excludeListed(sql, orphans, { repositoryId });
  await deleteTests(sql, repositoryId, orphans);
}

/**
 * Removes from `testNos` all that are in a list with at least the number `from`. Returns the number after
 * the last list.
 */
export async function excludeListed(
  sql: Queryable,
  testNos: Set<number>,
  { repositoryId, from = 0 }: { repositoryId: number; from?: number },
): Promise<number> {
  const lists = await sql<(EncodedList & { testListNo: number })[]>`
    select test_list_no as "testListNo", test_count as "testCount", tests from test_list
    where repository_id = ${repositoryId} and test_list_no >= ${from}
    order by test_list_no
    limit ${LISTS_PER_STATEMENT}`;
  for (const { tests, testCount } of lists) {
    for (const testNo of decodeTestList(tests, testCount)) testNos.delete(testNo);
  }
  const next = (lists.at(-1)?.testListNo ?? from - 1) + 1;
  if (lists.length < LISTS_PER_STATEMENT) return next;
  return await excludeListed(sql, testNos, { repositoryId, from: next });
}

/** SQL: whether no submission has run the row `l` of `test_list`. */
export function isUnusedList(sql: Queryable, repositoryId: number) {
  return sql`not exists (
    select 1 from submission s
    where s.repository_id = ${repositoryId} and s.test_list_no = l.test_list_no)`;
}
