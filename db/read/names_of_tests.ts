// Tests: tests/lib/cli/commands/digest_test.ts
import { parseTestId, testId, type TestIdentity } from "../../lib/base/identity.ts";
import { arrayOf, integersIn, type Queryable } from "../connection/sql.ts";
import { isActive } from "./fragments.ts";
import { ownersOf } from "./owners.ts";

interface NamedTest extends TestIdentity {
  isQuarantined: boolean;
  /** Patterns of the environments that its quarantine is limited to; `null` for all. */
  quarantineEnvironment: string | null;
  /** Tags that name an owner, such as `owner:@acme/web`, sorted. */
  ownerTags: string[];
}

/** The names and owners of tests of a repository, by id (24 hex digits). */
export async function loadTestNames(
  sql: Queryable,
  { repositoryId, testIds, now }: {
    repositoryId: number;
    testIds: Iterable<string>;
    now: number;
  },
): Promise<Map<string, NamedTest>> {
  const parsed = [...new Set(testIds)].map((id) => parseTestId(id)!);
  const hashes = arrayOf(parsed.map(({ testHash }) => testHash));
  // The tests of a tag may be thousands of ranges: it is read once, not for each test.
  const rows = await sql<(NamedTest & { testHash: number })[]>`
    with named as materialized (
      select t.test_no, t.test_hash, t.suite, t.class, t.name, t.file
      from test t
      where t.repository_id = ${repositoryId} and t.test_hash = any(${hashes}::bigint[])),
    owned as materialized (
      select o.tag, o.tests * n.tests as tests
      from ${ownersOf(sql, repositoryId)}, (
        select range_agg(int4range(test_no, test_no, '[]')) as tests from named
      ) n)
    select t.test_hash::float8 as "testHash", t.suite, t.class, t.name, t.file,
      q.test_no is not null as "isQuarantined",
      q.quarantine_environment as "quarantineEnvironment",
      array_to_json(array(
        select o.tag from owned o where o.tests @> t.test_no order by o.tag collate "C"
      )) as "ownerTags"
    from named t
    left join quarantine q on q.repository_id = ${repositoryId} and q.test_no = t.test_no
      and ${isActive(sql, now)}`;
  return new Map(
    rows.map(({ testHash, ...test }) => [testId(parsed[0]!.idPrefix, testHash), test]),
  );
}

/** SQL: orders rows of `test` by suite, class, name and file, in the order of code points. */
export function orderOfIdentities(sql: Queryable) {
  return sql`order by suite collate "C", class collate "C", name collate "C", file collate "C"`;
}

/** The ids and names of tests of a repository, by test_no; pruned tests are left out. */
export async function loadIdentities(
  sql: Queryable,
  { repositoryId, idPrefix, testNos, isSorted = false }: {
    repositoryId: number;
    idPrefix: number;
    testNos: readonly number[];
    /** By suite, class, name and file, in the order of code points. */
    isSorted?: boolean;
  },
): Promise<Map<number, TestIdentity & { id: string }>> {
  const rows = await sql<(TestIdentity & { testNo: number; testHash: number })[]>`
    select t.test_no as "testNo", t.test_hash::float8 as "testHash", t.suite, t.class, t.name, t.file
    from test t
    where t.repository_id = ${repositoryId} and t.test_no = any(${integersIn(sql, testNos)})
    ${isSorted ? orderOfIdentities(sql) : sql``}`;
  return new Map(
    rows.map(({ testNo, testHash, ...identity }) => [
      testNo,
      { id: testId(idPrefix, testHash), ...identity },
    ]),
  );
}
