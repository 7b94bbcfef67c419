import { parseTestId, testId, type TestIdentity } from "../../lib/base/identity.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { isActive } from "./fragments.ts";

/** The names of tests of a repository, by id (24 hex digits). */
export async function loadTestNames(
  sql: Queryable,
  { repositoryId, testIds, now }: {
    repositoryId: number;
    testIds: Iterable<string>;
    now: number;
  },
) {
  const parsed = [...new Set(testIds)].map((id) => parseTestId(id)!);
  const hashes = arrayOf(parsed.map(({ testHash }) => testHash));
  const rows = await sql<(TestIdentity & { testHash: number; isQuarantined: boolean })[]>`
    select t.test_hash::float8 as "testHash", t.suite, t.class, t.name, t.file,
      q.test_no is not null as "isQuarantined"
    from test t
    left join quarantine q on q.repository_id = t.repository_id and q.test_no = t.test_no
      and ${isActive(sql, now)}
    where t.repository_id = ${repositoryId} and t.test_hash = any(${hashes}::bigint[])`;
  return new Map(rows.map((row) => [testId(parsed[0]!.idPrefix, row.testHash), row]));
}
