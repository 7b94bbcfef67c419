import { isDeepStrictEqual } from "node:util";
import { activeQuarantine, type Quarantine } from "../../lib/analysis/quarantine.ts";
import { testId, type TestIdentity } from "../../lib/base/identity.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { isActive, isPublished, quarantineColumns } from "../read/fragments.ts";
import { bumpDataVersion, lockRepository } from "../write/repository_row.ts";
import { logQuarantine, type Origin } from "./quarantine_log.ts";
import { listRepositories, type Repository, repositoryColumns } from "./repositories.ts";

/** A stored test with its repository. */
export interface StoredTest extends TestIdentity {
  /** 24 lower-case hex digits. */
  id: string;
  testNo: number;
  repository: Repository;
}

/** The test with an id, found through two unique keys. */
export async function findTest(
  sql: Queryable,
  { idPrefix, testHash }: { idPrefix: number; testHash: number },
): Promise<StoredTest | null> {
  const [repository] = await sql<Repository[]>`
    select ${repositoryColumns(sql)} from repository where id_prefix = ${idPrefix}`;
  if (!repository) return null;
  // A statement of its own that names the repository, so that one node of a distributed database
  // answers it.
  const [row] = await sql<TestRow[]>`
    select ${testColumns(sql)} from test t
    where t.repository_id = ${repository.repositoryId} and t.test_hash = ${testHash}
      and ${isPublished(sql, repository.repositoryId)}`;
  return row ? storedTest(repository, row) : null;
}

/** An entry after an addition. */
export interface AddedQuarantine {
  outcome: "added" | "changed" | "unchanged";
  quarantine: Quarantine;
}

/**
 * Quarantines a test, in a transaction, and logs it. An entry that has not ended keeps its date, author
 * and type; reason, owner and end are changed where they are given. Returns `null` when the test no
 * longer exists.
 */
export async function addQuarantine(
  tx: Queryable,
  test: StoredTest,
  entry: Quarantine,
  origin: Origin,
): Promise<AddedQuarantine | null> {
  const { testNo, repository: { repositoryId } } = test;
  const { quarantinedAt: now } = entry;
  // Every change locks the repository first, which rules out deadlocks.
  await lockRepository(tx, repositoryId);
  const active = await findActive(tx, test, now);
  const quarantine = active === null ? entry : {
    ...active,
    quarantineReason: entry.quarantineReason ?? active.quarantineReason,
    quarantineOwner: entry.quarantineOwner ?? active.quarantineOwner,
    quarantineExpiresAt: entry.quarantineExpiresAt ?? active.quarantineExpiresAt,
  };
  if (isDeepStrictEqual(quarantine, active)) return { outcome: "unchanged", quarantine };
  await tx`delete from quarantine where repository_id = ${repositoryId} and test_no = ${testNo}`;
  const stored = await tx`
    insert into quarantine (repository_id, test_no, quarantined_at, quarantined_by, quarantine_type,
      quarantine_reason, quarantine_owner, quarantine_expires_at)
    select repository_id, test_no, to_timestamp(${quarantine.quarantinedAt}),
      ${quarantine.quarantinedBy}::text, ${quarantine.quarantineType}::text,
      ${quarantine.quarantineReason}::text, ${quarantine.quarantineOwner}::text,
      to_timestamp(${quarantine.quarantineExpiresAt}::float8)
    from test where repository_id = ${repositoryId} and test_no = ${testNo}`;
  if (stored.count === 0) return null;
  await bumpDataVersion(tx, repositoryId);
  const outcome = active === null ? "added" : "changed";
  const logged = { ...quarantine, quarantinedBy: entry.quarantinedBy };
  await logQuarantine(tx, test, { at: now, action: outcome, quarantine: logged, ...origin });
  return { outcome, quarantine };
}

/** A removal of an entry. */
export interface Removal {
  /** Seconds since 1970. */
  removedAt: number;
  removedBy: string | null;
  reason: string | null;
}

/**
 * Ends the quarantine of a test, in a transaction, and logs it. Returns false when it was not
 * quarantined.
 */
export async function removeQuarantine(
  tx: Queryable,
  test: StoredTest,
  { removedAt, removedBy, reason }: Removal,
  origin: Origin,
): Promise<boolean> {
  const { testNo, repository: { repositoryId } } = test;
  await lockRepository(tx, repositoryId);
  const removed = await findActive(tx, test, removedAt);
  if (!removed) return false;
  await tx`delete from quarantine where repository_id = ${repositoryId} and test_no = ${testNo}`;
  await bumpDataVersion(tx, repositoryId);
  const quarantine = { ...removed, quarantinedBy: removedBy, quarantineReason: reason };
  await logQuarantine(tx, test, { at: removedAt, action: "removed", quarantine, ...origin });
  return true;
}

/** The entry of a test, unless it has ended. */
async function findActive(
  tx: Queryable,
  { testNo, repository: { repositoryId } }: StoredTest,
  now: number,
): Promise<Quarantine | null> {
  const [entry = null] = await tx<Quarantine[]>`
    select ${quarantineColumns(tx)} from quarantine q
    where repository_id = ${repositoryId} and test_no = ${testNo}`;
  return activeQuarantine(entry, now);
}

/** Removes the entries of a repository before it is deleted, in a transaction. */
export async function releaseRepository(
  tx: Queryable,
  { organizationId, repositoryId }: Pick<Repository, "organizationId" | "repositoryId">,
  removal: Removal,
  origin: Origin,
): Promise<void> {
  await lockRepository(tx, repositoryId);
  for (const test of await listQuarantined(tx, organizationId, removal.removedAt)) {
    if (test.repository.repositoryId === repositoryId) {
      await removeQuarantine(tx, test, removal, origin);
    }
  }
}

/** All quarantined tests of an organization, by repository, oldest quarantine first. */
export async function listQuarantined(
  sql: Queryable,
  organizationId: number,
  now: number,
): Promise<(StoredTest & Quarantine)[]> {
  const repositories = await listRepositories(sql, organizationId);
  const repositoryIds = arrayOf(repositories.map(({ repositoryId }) => repositoryId));
  const tests = await sql<(TestRow & Quarantine & { repositoryId: number })[]>`
    select t.repository_id::float8 as "repositoryId", ${testColumns(sql)}, ${quarantineColumns(sql)}
    from quarantine q
      join test t on t.repository_id = q.repository_id and t.test_no = q.test_no
    where q.repository_id = any(${repositoryIds}::bigint[]) and ${isActive(sql, now)}
    order by q.quarantined_at, t.test_no`;
  const byRepository = Map.groupBy(tests, ({ repositoryId }) => repositoryId);
  return repositories.flatMap((repository) =>
    (byRepository.get(repository.repositoryId) ?? []).map((row) => storedTest(repository, row))
  );
}

/** A row with the {@linkcode testColumns}. */
export type TestRow = TestIdentity & { testHash: number; testNo: number };

/** SQL: the columns of a {@linkcode TestRow} from `test` t. */
export function testColumns(sql: Queryable) {
  return sql`t.test_hash::float8 as "testHash", t.test_no as "testNo", t.suite, t.class, t.name,
    t.file`;
}

/** The test of a row. */
export function storedTest<Row extends TestRow>(repository: Repository, row: Row) {
  return { ...row, id: testId(repository.idPrefix, row.testHash), repository };
}
