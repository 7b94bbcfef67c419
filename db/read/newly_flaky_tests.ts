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
      g.first_at as "firstDisruptionAt",
      (select json_agg(json_build_object('testHash', t.test_hash, 'suite', t.suite,
          'class', t.class, 'name', t.name, 'file', t.file) order by n.place)
        from unnest(g.test_nos) with ordinality as n(test_no, place)
        join test t on t.repository_id = ${repositoryId} and t.test_no = n.test_no) as tests
    from repository_state r
    cross join (
      select d.latest_message as message, count(*)::int as count,
        extract(epoch from max(d.first_disruption_at))::float8 as first_at,
        min(d.test_no) as test_no,
        (array_agg(d.test_no order by d.first_disruption_at desc, d.test_no))[1:${MAX_NAMED}::int]
          as test_nos
      from disruptive_test d
      where d.repository_id = ${repositoryId}
        and d.first_disruption_at >= to_timestamp(${since}::float8)
      group by d.latest_message, date_trunc('day', d.first_disruption_at at time zone 'UTC'),
        case d.latest_message when '' then d.test_no end
      order by first_at desc, test_no
      limit ${limit}
    ) g
    where r.repository_id = ${repositoryId}
    order by g.first_at desc, g.test_no`;
  return rows.map(({ idPrefix, tests, ...row }) => ({
    ...row,
    tests: tests.map((test) => ({ ...test, id: testId(idPrefix, test.testHash) })),
  }));
}
