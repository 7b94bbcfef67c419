/**
 * Tests of an upload are stored in batches before the transaction that stores its submission: on the
 * embedded database every other request waits for a running transaction, and 100,000 new tests take
 * seconds. Until that transaction publishes them they are invisible; when the process is killed before,
 * they stay so until an upload with the same tests publishes them.
 */
import type { SubmissionContent } from "../../lib/analysis/submission_content.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { arrayOf, integersIn, type Queryable, rangesOf } from "../connection/sql.ts";
import { isPublished } from "../read/fragments.ts";
import { interruptAdditions, takeNumbers } from "./repository_row.ts";

/**
 * Tests that one statement stores. On the embedded database a request during an upload of 100,000 new
 * tests waited up to 610 ms with 1,000, up to 130 ms with 400; the upload took 3.4 s instead of 5.2.
 */
const TESTS_PER_STATEMENT = 400;

/** Stores the tests that are new to the repository, unpublished. Returns all test_no, in order. */
export async function prepareTests(
  sql: Queryable,
  { repositoryId, content }: { repositoryId: number; content: SubmissionContent },
): Promise<Int32Array> {
  const testNos = new Int32Array(content.testHashes.length);
  for (let start = 0; start < testNos.length; start += TESTS_PER_STATEMENT) {
    const hashes = content.testHashes.subarray(start, start + TESTS_PER_STATEMENT);
    let known = await testNosByHash(sql, repositoryId, hashes);
    if (known.size < hashes.length) {
      const tests: NewTest[] = [];
      hashes.forEach((test_hash, offset) => {
        if (known.has(test_hash)) return;
        tests.push({ test_hash, ...content.identityAt(start + offset) });
      });
      await insertTests(sql, repositoryId, tests);
      // Some may have been stored by another process at the same time.
      known = await testNosByHash(sql, repositoryId, hashes);
    }
    hashes.forEach((hash, offset) => testNos[start + offset] = known.get(hash)!);
  }
  return testNos;
}

/** Publishes the tests of a submission; part of its transaction. */
export async function publishTests(
  tx: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: Int32Array },
): Promise<void> {
  // A range is empty when another process stored its tests at the same time.
  await tx`
    delete from unpublished_test_range u
    where repository_id = ${repositoryId} and (
      int4range(first_test_no, end_test_no) && (select ${rangesOf(testNos)}::text::int4multirange)
      or not exists (
        select 1 from test t
        where t.repository_id = ${repositoryId}
          and t.test_no >= u.first_test_no and t.test_no < u.end_test_no))`;
}

/** SQL: whether the row `t` of `test` was never disruptive and is not quarantined. */
export function isUnreferenced(sql: Queryable, repositoryId: number) {
  return sql`not exists (
      select 1 from disruptive_test d
      where d.repository_id = ${repositoryId} and d.test_no = t.test_no)
    and not exists (
      select 1 from quarantine q
      where q.repository_id = ${repositoryId} and q.test_no = t.test_no)`;
}

/** Deletes those of the given tests that were never disruptive and are not quarantined. */
export async function deleteTests(
  tx: Queryable,
  repositoryId: number,
  testNos: Iterable<number>,
): Promise<void> {
  const { count } = await tx`
    delete from test t
    where repository_id = ${repositoryId} and test_no = any(${integersIn(tx, testNos)})
      and ${isUnreferenced(tx, repositoryId)} and ${isPublished(tx, repositoryId)}`;
  // Uploads that have prepared their tests look them up again.
  if (count > 0) await interruptAdditions(tx, repositoryId);
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
}

/** Stores tests unpublished; skips those that another process has stored. */
async function insertTests(
  sql: Queryable,
  repositoryId: number,
  tests: NewTest[],
): Promise<void> {
  const count = tests.length;
  const first = await takeNumbers(sql, { repositoryId, column: "next_test_no", count });
  await sql`
    insert into unpublished_test_range (repository_id, first_test_no, end_test_no)
    values (${repositoryId}, ${first}, ${first + count})`;
  // Numbers ascend with test_hash, so that the differences in a list are small.
  await sql`
    insert into test (repository_id, test_no, test_hash, suite, class, name, file)
    select ${repositoryId}, ${first}::int + t.ordinality - 1, t.test_hash, t.suite, t.class, t.name,
      t.file
    from rows from (
      json_to_recordset(${JSON.stringify(tests)}::text::json) as (test_hash bigint, suite text,
        class text, name text, file text)
    ) with ordinality as t(test_hash, suite, class, name, file)
    on conflict (repository_id, test_hash) do nothing`;
}
