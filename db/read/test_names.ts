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

/** What is selected of a test whose first disruption is recent. */
interface NewlyFlakyRow extends TestIdentity {
  idPrefix: number;
  testHash: number;
  /** Seconds since 1970, as `since`. */
  firstDisruptionAt: number;
  /** Of the latest disruption. */
  message: string;
}

/** The tests of a repository whose first disruption was at or after a moment, the latest first. */
export async function loadNewlyFlakyTests(
  sql: Queryable,
  { repositoryId, since, limit }: { repositoryId: number; since: number; limit: number },
) {
  const rows = await sql<NewlyFlakyRow[]>`
    select r.id_prefix::float8 as "idPrefix", t.test_hash::float8 as "testHash", t.suite, t.class,
      t.name, t.file, extract(epoch from d.first_disruption_at)::float8 as "firstDisruptionAt",
      d.latest_message as message
    from repository_state r
    join disruptive_test d on d.repository_id = r.repository_id
    join test t on t.repository_id = d.repository_id and t.test_no = d.test_no
    where r.repository_id = ${repositoryId}
      and d.first_disruption_at >= to_timestamp(${since}::float8)
    order by d.first_disruption_at desc, d.test_no
    limit ${limit}`;
  return rows.map((row) => ({ ...row, id: testId(row.idPrefix, row.testHash) }));
}
