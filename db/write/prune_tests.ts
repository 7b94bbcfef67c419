/** Deletes lists of tests that no submission refers to any more, and tests that are in no list. */
import type { Database } from "../connection/connect.ts";
import { integersIn, type Queryable } from "../connection/sql.ts";
import { isPublished } from "../read/fragments.ts";
import { lockRepository } from "./repository_row.ts";
import { excludeListed, isUnusedList } from "./test_lists.ts";
import { isUnusedSet } from "./test_tags.ts";
import { isUnreferenced } from "./tests.ts";
import { writeTransaction } from "./transaction.ts";

/** Lists, of some 20 kB each. */
const LISTS_PER_BATCH = 50;
const TESTS_PER_BATCH = 500;

/** Runs a batch in a transaction with the repository locked; `null` when it does not exist any more. */
export async function inBatch<T>(
  sql: Database["sql"],
  repositoryId: number,
  batch: (tx: Queryable) => Promise<T>,
): Promise<T | null> {
  return await writeTransaction(
    sql,
    async (tx) => await lockRepository(tx, repositoryId) ? await batch(tx) : null,
  );
}

/** Deletes the lists, and sets of tags, that no submission has. */
export async function* pruneTestLists(
  sql: Database["sql"],
  { repositoryId }: { repositoryId: number },
): AsyncGenerator<{ testListCount: number }> {
  // Found at once for all lists, because no index leads from a list to its submissions.
  const unused = await sql<{ no: number }[]>`
    select test_list_no as no from test_list l
    where repository_id = ${repositoryId} and ${isUnusedList(sql)}`;
  for (let start = 0; start === 0 || start < unused.length; start += LISTS_PER_BATCH) {
    const numbers = unused.slice(start, start + LISTS_PER_BATCH).map(({ no }) => no);
    const deleted = await inBatch(sql, repositoryId, async (tx) => {
      await tx`
        delete from test_tag_set t where repository_id = ${repositoryId} and ${isUnusedSet(tx)}`;
      return await tx`
        delete from test_list l
        where repository_id = ${repositoryId}
          and test_list_no = any(${integersIn(tx, numbers)}) and ${isUnusedList(tx)}`;
    });
    if (deleted && deleted.count > 0) yield { testListCount: deleted.count };
  }
}

/**
 * Deletes the tests that are in no list, unless they were ever disruptive or are quarantined. One that
 * is uploaded again gets the same id.
 */
export async function* pruneTests(
  sql: Database["sql"],
  { repositoryId }: { repositoryId: number },
): AsyncGenerator<{ testCount: number }> {
  let nextListNo = 0;
  const newLists = async (sql: Queryable) => {
    const rows = await sql<{ no: number }[]>`
      select test_list_no as no from test_list
      where repository_id = ${repositoryId} and test_list_no >= ${nextListNo}`;
    const numbers = rows.map(({ no }) => no);
    for (const no of numbers) nextListNo = Math.max(nextListNo, no + 1);
    return numbers;
  };
  const unlisted = await findUnlistedTests(sql, repositoryId, await newLists(sql));
  while (unlisted.size > 0) {
    const testCount = await inBatch(sql, repositoryId, async (tx) => {
      // Lists that were added meanwhile may contain some of them.
      await excludeListed(tx, unlisted, { repositoryId, testListNos: await newLists(tx) });
      const testNos = [...unlisted.values().take(TESTS_PER_BATCH)];
      for (const testNo of testNos) unlisted.delete(testNo);
      return await deleteTests(tx, repositoryId, testNos);
    });
    if (testCount === null) return;
    yield { testCount };
  }
}

/** Tests (test_no) that can be deleted: in none of these lists, never disruptive, not quarantined. */
export async function findUnlistedTests(
  sql: Queryable,
  repositoryId: number,
  testListNos: number[],
): Promise<Set<number>> {
  const rows = await sql<{ no: number }[]>`
    select test_no as no from test t
    where repository_id = ${repositoryId} and ${isUnreferenced(sql)} and ${isPublished(sql)}`;
  const unlisted = new Set(rows.map(({ no }) => no));
  await excludeListed(sql, unlisted, { repositoryId, testListNos });
  return unlisted;
}

async function deleteTests(
  tx: Queryable,
  repositoryId: number,
  testNos: number[],
): Promise<number> {
  const { count } = await tx`
    delete from test t
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(tx, testNos)}) and ${isUnreferenced(tx)}
      and ${isPublished(tx)}`;
  if (count > 0) {
    // Uploads that have prepared their tests look them up again.
    await tx`
      update repository set removal_count = removal_count + 1
      where repository_id = ${repositoryId}`;
  }
  return count;
}
