/** Deletes lists of tests that no submission refers to any more, and tests that are in no list. */
import type { Database } from "../connection/connect.ts";
import type { Queryable } from "../connection/sql.ts";
import { isPublished } from "../read/fragments.ts";
import { lockRepository } from "./repository_row.ts";
import { excludeListed, isUnusedList } from "./test_lists.ts";
import { isUnusedSet } from "./test_tags.ts";
import { deleteTests, isUnreferenced } from "./tests.ts";
import { writeTransaction } from "./transaction.ts";

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
  const deleted = await inBatch(sql, repositoryId, async (tx) => {
    await tx`
      delete from test_tag_set t where repository_id = ${repositoryId} and ${
      isUnusedSet(tx, repositoryId)
    }`;
    return await tx`
      delete from test_list l where repository_id = ${repositoryId} and ${
      isUnusedList(tx, repositoryId)
    }`;
  });
  if (deleted && deleted.count > 0) yield { testListCount: deleted.count };
}

/**
 * Deletes the tests that are in no list, unless they were ever disruptive or are quarantined. One
 * that is uploaded again gets the same id.
 */
export async function* pruneTests(
  sql: Database["sql"],
  { repositoryId }: { repositoryId: number },
): AsyncGenerator<{ testCount: number }> {
  const [repository] = await sql<{ nextListNo: number }[]>`
    select next_test_list_no as "nextListNo" from repository_state
    where repository_id = ${repositoryId}`;
  if (!repository) return;
  const isNewList = sql`test_list_no >= ${repository.nextListNo}`;
  const unlisted = await findUnlistedTests(sql, repositoryId);
  while (unlisted.size > 0) {
    const testCount = await inBatch(sql, repositoryId, async (tx) => {
      // Lists that were added since may contain some of them.
      await excludeListed(tx, unlisted, { repositoryId, isCounted: isNewList });
      const testNos = [...unlisted.values().take(TESTS_PER_BATCH)];
      for (const testNo of testNos) unlisted.delete(testNo);
      return await deleteTests(tx, repositoryId, testNos);
    });
    if (testCount === null) return;
    yield { testCount };
  }
}

/** Tests that can be deleted: in no list that counts, never disruptive, not quarantined. */
export async function findUnlistedTests(
  sql: Queryable,
  repositoryId: number,
  isCounted = sql`true`,
): Promise<Set<number>> {
  const rows = await sql<{ no: number }[]>`
    select test_no as no from test t
    where repository_id = ${repositoryId} and ${isUnreferenced(sql, repositoryId)} and ${
    isPublished(sql, repositoryId)
  }`;
  const unlisted = new Set(rows.map(({ no }) => no));
  await excludeListed(sql, unlisted, { repositoryId, isCounted });
  return unlisted;
}
