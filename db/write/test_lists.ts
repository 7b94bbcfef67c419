import type { TestIdentity } from "../../lib/base/identity.ts";
import { arrayOf, integersIn, type Queryable, someTextsOf } from "../connection/sql.ts";
import type { TestRange } from "./staged_tests.ts";
import { decodeTestList, encodeTestList } from "../../lib/analysis/columns.ts";
import type { TestLists } from "../../lib/analysis/run_counts.ts";
import type { SubmissionContent } from "../../lib/analysis/submission_content.ts";

/**
 * Tests that one statement stores.
 *
 * The embedded database lets everybody wait while a statement runs. With 1,000 tests a request
 * beside an upload of 100,000 waited up to 610 ms, with 400 up to 130, and the upload took 3.4 s
 * instead of 5.2.
 */
const TESTS_PER_STATEMENT = 400;

/** Lists of tests, of some 20 kB each, that one statement reads. */
const LISTS_PER_STATEMENT = 100;

/** The number of the list of exactly these tests, `null` when no submission ran it yet. */
export async function findTestListNo(
  sql: Queryable,
  { repositoryId, listHash }: { repositoryId: number; listHash: string },
): Promise<number | null> {
  const [row] = await sql<{ test_list_no: number }[]>`
    select test_list_no from test_list
    where repository_id = ${repositoryId} and list_hash = decode(${listHash}, 'hex')`;
  return row?.test_list_no ?? null;
}

/** The tests of a submission, as they are stored. */
export interface EnsuredTests {
  /** The test_no of each, in the order of the submission. */
  testNos: Int32Array;
  /** Ranges of numbers that those have which were stored for this submission. */
  staged: TestRange[];
}

/**
 * The numbers of a submission's tests; tests that are new to the repository are stored with their
 * tags, and stay unknown to others until `makeKnown`.
 *
 * Runs in statements of its own and not in the submission's transaction, so that others wait for a
 * batch and not for all of them.
 *
 * @param options.tagsAt tags of the test at a place of the submission
 */
export async function ensureTests(
  sql: Queryable,
  { repositoryId, content, tagsAt }: {
    repositoryId: number;
    content: SubmissionContent;
    tagsAt(index: number): string[];
  },
): Promise<EnsuredTests> {
  const testNos = new Int32Array(content.testHashes.length);
  const staged: TestRange[] = [];
  for (let start = 0; start < testNos.length; start += TESTS_PER_STATEMENT) {
    const hashes = content.testHashes.subarray(start, start + TESTS_PER_STATEMENT);
    const known = await testNosByHash(sql, repositoryId, hashes);
    if (known.size < hashes.length) {
      const missing: number[] = [];
      hashes.forEach((hash, offset) => known.has(hash) || missing.push(start + offset));
      const tests = missing.map((index, offset) => ({
        offset,
        test_hash: content.testHashes[index],
        ...content.identityAt(index),
        tags: tagsAt(index),
      }));
      const { inserted, range } = await insertTests(sql, repositoryId, tests);
      staged.push(range);
      // What somebody else stored at the same moment was not inserted.
      const others = inserted.size < missing.length
        ? await testNosByHash(sql, repositoryId, hashes)
        : [];
      for (const [hash, testNo] of [...inserted, ...others]) known.set(hash, testNo);
    }
    hashes.forEach((hash, offset) => testNos[start + offset] = known.get(hash)!);
  }
  return { testNos, staged };
}

/**
 * The numbers of those of the given tests that the repository knows, by test_hash.
 *
 * Each is looked up by itself. Asked for all in one condition, the planner reads every test of a
 * repository that its statistics do not know yet, for every batch of a first upload: a tenth of the
 * speed.
 */
export async function testNosByHash(
  sql: Queryable,
  repositoryId: number,
  testHashes: Iterable<number>,
): Promise<Map<number, number>> {
  const rows = await sql<{ test_hash: number; test_no: number }[]>`
    select h.test_hash::float8, t.test_no
    from unnest(${arrayOf(testHashes)}::text::bigint[]) as h(test_hash)
    cross join lateral (
      select test_no from test
      where repository_id = ${repositoryId} and test_hash = h.test_hash
      limit 1) t`;
  return new Map(rows.map((row) => [row.test_hash, row.test_no]));
}

interface NewTest extends TestIdentity {
  /** Position among the tests of the statement. */
  offset: number;
  test_hash: number | undefined;
  tags: string[];
}

/** Stores tests as staged; returns the numbers of those that were new, by test_hash. */
async function insertTests(
  sql: Queryable,
  repositoryId: number,
  tests: NewTest[],
): Promise<{ inserted: Map<number, number>; range: TestRange }> {
  // Numbers are given in the order of test_hash, so that the differences in a list are small.
  const rows = await sql<{ test_hash: number; test_no: number; first: number }[]>`
    with numbers as (
      update repository set next_test_no = next_test_no + ${tests.length}
      where repository_id = ${repositoryId}
      returning next_test_no - ${tests.length} as first_no, next_test_no as end_no
    ), range as (
      insert into unpublished_test_range (repository_id, first_test_no, end_test_no)
      select ${repositoryId}, first_no, end_no from numbers
    ), inserted as (
      insert into test (repository_id, test_no, test_hash, suite, class, name, file, tags)
      select ${repositoryId}, numbers.first_no + t.offset, t.test_hash, t.suite, t.class, t.name,
        t.file, ${someTextsOf(sql, sql`t.tags`)}
      from numbers, json_to_recordset(${JSON.stringify(tests)}::text::json) as t("offset" int,
        test_hash bigint, suite text, class text, name text, file text, tags json)
      on conflict (repository_id, test_hash) do nothing
      returning test_hash, test_no
    )
    select test_hash::float8, test_no, first_no as first
    from numbers left join inserted on true`;
  const first = rows[0]?.first ?? 0;
  return {
    inserted: new Map(
      rows.filter((row) => row.test_no !== null).map((row) => [row.test_hash, row.test_no]),
    ),
    range: { first, end: first + tests.length },
  };
}

/** Stores a list that the repository does not have yet; returns its number. */
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

/** The lists with the given numbers; in each, tests are in ascending order of test_hash. */
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

/** The tests (test_no) of a list that is there, in ascending order of test_hash. */
export async function loadTestList(
  sql: Queryable,
  { repositoryId, testListNo }: { repositoryId: number; testListNo: number },
): Promise<Int32Array> {
  const lists = await loadTestLists(sql, { repositoryId, testListNos: [testListNo] });
  return lists.get(testListNo)!;
}

/**
 * Removes a list that no submission ran any more, and its tests that no other list holds. A
 * quarantined test stays: somebody said something about it. So does one whose disruptions were
 * pruned: its first date would be lost.
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
  // Some at a time: all lists of a repository together may be large.
  for (let start = 0; start < others.length; start += LISTS_PER_STATEMENT) {
    const testListNos = others.slice(start, start + LISTS_PER_STATEMENT)
      .map(({ test_list_no }) => test_list_no);
    const lists = await loadTestLists(sql, { repositoryId, testListNos });
    for (const testNos of lists.values()) testNos.forEach((testNo) => orphans.delete(testNo));
  }
  await sql`
    delete from test t
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(sql, orphans)}) and ${hasNoStory(sql)}`;
}

/** SQL: whether no submission ran the row `l` of `test_list`. */
export function isUnusedList(sql: Queryable) {
  return sql`not exists (
    select from submission s
    where s.repository_id = l.repository_id and s.test_list_no = l.test_list_no)`;
}

/** SQL: whether nothing is said of the row `t` of `test` but that it ran. */
export function hasNoStory(sql: Queryable) {
  return sql`not exists (
      select from disruptive_test d
      where d.repository_id = t.repository_id and d.test_no = t.test_no)
    and not exists (
      select from quarantine q
      where q.repository_id = t.repository_id and q.test_no = t.test_no)`;
}
