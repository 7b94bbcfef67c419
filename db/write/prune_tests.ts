/** Deletes lists of tests that no submission ran any more, and tests that are in no list. */
import { writeTransaction } from "../schema/migrate.ts";
import type { Database } from "../connection/connect.ts";
import { lockRepository } from "../admin/repositories.ts";
import { integersIn, type Queryable } from "../connection/sql.ts";
import { isUnusedList, loadTestLists } from "./test_lists.ts";
import { isPublished, isUnreferenced } from "./tests.ts";
import { isUnusedSet } from "./test_tags.ts";

/** Lists, of some 20 kB each, that one statement reads or one batch deletes. */
const LISTS_PER_BATCH = 50;

/** Sets of tags that one batch deletes. */
const TAG_SETS_PER_BATCH = 500;

/** Tests that one batch deletes. */
const TESTS_PER_BATCH = 500;

/** Tests whose numbers one statement reads. */
const TESTS_PER_PAGE = 10_000;

/** Deletes the lists that no submission ran, and sets of tags that none has. */
export async function* pruneTestLists(
  sql: Database["sql"],
  { repositoryId }: { repositoryId: number },
): AsyncGenerator<{ testListCount: number }> {
  // Lists and sets that submissions have are looked up for all of them at once: no index leads there.
  const unusedSets = await sql<{ no: number }[]>`
    select test_tag_set_no as no from test_tag_set t
    where repository_id = ${repositoryId} and ${isUnusedSet(sql)}`;
  for (let start = 0; start < unusedSets.length; start += TAG_SETS_PER_BATCH) {
    const numbers = unusedSets.slice(start, start + TAG_SETS_PER_BATCH).map(({ no }) => no);
    await writeTransaction(sql, async (tx) => {
      if (!await lockRepository(tx, repositoryId)) return;
      await tx`
        delete from test_tag_set t
        where repository_id = ${repositoryId}
          and test_tag_set_no = any(${integersIn(tx, numbers)}) and ${isUnusedSet(tx)}`;
    });
    yield { testListCount: 0 };
  }

  const unusedLists = await sql<{ no: number }[]>`
    select test_list_no as no from test_list l
    where repository_id = ${repositoryId} and ${isUnusedList(sql)}`;
  for (let start = 0; start < unusedLists.length; start += LISTS_PER_BATCH) {
    const numbers = unusedLists.slice(start, start + LISTS_PER_BATCH).map(({ no }) => no);
    const testListCount = await writeTransaction(sql, async (tx) => {
      if (!await lockRepository(tx, repositoryId)) return 0;
      const gone = await tx<{ no: number }[]>`
        delete from test_list l
        where repository_id = ${repositoryId}
          and test_list_no = any(${integersIn(tx, numbers)}) and ${isUnusedList(tx)}
        returning test_list_no as no`;
      // A set of tags says nothing without its list.
      await tx`
        delete from test_tag_set
        where repository_id = ${repositoryId}
          and test_list_no = any(${integersIn(tx, gone.map(({ no }) => no))})`;
      return gone.length;
    });
    yield { testListCount };
  }
}

/**
 * Deletes the tests that are in no list, unless they ever were disruptive or are quarantined. One
 * that is uploaded again gets the same id.
 */
export async function* pruneTests(
  sql: Database["sql"],
  { repositoryId }: { repositoryId: number },
): AsyncGenerator<{ testCount: number }> {
  const numbers = await nextNumbers(sql, repositoryId);
  if (!numbers) return;
  const lists = await sql<{ no: number }[]>`
    select test_list_no as no from test_list where repository_id = ${repositoryId}`;
  const listed = await listedTests(sql, {
    repositoryId,
    testListNos: lists.map(({ no }) => no),
    testCount: numbers.nextTestNo,
  });
  // Tests that come from now on have greater numbers, lists as well.
  let { nextTestListNo } = numbers;
  for await (const unlisted of unlistedTests(sql, { repositoryId, listed })) {
    const testCount = await writeTransaction(sql, async (tx) => {
      const now = await nextNumbers(tx, repositoryId, { lock: true });
      if (!now) return 0;
      // A list that came meanwhile may hold some of them.
      const added = await tx<{ no: number }[]>`
        select test_list_no as no from test_list
        where repository_id = ${repositoryId} and test_list_no >= ${nextTestListNo}`;
      await markListed(tx, listed, { repositoryId, testListNos: added.map(({ no }) => no) });
      nextTestListNo = now.nextTestListNo;
      return await deleteTests(tx, repositoryId, unlisted.filter((no) => listed[no] === 0));
    });
    yield { testCount };
  }
}

interface NextNumbers {
  nextTestNo: number;
  nextTestListNo: number;
}

async function nextNumbers(
  sql: Queryable,
  repositoryId: number,
  { lock = false } = {},
): Promise<NextNumbers | null> {
  const [row] = await sql<NextNumbers[]>`
    select next_test_no as "nextTestNo", next_test_list_no as "nextTestListNo"
    from repository where repository_id = ${repositoryId}
    ${lock ? sql`for no key update` : sql``}`;
  return row ?? null;
}

/** A byte for each number of a test: 1 where one of the lists holds the test. */
export async function listedTests(
  sql: Queryable,
  { repositoryId, testListNos, testCount }: {
    repositoryId: number;
    testListNos: number[];
    /** Numbers below this one are told of. */
    testCount: number;
  },
): Promise<Uint8Array> {
  const listed = new Uint8Array(testCount);
  await markListed(sql, listed, { repositoryId, testListNos });
  return listed;
}

async function markListed(
  sql: Queryable,
  listed: Uint8Array,
  { repositoryId, testListNos }: { repositoryId: number; testListNos: number[] },
): Promise<void> {
  for (let start = 0; start < testListNos.length; start += LISTS_PER_BATCH) {
    const numbers = testListNos.slice(start, start + LISTS_PER_BATCH);
    const lists = await loadTestLists(sql, { repositoryId, testListNos: numbers });
    for (const testNos of lists.values()) for (const testNo of testNos) listed[testNo] = 1;
  }
}

/** Numbers of tests that may go: in no list, never disruptive, not quarantined; some at a time. */
export async function* unlistedTests(
  sql: Queryable,
  { repositoryId, listed }: { repositoryId: number; listed: Uint8Array },
): AsyncGenerator<number[]> {
  let after = -1;
  let unlisted: number[] = [];
  while (true) {
    const page = await sql<{ no: number }[]>`
      select test_no as no from test
      where repository_id = ${repositoryId} and test_no > ${after}
      order by test_no
      limit ${TESTS_PER_PAGE}`;
    const candidates = page.map(({ no }) => no).filter((no) => listed[no] === 0);
    unlisted.push(...await unreferencedOf(sql, repositoryId, candidates));
    const isLast = page.length < TESTS_PER_PAGE;
    while (unlisted.length >= TESTS_PER_BATCH || (isLast && unlisted.length > 0)) {
      yield unlisted.slice(0, TESTS_PER_BATCH);
      unlisted = unlisted.slice(TESTS_PER_BATCH);
    }
    if (isLast) return;
    after = page.at(-1)!.no;
  }
}

async function unreferencedOf(
  sql: Queryable,
  repositoryId: number,
  testNos: number[],
): Promise<number[]> {
  if (testNos.length === 0) return [];
  const rows = await sql<{ no: number }[]>`
    select test_no as no from test t
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(sql, testNos)}) and ${isUnreferenced(sql)}
      and ${isPublished(sql)}`;
  return rows.map(({ no }) => no);
}

async function deleteTests(
  tx: Queryable,
  repositoryId: number,
  testNos: number[],
): Promise<number> {
  if (testNos.length === 0) return 0;
  const { count } = await tx`
    delete from test t
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(tx, testNos)}) and ${isUnreferenced(tx)}
      and ${isPublished(tx)}`;
  if (count > 0) {
    // Whoever looked up tests ahead of an upload looks again.
    await tx`
      update repository set removal_count = removal_count + 1
      where repository_id = ${repositoryId}`;
  }
  return count;
}
