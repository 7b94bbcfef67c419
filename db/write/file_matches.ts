/**
 * A test that reports name sometimes with a file and sometimes without one, because an option of its tool
 * was changed or differs between jobs, is one test: the one that was there first.
 */
import {
  type FileMatch,
  fileMatch,
  hashWithoutFile,
  hasSameNames,
  isMistaken,
  type MistakenMatch,
  unambiguous,
} from "../../lib/analysis/file_matches.ts";
import type { SubmissionContent } from "../../lib/analysis/submission_content.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { forceFullReload } from "./repository_row.ts";
import { testNosByHash, TESTS_PER_STATEMENT } from "./tests.ts";

type Content = Pick<SubmissionContent, "testHashes" | "identityAt">;

/** The tests of the upload that the repository does not know by their own hash. */
type UnknownTests = Map<number, TestIdentity>;

/**
 * Finds the tests of an upload that the repository knows with a file, and the upload has without one, or
 * the other way round. Exactly one test on either side must have the same suite, class and name. Tests
 * that are stored as they are in the upload stay themselves: there are no matches if the list of tests is
 * stored.
 *
 * Finds the earlier matches that tests of the upload show to be mistakes, too, and none with their tests.
 */
export async function findFileMatches(
  sql: Queryable,
  { repositoryId, recordedAt, content }: {
    repositoryId: number;
    recordedAt: number;
    content: Content;
  },
): Promise<{ matches: FileMatch[]; mistaken: MistakenMatch[] }> {
  const { testHashes } = content;
  const found: FileMatch[] = [];
  const mistaken = new Map<number, MistakenMatch>();
  if (!await hasTests(sql, repositoryId)) return { matches: found, mistaken: [] };
  for (let start = 0; start < testHashes.length; start += TESTS_PER_STATEMENT) {
    const hashes = testHashes.subarray(start, start + TESTS_PER_STATEMENT);
    const known = await testNosByHash(sql, repositoryId, hashes);
    const unknown: UnknownTests = new Map();
    hashes.forEach((hash, offset) => {
      if (!known.has(hash)) unknown.set(hash, content.identityAt(start + offset));
    });
    if (unknown.size === 0) continue;
    found.push(...await findEarlierMatches(sql, repositoryId, unknown));
    for (const { aliasHash } of found) unknown.delete(aliasHash);
    const withoutFile = await findTestsWithoutFile(sql, { repositoryId, recordedAt, unknown });
    found.push(...withoutFile.matches);
    for (const match of withoutFile.mistaken) mistaken.set(match.testHash, match);
    found.push(...await findTestsWithFile(sql, repositoryId, unknown));
  }
  const matches = found.filter(({ testHash }) => !mistaken.has(testHash));
  return {
    matches: matches.length === 0 ? matches : unambiguous(matches, content),
    mistaken: [...mistaken.values()],
  };
}

async function hasTests(sql: Queryable, repositoryId: number): Promise<boolean> {
  const [row] = await sql<{ hasTests: boolean }[]>`
    select next_test_no > 0 as "hasTests" from repository_state
    where repository_id = ${repositoryId}`;
  return row?.hasTests ?? false;
}

type StoredTest = TestIdentity & { hash: number; testHash: number };

/** Without comparing names: as with those that are stored as they are, the hash is enough. */
async function findEarlierMatches(
  sql: Queryable,
  repositoryId: number,
  unknown: UnknownTests,
): Promise<FileMatch[]> {
  const rows = await sql<{ hash: number; testHash: number; file: string }[]>`
    select h.hash::float8 as hash, t.test_hash::float8 as "testHash", t.file
    from unnest(${arrayOf(unknown.keys())}::text::bigint[]) as h(hash)
    join test t on t.repository_id = ${repositoryId} and t.alias_hash = h.hash`;
  return rows.map((row) => fileMatch(row.hash, unknown.get(row.hash)!, row, { isKnown: true }));
}

/**
 * For tests with a file, those without one, even if another match gave them this file before an import; and
 * those that a match gave another file by mistake.
 */
async function findTestsWithoutFile(
  sql: Queryable,
  { repositoryId, recordedAt, unknown }: {
    repositoryId: number;
    recordedAt: number;
    unknown: UnknownTests;
  },
): Promise<{ matches: FileMatch[]; mistaken: MistakenMatch[] }> {
  const matches: FileMatch[] = [];
  const mistaken: MistakenMatch[] = [];
  const hashes = new Map<number, number>();
  for (const [hash, test] of unknown) {
    if (test.file !== "") hashes.set(hash, hashWithoutFile(test));
  }
  if (hashes.size === 0) return { matches, mistaken };
  const rows = await sql<(StoredTest & MistakenMatch)[]>`
    select h.hash::float8 as hash, t.test_hash::float8 as "testHash", t.suite, t.class, t.name,
      t.file, extract(epoch from t.file_matched_at)::float8 as "matchedAt"
    from unnest(${arrayOf(hashes.keys())}::text::bigint[],
      ${arrayOf(hashes.values())}::text::bigint[]) as h(hash, without_file)
    cross join lateral (
      select test_hash, suite, class, name, file, file_matched_at from test
      where repository_id = ${repositoryId} and test_hash = h.without_file
      limit 1) t
    where t.file <> '' or not exists (
      select 1 from test o
      where o.repository_id = ${repositoryId} and o.file <> ''
        and ${nameHash(sql, "o")} = ${nameHash(sql, "t")}
        and o.suite = t.suite and o.class = t.class and o.name = t.name)`;
  for (const row of rows) {
    const test = unknown.get(row.hash)!;
    if (!hasSameNames(test, row)) continue;
    if (row.file === "" || row.file === test.file) {
      matches.push(fileMatch(row.hash, test, row, { isKnown: row.file !== "" }));
    } else if (isMistaken(row.matchedAt, recordedAt)) mistaken.push(row);
  }
  return { matches, mistaken };
}

/** For tests without a file, the only one with a file. */
async function findTestsWithFile(
  sql: Queryable,
  repositoryId: number,
  unknown: UnknownTests,
): Promise<FileMatch[]> {
  const tests = [...unknown].filter(([, { file }]) => file === "")
    .map(([hash, { suite, class: className, name }]) => ({ hash, suite, class: className, name }));
  if (tests.length === 0) return [];
  const rows = await sql<StoredTest[]>`
    select u.hash::float8 as hash, t.test_hash::float8 as "testHash", t.suite, t.class, t.name,
      t.file
    from json_to_recordset(${JSON.stringify(tests)}::text::json)
      as u(hash bigint, suite text, class text, name text)
    cross join lateral (
      select test_hash, suite, class, name, file from test
      where repository_id = ${repositoryId} and file <> ''
        and ${nameHash(sql, "test")} = ${nameHash(sql, "u")}
        and suite = u.suite and class = u.class and name = u.name
      limit 2) t`;
  const byTest = Map.groupBy(rows, ({ hash }) => hash);
  return [...byTest].flatMap(([hash, stored]) =>
    stored.length === 1 ? [fileMatch(hash, unknown.get(hash)!, stored[0]!, { isKnown: false })] : []
  );
}

/** SQL: what the index of suite, class and name has of a row. */
function nameHash(sql: Queryable, row: "test" | "o" | "t" | "u") {
  const { suite, name, class: className } = {
    suite: sql(`${row}.suite`),
    class: sql(`${row}.class`),
    name: sql(`${row}.name`),
  };
  return sql`hashtextextended(${suite} || E'\\x1f' || ${className} || E'\\x1f' || ${name}, 0)`;
}

/**
 * Stores matches: later uploads and requests find the tests by both hashes, and a test without a file gets
 * the file.
 */
export async function storeFileMatches(
  tx: Queryable,
  { repositoryId, recordedAt, matches }: {
    repositoryId: number;
    recordedAt: number;
    matches: readonly FileMatch[];
  },
): Promise<void> {
  const changed = matches.map(({ aliasHash, testHash, file, isFileAdded, isKnown }) => (
    { aliasHash, testHash, file, isInDoubt: isFileAdded && !isKnown }
  ));
  if (changed.length === 0) return;
  const { count } = await tx`
    update test t set alias_hash = m."aliasHash", file = m.file,
      file_matched_at = case
        when m."isInDoubt" then to_timestamp(${recordedAt}::float8) else t.file_matched_at end
    from json_to_recordset(${JSON.stringify(changed)}::text::json)
      as m("aliasHash" bigint, "testHash" bigint, file text, "isInDoubt" boolean)
    where t.repository_id = ${repositoryId} and t.test_hash = m."testHash"
      and (t.alias_hash is distinct from m."aliasHash" or t.file <> m.file)`;
  // Cached tests have the old file.
  if (count > 0) await forceFullReload(tx, repositoryId);
}

/** Takes the files back from the tests that matches gave them by mistake: with their ids and history, they have none. */
export async function removeMistakenMatches(
  tx: Queryable,
  repositoryId: number,
  mistaken: readonly MistakenMatch[],
): Promise<void> {
  if (mistaken.length === 0) return;
  const hashes = mistaken.map(({ testHash }) => testHash);
  await tx`
    update test set alias_hash = null, file = '', file_matched_at = null
    where repository_id = ${repositoryId}
      and test_hash = any(array(select unnest(${arrayOf(hashes)}::text::bigint[])))`;
  await forceFullReload(tx, repositoryId);
}
