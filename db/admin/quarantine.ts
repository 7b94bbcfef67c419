import type { Quarantine } from "../../lib/analysis/tracked_test.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { isPublished } from "../read/fragments.ts";
import { bumpDataVersion, lockRepository } from "../write/repository_row.ts";

/** A stored test with its repository. */
export interface StoredTest extends TestIdentity {
  organizationId: number;
  repositoryId: number;
  owner: string;
  /** Name of the repository; `name` is the name of the test. */
  repositoryName: string;
  /** First 44 bits of the test's id. */
  idPrefix: number;
  /** Last 52 bits of the test's id. */
  testHash: number;
  testNo: number;
}

/** The repository columns of {@linkcode StoredTest}. */
type StoredRepository = Pick<
  StoredTest,
  "organizationId" | "repositoryId" | "owner" | "repositoryName" | "idPrefix"
>;

/** The test with an id, found through two unique keys. */
export async function findTest(
  sql: Queryable,
  { idPrefix, testHash }: Pick<StoredTest, "idPrefix" | "testHash">,
): Promise<StoredTest | null> {
  const [repository] = await sql<StoredRepository[]>`
    select ${repositoryColumns(sql)} from repository where id_prefix = ${idPrefix}`;
  if (!repository) return null;
  // A statement of its own that names the repository, so that one node of a distributed database
  // answers it.
  const [test] = await sql<Omit<StoredTest, keyof StoredRepository>[]>`
    select ${testColumns(sql)} from test t
    where t.repository_id = ${repository.repositoryId} and t.test_hash = ${testHash}
      and ${isPublished(sql)}`;
  return test ? { ...repository, ...test } : null;
}

/**
 * Quarantines a test, in a transaction. An existing quarantine keeps its date, author and type. Returns `null` when the
 * test no longer exists.
 */
export async function addQuarantine(
  tx: Queryable,
  { repositoryId, testNo }: Pick<StoredTest, "repositoryId" | "testNo">,
  quarantine: Quarantine,
): Promise<{ quarantine: Quarantine; added: boolean } | null> {
  // Every change locks the repository first, which rules out deadlocks.
  await lockRepository(tx, repositoryId);
  const [added] = await tx<Quarantine[]>`
    insert into quarantine
      (repository_id, test_no, quarantined_at, quarantined_by, quarantine_type)
    select repository_id, test_no, to_timestamp(${quarantine.quarantinedAt}),
      ${quarantine.quarantinedBy}::text, ${quarantine.quarantineType}::text
    from test where repository_id = ${repositoryId} and test_no = ${testNo}
    on conflict do nothing
    returning ${quarantineColumns(tx)}`;
  if (added) {
    await bumpDataVersion(tx, repositoryId);
    return { quarantine: added, added: true };
  }
  const [present] = await tx<Quarantine[]>`
    select ${quarantineColumns(tx)} from quarantine
    where repository_id = ${repositoryId} and test_no = ${testNo}`;
  return present ? { quarantine: present, added: false } : null;
}

/** Ends the quarantine of a test, in a transaction. Returns false when it was not quarantined. */
export async function removeQuarantine(
  tx: Queryable,
  { repositoryId, testNo }: Pick<StoredTest, "repositoryId" | "testNo">,
): Promise<boolean> {
  await lockRepository(tx, repositoryId);
  const removed = await tx`
    delete from quarantine where repository_id = ${repositoryId} and test_no = ${testNo}
    returning 1`;
  if (removed.length > 0) await bumpDataVersion(tx, repositoryId);
  return removed.length > 0;
}

/** All quarantined tests of an organization, by repository, oldest quarantine first. */
export async function listQuarantined(
  sql: Queryable,
  organizationId: number,
): Promise<(StoredTest & Quarantine)[]> {
  const repositories = await sql<StoredRepository[]>`
    select ${repositoryColumns(sql)} from repository
    where organization_id = ${organizationId}
    order by owner_key collate "C", name_key collate "C"`;
  const repositoryIds = arrayOf(repositories.map(({ repositoryId }) => repositoryId));
  const tests = await sql<(Omit<StoredTest, keyof StoredRepository> & Quarantine & {
    repositoryId: number;
  })[]>`
    select q.repository_id::float8 as "repositoryId", ${testColumns(sql)}, ${quarantineColumns(sql)}
    from quarantine q
      join test t on t.repository_id = q.repository_id and t.test_no = q.test_no
    where q.repository_id = any(${repositoryIds}::bigint[])
    order by q.quarantined_at, t.test_no`;
  const byRepository = Map.groupBy(tests, ({ repositoryId }) => repositoryId);
  return repositories.flatMap((repository) =>
    (byRepository.get(repository.repositoryId) ?? []).map((test) => ({ ...repository, ...test }))
  );
}

function repositoryColumns(sql: Queryable) {
  return sql`organization_id as "organizationId", repository_id::float8 as "repositoryId", owner,
    name as "repositoryName", id_prefix::float8 as "idPrefix"`;
}

function testColumns(sql: Queryable) {
  return sql`t.test_hash::float8 as "testHash", t.test_no as "testNo", t.suite, t.class, t.name,
    t.file`;
}

function quarantineColumns(sql: Queryable) {
  return sql`extract(epoch from quarantined_at)::float8 as "quarantinedAt",
    quarantined_by as "quarantinedBy", quarantine_type as "quarantineType"`;
}
