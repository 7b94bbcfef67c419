/**
 * Tests of an upload are stored in batches before the transaction that stores its submission: on the
 * embedded database every other request waits for a running transaction, and 100,000 new tests take
 * seconds. Until that transaction publishes them they are invisible; when the process is killed before,
 * they stay so until an upload with the same tests publishes them.
 */
import type { SubmissionContent } from "../../lib/analysis/submission_content.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { arrayOf, type Queryable, someTextsOf } from "../connection/sql.ts";

/**
 * Tests that one statement stores. On the embedded database a request beside an upload of 100,000 new
 * tests waited up to 610 ms with 1,000, up to 130 ms with 400; the upload took 3.4 s instead of 5.2.
 */
const TESTS_PER_STATEMENT = 400;

/** Test numbers from `first` up to but not including `end`. */
export interface TestRange {
  first: number;
  end: number;
}

/** Tests of an upload that are stored, but not all published. */
export interface PreparedTests {
  /** The test_no of each test, in the order of the upload. */
  testNos: Int32Array;
  /** Those of them that this upload added. */
  added: TestRange[];
}

/**
 * Stores the tests of an upload that are new to the repository, with their tags, unpublished.
 *
 * @param options.tagsAt tags of the test at an index of the upload
 */
export async function prepareTests(
  sql: Queryable,
  { repositoryId, content, tagsAt }: {
    repositoryId: number;
    content: SubmissionContent;
    tagsAt(index: number): string[];
  },
): Promise<PreparedTests> {
  const testNos = new Int32Array(content.testHashes.length);
  const added: TestRange[] = [];
  for (let start = 0; start < testNos.length; start += TESTS_PER_STATEMENT) {
    const hashes = content.testHashes.subarray(start, start + TESTS_PER_STATEMENT);
    let known = await testNosByHash(sql, repositoryId, hashes);
    if (known.size < hashes.length) {
      const tests: NewTest[] = [];
      hashes.forEach((test_hash, offset) => {
        if (known.has(test_hash)) return;
        const index = start + offset;
        tests.push({ test_hash, ...content.identityAt(index), tags: tagsAt(index) });
      });
      added.push(await insertTests(sql, repositoryId, tests));
      // Some may have been stored by another process at the same time.
      known = await testNosByHash(sql, repositoryId, hashes);
    }
    hashes.forEach((hash, offset) => testNos[start + offset] = known.get(hash)!);
  }
  return { testNos, added };
}

/**
 * Publishes the tests of a submission; part of its transaction.
 *
 * @returns whether a test has the tags of this upload, and no others, already
 */
export async function publishTests(
  tx: Queryable,
  { repositoryId, testNos, added }: PreparedTests & { repositoryId: number },
): Promise<(testNo: number) => boolean> {
  const unpublished = await tx<TestRange[]>`
    select first_test_no as first, end_test_no as end from unpublished_test_range
    where repository_id = ${repositoryId}`;
  const addedFirsts = new Set(added.map(({ first }) => first));
  // One of our ranges that is missing was published by another upload that ran its tests.
  const own = unpublished.filter(({ first }) => addedFirsts.has(first));
  const others = unpublished.filter(({ first }) => !addedFirsts.has(first))
    .filter((range) => testNos.some((testNo) => isIn(range, testNo)));
  for (const { first, end } of others) {
    // Their upload adds its tags again when it is stored.
    await tx`
      update test set tags = null
      where repository_id = ${repositoryId} and test_no >= ${first} and test_no < ${end}`;
  }
  const firsts = arrayOf([...own, ...others].map(({ first }) => first));
  await tx`
    delete from unpublished_test_range
    where repository_id = ${repositoryId} and first_test_no = any(${firsts}::text::int[])`;
  return (testNo) => own.some((range) => isIn(range, testNo));
}

function isIn({ first, end }: TestRange, testNo: number): boolean {
  return testNo >= first && testNo < end;
}

/** SQL: whether the row `t` of `test` is published. */
export function isPublished(sql: Queryable) {
  return sql`not exists (
    select from unpublished_test_range u
    where u.repository_id = t.repository_id
      and t.test_no >= u.first_test_no and t.test_no < u.end_test_no)`;
}

/** SQL: whether the row `t` of `test` was never disruptive and is not quarantined. */
export function isUnreferenced(sql: Queryable) {
  return sql`not exists (
      select from disruptive_test d
      where d.repository_id = t.repository_id and d.test_no = t.test_no)
    and not exists (
      select from quarantine q
      where q.repository_id = t.repository_id and q.test_no = t.test_no)`;
}

/**
 * The test_no of those of the given tests that are stored, by test_hash.
 *
 * A lateral look-up of each: with one condition for all, the planner reads every test of a repository
 * that it has no statistics of, for every batch of a first upload, at a tenth of the speed.
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
  test_hash: number;
  tags: string[];
}

/** Stores tests unpublished; skips those that another process stored meanwhile. */
async function insertTests(
  sql: Queryable,
  repositoryId: number,
  tests: NewTest[],
): Promise<TestRange> {
  // Numbers ascend with test_hash, so that the differences in a list are small.
  const [range] = await sql<TestRange[]>`
    with range as (
      update repository set next_test_no = next_test_no + ${tests.length}
      where repository_id = ${repositoryId}
      returning next_test_no - ${tests.length} as first, next_test_no as end
    ), unpublished as (
      insert into unpublished_test_range (repository_id, first_test_no, end_test_no)
      select ${repositoryId}, first, range.end from range
    ), inserted as (
      insert into test (repository_id, test_no, test_hash, suite, class, name, file, tags)
      select ${repositoryId}, range.first + t.ordinality - 1, t.test_hash, t.suite, t.class, t.name,
        t.file, ${someTextsOf(sql, sql`t.tags`)}
      from range, rows from (
        json_to_recordset(${JSON.stringify(tests)}::text::json) as (test_hash bigint, suite text,
          class text, name text, file text, tags json)
      ) with ordinality as t(test_hash, suite, class, name, file, tags)
      on conflict (repository_id, test_hash) do nothing
    )
    select first, range.end from range`;
  return range ?? { first: 0, end: 0 };
}
