// Tests: tests/db/read/base_branch_test.ts tests/db/read/tracked_tests_test.ts
/** Owners of tests, from CODEOWNERS: tests have them as tags `owner:WHO`. */
import { OWNER_TAG } from "../../lib/analysis/test_tags.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";

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
