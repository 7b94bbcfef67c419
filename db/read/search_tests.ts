// Tests: tests/routes/finding_pages_test.ts
/** Tests of any state, by words of their names. */
import { testId, type TestIdentity } from "../../lib/base/identity.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import { arrayOf, type Queryable, textsIn } from "../connection/sql.ts";

/** A place in the order of tests: by name, then by repository, then by id. */
interface Position {
  name: string;
  repositoryId: number;
  testHash: number;
}

export interface FoundTest extends TestIdentity, Position {
  /** 24 hex digits. */
  id: string;
  repository: RepositoryName;
}

/**
 * A page of the tests of some repositories whose suite, class, name or file contain each word, by name,
 * and how many there are, which is not counted after a `last`. It reads all names: 1 million of them take
 * seconds.
 *
 * @param options.repositories in the order in which their tests of one name come
 * @param options.words in lower case
 * @param options.last only tests after this one; all unless given
 */
export async function searchTests(
  sql: Queryable,
  { repositories, words, offset = 0, last = null, limit }: {
    repositories: readonly (RepositoryName & { repositoryId: number; idPrefix: number })[];
    words: readonly string[];
    offset?: number;
    last?: Position | null;
    limit: number;
  },
): Promise<{ count: number; tests: FoundTest[] }> {
  const ids = arrayOf(repositories.map(({ repositoryId }) => repositoryId));
  const isLater = last === null ? sql`true` : sql`
    (t.name collate "C", array_position(${ids}::bigint[], t.repository_id), t.test_hash) >
      (${last.name}, array_position(${ids}::bigint[], ${last.repositoryId}::bigint),
        ${last.testHash}::float8::bigint)`;
  const rows = await sql<(TestIdentity & Position & { count: number })[]>`
    select ${
    last === null ? sql`count(*) over ()::float8` : sql`0::float8`
  } as count, t.repository_id::float8 as "repositoryId",
      t.test_hash::float8 as "testHash", t.suite, t.class, t.name, t.file
    from test t
    where t.repository_id = any(${ids}::bigint[]) and ${isLater} and not exists (
      select 1 from unnest(${textsIn(sql, words)}) as w(word)
      where strpos(lower(concat_ws(chr(10), t.suite, t.class, t.name, t.file)), w.word) = 0)
    order by t.name collate "C", array_position(${ids}::bigint[], t.repository_id), t.test_hash
    limit ${limit} offset ${offset}`;
  const byId = new Map(repositories.map((one) => [one.repositoryId, one]));
  const tests = rows.map(({ count: _, ...test }) => {
    const { idPrefix, owner, name } = byId.get(test.repositoryId)!;
    return { ...test, id: testId(idPrefix, test.testHash), repository: { owner, name } };
  });
  return { count: rows[0]?.count ?? 0, tests };
}
