/** Lists of test numbers, each stored once for all submissions that ran the same tests. */
import { decodeTestList, encodeTestList } from "../../lib/analysis/columns.ts";
import { integersIn, type Queryable } from "../connection/sql.ts";
import { loadTestLists } from "../read/test_lists.ts";
import { isUnreferenced } from "./tests.ts";

/** Lists, of some 20 kB each, that one statement reads. */
const LISTS_PER_STATEMENT = 100;

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
  const [row] = await sql<{ test_list_no: number }[]>`
    with numbers as (
      update repository set next_test_list_no = next_test_list_no + 1
      where repository_id = ${repositoryId}
      returning next_test_list_no - 1 as test_list_no
    )
    insert into test_list (repository_id, test_list_no, list_hash, test_count, tests)
    select ${repositoryId}, test_list_no, decode(${listHash}, 'hex'), ${testNos.length},
      ${encodeTestList(testNos)}
    from numbers
    returning test_list_no`;
  return row!.test_list_no;
}

/**
 * Removes a list that no submission has run any more, and its tests that are in no other list, except
 * those that are quarantined or were ever disruptive.
 */
export async function removeTestList(
  sql: Queryable,
  { repositoryId, testListNo }: { repositoryId: number; testListNo: number },
): Promise<void> {
  const [removed] = await sql<{ test_count: number; tests: Uint8Array }[]>`
    delete from test_list l
    where repository_id = ${repositoryId} and test_list_no = ${testListNo}
      and ${isUnusedList(sql)}
    returning test_count, tests`;
  if (!removed) return;
  const orphans = new Set(decodeTestList(removed.tests, removed.test_count));
  const others = await sql<{ test_list_no: number }[]>`
    select test_list_no from test_list where repository_id = ${repositoryId}`;
  const testListNos = others.map(({ test_list_no }) => test_list_no);
  await excludeListed(sql, orphans, { repositoryId, testListNos });
  await sql`
    delete from test t
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(sql, orphans)}) and ${isUnreferenced(sql)}`;
}

/** Removes from `testNos` all that are in one of the lists. */
export async function excludeListed(
  sql: Queryable,
  testNos: Set<number>,
  { repositoryId, testListNos }: { repositoryId: number; testListNos: number[] },
): Promise<void> {
  for (let start = 0; start < testListNos.length; start += LISTS_PER_STATEMENT) {
    const batch = testListNos.slice(start, start + LISTS_PER_STATEMENT);
    const lists = await loadTestLists(sql, { repositoryId, testListNos: batch });
    for (const listed of lists.values()) listed.forEach((testNo) => testNos.delete(testNo));
  }
}

/** SQL: whether no submission has run the row `l` of `test_list`. */
export function isUnusedList(sql: Queryable) {
  return sql`not exists (
    select from submission s
    where s.repository_id = l.repository_id and s.test_list_no = l.test_list_no)`;
}
