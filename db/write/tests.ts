// Tests: tests/db/write/file_matches_test.ts tests/db/write/prune_test.ts
/** Tests, and lists of their numbers, each stored once for all submissions that ran the same tests. */
import type { NewTests } from "../../lib/analysis/changing_names.ts";
import type { MistakenMatch } from "../../lib/analysis/file_matches.ts";
import { encodeOverheads, encodeTestList } from "../../lib/analysis/columns.ts";
import { indexOfTest, type SubmissionContent } from "../../lib/analysis/submission_content.ts";
import { testHash, type TestIdentity } from "../../lib/base/identity.ts";
import { arrayOf, integersIn, type Queryable } from "../connection/sql.ts";
import { loadTestListsFrom } from "../read/runs.ts";
import { forceFullReload, takeNumbers } from "./repository_row.ts";

/** Tests that one statement looks up or stores: with 5,000, a million of them leave 40 MB more garbage. */
export const TESTS_PER_STATEMENT = 2_000;

/** What of an upload's content tests are made of. */
type TestContent = Pick<SubmissionContent, "testHashes" | "identityAt">;

/** Lists, of some 20 kB each, that one statement reads. */
const LISTS_PER_STATEMENT = 100;

/**
 * Stores the list of an upload's tests, and the new ones among them, with the repository locked. Returns
 * the number of the list, the test_no of the tests with failures by test_hash, the test_no of ambiguous
 * tests, the time of suites beyond their tests, which tests are new, and which lost a file to them.
 *
 * @param options.testListNo of the list if it is stored, from {@linkcode findTestListNo}
 */
export async function storeTestList(
  tx: Queryable,
  { repositoryId, content, testListNo: stored }: {
    repositoryId: number;
    content: SubmissionContent;
    testListNo: number | null;
  },
): Promise<{
  testListNo: number;
  failedTestNos: TestNos;
  ambiguousTestNos: number[];
  overheads: Uint8Array;
  newTests: NewTests;
  mistaken: MistakenMatch[];
}> {
  let newTests: NewTests = { count: 0, examples: [] };
  let mistaken: MistakenMatch[] = [];
  const insert = async () => {
    const { testNos, ...added } = await storeTests(tx, { repositoryId, content });
    ({ newTests, mistaken } = added);
    return await insertTestList(tx, { repositoryId, listHash: content.listHash, testNos });
  };
  const testListNo = stored ?? await insert();
  const testNos = await findTestNos(tx, repositoryId, content);
  const ambiguousTestNos = content.ambiguousTestHashes.flatMap((hash) => testNos.get(hash) ?? []);
  const overheads = encodeOverheads(content.overheads, testNos);
  return { testListNo, failedTestNos: testNos, ambiguousTestNos, overheads, newTests, mistaken };
}

const NOT_STORED = -1;

/** The test_no of tests by test_hash, by column: there may be a million. */
export class TestNos {
  readonly #testHashes: Float64Array;
  readonly #testNos: Int32Array;

  /** @param testHashes ascending */
  constructor(testHashes: Float64Array, testNos: Int32Array) {
    this.#testHashes = testHashes;
    this.#testNos = testNos;
  }

  get(testHash: number): number | undefined {
    const testNo = this.#testNos[indexOfTest(this.#testHashes, testHash)];
    return testNo === NOT_STORED ? undefined : testNo;
  }
}

/** The tests of an upload that its rows name: those with failures, ambiguous ones, the first of suites. */
async function findTestNos(
  tx: Queryable,
  repositoryId: number,
  { negatives, ambiguousTestHashes, overheads }: SubmissionContent,
): Promise<TestNos> {
  const others = [...ambiguousTestHashes, ...overheads.map(({ testHash }) => testHash)];
  const failedCount = negatives.testHashes.length;
  const testHashes = new Float64Array(failedCount + others.length);
  testHashes.set(negatives.testHashes);
  testHashes.set(others, failedCount);
  testHashes.sort();
  const testNos = new Int32Array(testHashes.length);
  for (let start = 0; start < testHashes.length; start += TESTS_PER_STATEMENT) {
    const batch = testHashes.subarray(start, start + TESTS_PER_STATEMENT);
    const found = await testNosByHash(tx, repositoryId, new Set(batch));
    batch.forEach((hash, offset) => testNos[start + offset] = found.get(hash) ?? NOT_STORED);
  }
  return new TestNos(testHashes, testNos);
}

/** Stores the tests that are new to the repository, with it locked. Returns all test_no, in order, too. */
async function storeTests(
  tx: Queryable,
  { repositoryId, content }: { repositoryId: number; content: TestContent },
): Promise<{ testNos: Int32Array; newTests: NewTests; mistaken: MistakenMatch[] }> {
  const { testHashes } = content;
  const testNos = new Int32Array(testHashes.length);
  const unknown: number[] = [];
  for (let start = 0; start < testNos.length; start += TESTS_PER_STATEMENT) {
    const hashes = testHashes.subarray(start, start + TESTS_PER_STATEMENT);
    const known = await testNosByHash(tx, repositoryId, hashes);
    hashes.forEach((hash, offset) => {
      const testNo = known.get(hash);
      if (testNo === undefined) unknown.push(start + offset);
      else testNos[start + offset] = testNo;
    });
  }
  const count = unknown.length;
  const newTests = { count, examples: unknown.slice(0, 2).map(content.identityAt) };
  const mistaken: MistakenMatch[] = [];
  if (count === 0) return { testNos, newTests, mistaken };
  const first = await takeNumbers(tx, { repositoryId, column: "next_test_no", count });
  for (let start = 0; start < count; start += TESTS_PER_STATEMENT) {
    // Numbers ascend with test_hash, so that the differences in a list are small.
    const tests = unknown.slice(start, start + TESTS_PER_STATEMENT).map((index, offset) => {
      const testNo = testNos[index] = first + start + offset;
      return { ...content.identityAt(index), testNo, testHash: testHashes[index]! };
    });
    await insertTests(tx, repositoryId, tests);
    mistaken.push(...await removeAliases(tx, repositoryId, tests));
  }
  return { testNos, newTests, mistaken };
}

/**
 * Removes what new tests contradict: a test with a file is no longer that without one when there is another
 * of its suite, class and name, and a file that a test got belongs to a new test. Returns those that lost a file.
 */
async function removeAliases(
  tx: Queryable,
  repositoryId: number,
  added: readonly (TestIdentity & { testHash: number })[],
): Promise<MistakenMatch[]> {
  const [row] = await tx<{ hasAliases: boolean }[]>`
    select exists (
      select 1 from test where repository_id = ${repositoryId} and alias_hash is not null
    ) as "hasAliases"`;
  if (!row!.hasAliases) return [];
  const contradicted = added.flatMap((test) => [
    { hash: test.testHash, file: test.file },
    { hash: testHash({ ...test, file: "" }), file: test.file },
  ]);
  // `o` is the test as it was: the update returns what it stores.
  const removed = await tx<(MistakenMatch & { hasNoFile: boolean })[]>`
    update test t
    set alias_hash = null, file_matched_at = null,
      file = case when t.file = c.file then '' else t.file end
    from json_to_recordset(${JSON.stringify(contradicted)}::text::json)
      as c(hash bigint, file text), test o
    where t.repository_id = ${repositoryId} and t.alias_hash = c.hash
      and o.repository_id = ${repositoryId} and o.test_no = t.test_no
    returning t.name, o.file, t.test_hash::float8 as "testHash", t.file = '' as "hasNoFile",
      extract(epoch from o.file_matched_at)::float8 as "matchedAt"`;
  if (removed.length > 0) await forceFullReload(tx, repositoryId);
  return removed.filter(({ hasNoFile }) => hasNoFile);
}

/** Stores new tests under numbers that were taken. */
export async function insertTests(
  tx: Queryable,
  repositoryId: number,
  tests: readonly (TestIdentity & { testNo: number; testHash: number })[],
): Promise<void> {
  await tx`
    insert into test (repository_id, test_no, test_hash, suite, class, name, file)
    select ${repositoryId}, "testNo", "testHash", suite, class, name, file
    from json_to_recordset(${JSON.stringify(tests)}::text::json) as t("testNo" int,
      "testHash" bigint, suite text, class text, name text, file text)`;
}

/**
 * The test_no of the given tests, by test_hash; tests that are not stored are missing.
 *
 * A lateral look-up of each: with one condition for all, the planner reads every test of a repository
 * that it has no statistics of, for every batch of a first upload, at a tenth of the speed.
 */
export async function testNosByHash(
  sql: Queryable,
  repositoryId: number,
  testHashes: Iterable<number>,
): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  const hashes = [...testHashes];
  for (let start = 0; start < hashes.length; start += TESTS_PER_STATEMENT) {
    const batch = hashes.slice(start, start + TESTS_PER_STATEMENT);
    for (const { testHash, testNo } of await loadTestNos(sql, repositoryId, batch)) {
      found.set(testHash, testNo);
    }
  }
  return found;
}

async function loadTestNos(sql: Queryable, repositoryId: number, testHashes: number[]) {
  const hashes = arrayOf(testHashes);
  return await sql<{ testHash: number; testNo: number }[]>`
    select h.test_hash::float8 as "testHash", t.test_no as "testNo"
    from unnest(${hashes}::text::bigint[]) as h(test_hash)
    cross join lateral (
      select test_no from test
      where repository_id = ${repositoryId} and test_hash = h.test_hash
      limit 1) t`;
}

/** The number of the list of exactly these tests; `null` when no submission has run it. */
export async function findTestListNo(
  sql: Queryable,
  { repositoryId, listHash }: { repositoryId: number; listHash: string },
): Promise<number | null> {
  const [row] = await sql<{ testListNo: number }[]>`
    select test_list_no as "testListNo" from test_list
    where repository_id = ${repositoryId} and list_hash = decode(${listHash}, 'hex')`;
  return row?.testListNo ?? null;
}

/** Stores a new list and returns its number. */
async function insertTestList(
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

/** Deletes lists, and sets of tags of their tests, that no submission has; returns how many lists. */
export async function deleteUnusedLists(tx: Queryable, repositoryId: number): Promise<number> {
  await tx`
    delete from test_tag_set t
    where repository_id = ${repositoryId} and not exists (
      select 1 from submission s
      where s.repository_id = ${repositoryId} and s.test_tag_digest = t.digest)`;
  const { count } = await tx`
    delete from test_list l
    where repository_id = ${repositoryId} and not exists (
      select 1 from submission s
      where s.repository_id = ${repositoryId} and s.test_list_no = l.test_list_no)`;
  return count;
}

/** The tests that are in no list, and the number after the last list. */
export async function findUnlistedTests(
  sql: Queryable,
  repositoryId: number,
): Promise<{ unlisted: Set<number>; nextListNo: number }> {
  const rows = await sql<{ testNo: number }[]>`
    select test_no as "testNo" from test t
    where repository_id = ${repositoryId} and ${isDeletable(sql, repositoryId)}`;
  const unlisted = new Set(rows.map(({ testNo }) => testNo));
  return { unlisted, nextListNo: await excludeListed(sql, unlisted, { repositoryId }) };
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
  const lists = await loadTestListsFrom(sql, { repositoryId, from, limit: LISTS_PER_STATEMENT });
  let next = from;
  for (const [testListNo, list] of lists) {
    for (const testNo of list.testNos) testNos.delete(testNo);
    next = testListNo + 1;
  }
  if (lists.size < LISTS_PER_STATEMENT) return next;
  return await excludeListed(sql, testNos, { repositoryId, from: next });
}

/** Deletes the given tests that were never disruptive and are not quarantined. */
export async function deleteTests(
  tx: Queryable,
  repositoryId: number,
  testNos: Iterable<number>,
): Promise<void> {
  await tx`
    delete from test t
    where repository_id = ${repositoryId} and test_no = any(${integersIn(tx, testNos)})
      and ${isDeletable(tx, repositoryId)}`;
}

/** SQL: whether the row `t` of `test` was never disruptive and is not quarantined. */
function isDeletable(sql: Queryable, repositoryId: number) {
  return sql`
    not exists (
      select 1 from disruptive_test d
      where d.repository_id = ${repositoryId} and d.test_no = t.test_no)
    and not exists (
      select 1 from quarantine q
      where q.repository_id = ${repositoryId} and q.test_no = t.test_no)`;
}
