import { testId, type TestIdentity } from "../../lib/base/identity.ts";
import type { Queryable } from "../connection/sql.ts";

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
