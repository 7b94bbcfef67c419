// Tests: tests/lib/cli/commands/flaky_test.ts tests/routes/flaky_range_test.ts
import { testId, type TestIdentity } from "../../lib/base/identity.ts";
import type { Queryable } from "../connection/sql.ts";

interface GroupRow {
  idPrefix: number;
  /** Message of the latest disruption. */
  message: string;
  testCount: number;
  /** First disruption of the latest of them, in seconds since 1970, as `since`. */
  firstDisruptionAt: number;
  tests: (TestIdentity & { testHash: number })[];
}

/** How many tests of a group are named. */
const MAX_NAMED = 10;

/**
 * The tests of a repository whose first disruption was at or after a moment, the latest first. Tests that
 * failed with the same message on the same day (UTC), as in an outage, are one group, of which some tests
 * are named.
 */
export async function loadNewlyFlakyTests(
  sql: Queryable,
  { repositoryId, since, limit }: { repositoryId: number; since: number; limit: number },
) {
  const rows = await sql<GroupRow[]>`
    select r.id_prefix::float8 as "idPrefix", g.message, g.count as "testCount",
      g.first_at as "firstDisruptionAt", (
        select json_agg(json_build_object('testHash', n.test_hash, 'suite', n.suite,
          'class', n.class, 'name', n.name, 'file', n.file) order by n.place)
        from (
          select t.*, row_number() over (order by d.first_disruption_at desc, t.test_hash) as place
          from test t
          join disruptive_test d on d.repository_id = t.repository_id and d.test_no = t.test_no
          where t.repository_id = ${repositoryId} and t.test_no = any(g.test_nos)
        ) n
        where n.place <= ${MAX_NAMED}::int) as tests
    from repository_state r
    cross join (
      select d.latest_message as message, count(*)::int as count,
        extract(epoch from max(d.first_disruption_at))::float8 as first_at,
        array_agg(d.test_no) as test_nos, case d.latest_message when '' then (
          select t.test_hash from test t
          where t.repository_id = ${repositoryId} and t.test_no = d.test_no) end as test_hash
      from disruptive_test d
      where d.repository_id = ${repositoryId}
        and d.first_disruption_at >= to_timestamp(${since}::float8)
      group by 1, date_trunc('day', d.first_disruption_at at time zone 'UTC'), 5
      order by first_at desc, d.latest_message collate "C", test_hash
      limit ${limit}
    ) g
    where r.repository_id = ${repositoryId}
    order by g.first_at desc, g.message collate "C", g.test_hash`;
  return rows.map(({ idPrefix, tests, ...row }) => ({
    ...row,
    tests: tests.map((test) => ({ ...test, id: testId(idPrefix, test.testHash) })),
  }));
}
