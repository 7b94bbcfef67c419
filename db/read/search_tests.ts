/** Tests of any state, by words of their names. */
import { testId, type TestIdentity } from "../../lib/base/identity.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import { arrayOf, type Queryable, textsIn } from "../connection/sql.ts";

export interface FoundTest extends TestIdentity {
  /** 24 hex digits. */
  id: string;
  repository: RepositoryName;
}

/**
 * A page of the tests of some repositories whose suite, class, name or file contain each word, by name,
 * and how many there are. It reads all names: 1 million of them take seconds.
 *
 * @param options.words in lower case
 */
export async function searchTests(
  sql: Queryable,
  { repositories, words, offset, limit }: {
    repositories: readonly (RepositoryName & { repositoryId: number; idPrefix: number })[];
    words: readonly string[];
    offset: number;
    limit: number;
  },
): Promise<{ count: number; tests: FoundTest[] }> {
  const ids = arrayOf(repositories.map(({ repositoryId }) => repositoryId));
  type Row = TestIdentity & { count: number; repositoryId: number; testHash: number };
  const rows = await sql<Row[]>`
    select count(*) over ()::float8 as count, t.repository_id::float8 as "repositoryId",
      t.test_hash::float8 as "testHash", t.suite, t.class, t.name, t.file
    from test t
    where t.repository_id = any(${ids}::bigint[]) and not exists (
      select 1 from unnest(${textsIn(sql, words)}) as w(word)
      where strpos(lower(concat_ws(chr(10), t.suite, t.class, t.name, t.file)), w.word) = 0)
    order by t.name collate "C", t.repository_id, t.test_no
    limit ${limit} offset ${offset}`;
  const byId = new Map(repositories.map((one) => [one.repositoryId, one]));
  const tests = rows.map(({ count: _, repositoryId, testHash, ...test }) => {
    const { idPrefix, owner, name } = byId.get(repositoryId)!;
    return { ...test, id: testId(idPrefix, testHash), repository: { owner, name } };
  });
  return { count: rows[0]?.count ?? 0, tests };
}
