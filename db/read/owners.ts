// Tests: tests/db/read/base_branch_test.ts tests/db/read/tracked_tests_test.ts tests/db/write/webhook_events_test.ts tests/lib/cli/commands/digest_test.ts
/** Owners of tests, from CODEOWNERS: tests have them as tags `owner:WHO`. */
import { OWNER_TAG } from "../../lib/analysis/test_tags.ts";
import { arrayOf, integersIn, type Queryable } from "../connection/sql.ts";

/** SQL: rows `o` of the tag, the name and the tests of each owner of a repository. */
export function ownersOf(sql: Queryable, repositoryId: number) {
  return sql`(
    select tag, substr(tag, ${OWNER_TAG.length + 1}::int) as owner, tests from test_tag
    where repository_id = ${repositoryId} and starts_with(tag, ${OWNER_TAG})) o`;
}

/** The sorted owners of tests, by test_no. */
export async function loadOwnersOfTests(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: readonly number[] },
): Promise<Map<number, string[]>> {
  const rows = await sql<{ testNo: number; owner: string }[]>`
    select t.test_no as "testNo", o.owner
    from ${ownersOf(sql, repositoryId)}, unnest(${integersIn(sql, testNos)}) as t(test_no)
    where o.tests @> t.test_no`;
  const found = Map.groupBy(rows, ({ testNo }) => testNo);
  return new Map([...found].map(([testNo, own]) => [testNo, own.map(({ owner }) => owner).sort()]));
}

/** The owners of the tests of some repositories, with the number of tests of each, by name. */
export async function loadOwners(
  sql: Queryable,
  { repositoryIds }: { repositoryIds: readonly number[] },
): Promise<{ owner: string; testCount: number }[]> {
  const rows = await sql<{ tag: string; testCount: number }[]>`
    select g.tag, (
        select coalesce(sum(upper(r) - lower(r)), 0)::float8 from unnest(g.tests) as r
      ) as "testCount"
    from test_tag g
    where g.repository_id = any(${arrayOf(repositoryIds)}::bigint[])
      and starts_with(g.tag, ${OWNER_TAG})`;
  return [...Map.groupBy(rows, ({ tag }) => tag)].map(([tag, parts]) => ({
    owner: tag.slice(OWNER_TAG.length),
    testCount: parts.reduce((sum, { testCount }) => sum + testCount, 0),
  })).sort((a, b) => a.owner < b.owner ? -1 : 1);
}
