// Tests: tests/lib/cli/commands/quarantine_test.ts
import {
  activeQuarantine,
  type AddedQuarantine,
  addedQuarantine,
  type Quarantine,
} from "../../lib/analysis/quarantine.ts";
import type { MistakenMatch } from "../../lib/analysis/file_matches.ts";
import { testId, type TestIdentity } from "../../lib/base/identity.ts";
import { formatRepositoryName, type RepositoryName } from "../../lib/base/repository_name.ts";
import { VERSION } from "../../lib/base/version.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { isActive, quarantineColumns } from "../read/fragments.ts";
import { loadOwnersOfTests } from "../read/owners.ts";
import { bumpDataVersion, lockRepository } from "../write/repository_row.ts";
import { addWebhookMessages, loadSubscribedEvents } from "../write/webhook_messages.ts";
import { type Change, insertChange, type Origin } from "./changes.ts";
import { listRepositories, type Repository, repositoryColumns } from "./repositories.ts";

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
  const [row] = await sql<IdentityRow[]>`
    select ${identityColumns(sql)} from test t
    where t.repository_id = ${repository.repositoryId} and t.test_hash = ${testHash}`;
  return row ? storedTest(repository, row) : null;
}

/** A test was deleted after it was found. */
export class TestDeletedError extends RangeError {
  override name = "TestDeletedError";
}

/**
 * Quarantines a test, in a transaction, and logs it. An entry that has not ended keeps its date, author
 * and type; reason, owner, end and environment are changed where they are given.
 * @throws {TestDeletedError} when the test was deleted since it was found
 */
export async function addQuarantine(
  tx: Queryable,
  test: StoredTest,
  entry: Quarantine,
  origin: Origin,
): Promise<AddedQuarantine> {
  const { quarantinedAt: at, quarantinedBy: by } = entry;
  // Every change locks the repository first, which rules out deadlocks.
  await lockRepository(tx, test.repository.repositoryId);
  const added = addedQuarantine(await findActive(tx, test, at), entry);
  const { outcome: action, quarantine } = added;
  if (action !== "unchanged") await changeEntry(tx, test, { at, by, action, quarantine, origin });
  return added;
}

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
  { removedAt: at, removedBy: by, reason }: Removal,
  origin: Origin,
): Promise<boolean> {
  await lockRepository(tx, test.repository.repositoryId);
  const removed = await findActive(tx, test, at);
  if (!removed) return false;
  const quarantine = { ...removed, quarantineReason: reason };
  await changeEntry(tx, test, { at, by, action: "removed", quarantine, origin });
  return true;
}

/**
 * Ends the entries of tests that were added since a match gave these a file by mistake, in a transaction, and
 * logs it: they may be meant for the test of that file, and in doubt nothing is excused. Older ones are meant
 * for the test without a file. Returns the matches of those that were quarantined.
 */
export async function endMistakenEntries(
  tx: Queryable,
  repository: Repository,
  { mistaken, now }: { mistaken: readonly MistakenMatch[]; now: number },
): Promise<MistakenMatch[]> {
  if (mistaken.length === 0) return [];
  const matches = new Map(mistaken.map((match) => [match.testHash, match]));
  const rows = await tx<(IdentityRow & Quarantine)[]>`
    select ${identityColumns(tx)}, ${quarantineColumns(tx)}
    from quarantine q
      join test t on t.repository_id = q.repository_id and t.test_no = q.test_no
    where q.repository_id = ${repository.repositoryId}
      and t.test_hash = any(${arrayOf(matches.keys())}::text::bigint[]) and ${isActive(tx, now)}
    order by t.test_hash`;
  const ended: MistakenMatch[] = [];
  for (const { quarantinedAt, testHash, testNo, suite, class: className, name } of rows) {
    const match = matches.get(testHash)!;
    if (match.matchedAt === null || quarantinedAt < match.matchedAt) continue;
    // Named as it was when it was quarantined.
    const row = { testHash, testNo, suite, class: className, name, file: match.file };
    const reason = "the file belongs to another test of this name";
    const removal = { removedAt: now, removedBy: null, reason };
    const origin = { author: `test-analytics ${VERSION}`, command: "upload" };
    await removeQuarantine(tx, storedTest(repository, row), removal, origin);
    ended.push(match);
  }
  return ended;
}

/** Replaces or removes the entry of a test, and logs it. */
async function changeEntry(
  tx: Queryable,
  test: StoredTest,
  change: EntryChange & { at: number; origin: Origin },
): Promise<void> {
  const { id, testNo, repository: { organizationId, repositoryId } } = test;
  const { at, action, quarantine, origin } = change;
  await tx`delete from quarantine where repository_id = ${repositoryId} and test_no = ${testNo}`;
  if (action !== "removed") {
    const { count } = await tx`
      insert into quarantine (repository_id, test_no, quarantined_at, quarantined_by,
        quarantine_type, quarantine_reason, quarantine_owner, quarantine_expires_at,
        quarantine_environment)
      select repository_id, test_no, to_timestamp(${quarantine.quarantinedAt}),
        ${quarantine.quarantinedBy}::text, ${quarantine.quarantineType}::text,
        ${quarantine.quarantineReason}::text, ${quarantine.quarantineOwner}::text,
        to_timestamp(${quarantine.quarantineExpiresAt}::float8),
        ${quarantine.quarantineEnvironment}::text
      from test where repository_id = ${repositoryId} and test_no = ${testNo}`;
    if (count === 0) throw new TestDeletedError(`test ${id} was deleted`);
  }
  await bumpDataVersion(tx, repositoryId);
  const detail = changeDetail(test, change);
  await insertChange(tx, { ...origin, organizationId, changedAt: at, subject: id, detail });
  if (action === "changed") return;
  const event = `quarantine.${action}` as const;
  if (!(await loadSubscribedEvents(tx, organizationId)).has(event)) return;
  const { quarantine: _, repository: __, ...entry } = detail;
  const owners = await loadOwnersOfTests(tx, { repositoryId, testNos: [testNo] });
  await addWebhookMessages(tx, test.repository, {
    event,
    // Only what one author adds is collected for an hour.
    cause: action === "added" ? change.by ?? "" : id,
    at,
    items: [{
      ...entry,
      environment: quarantine.quarantineEnvironment,
      id,
      owners: owners.get(testNo) ?? [],
    }],
  });
}

interface EntryChange {
  by: string | null;
  action: "added" | "changed" | "removed";
  /** After the change; for a removal with its reason. */
  quarantine: Quarantine;
}

export function changeDetail(
  { repository, suite, class: className, name, file }: TestIdentity & {
    repository: RepositoryName;
  },
  { by, action, quarantine }: EntryChange,
): Change["detail"] {
  return {
    quarantine: action,
    repository: formatRepositoryName(repository),
    suite,
    class: className,
    name,
    file,
    by,
    type: quarantine.quarantineType,
    reason: quarantine.quarantineReason,
    owner: quarantine.quarantineOwner,
    expires_at: quarantine.quarantineExpiresAt,
    ...quarantine.quarantineEnvironment !== null &&
      { environment: quarantine.quarantineEnvironment },
  };
}

/** The entry of a test, unless it has ended. */
export async function findActive(
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
  const tests = await listQuarantined(tx, organizationId, removal.removedAt);
  for (const test of tests.filter(({ repository }) => repository.repositoryId === repositoryId)) {
    await removeQuarantine(tx, test, removal, origin);
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
  const tests = await sql<(IdentityRow & Quarantine & { repositoryId: number })[]>`
    select t.repository_id::float8 as "repositoryId", ${identityColumns(sql)}, ${
    quarantineColumns(sql)
  }
    from quarantine q
      join test t on t.repository_id = q.repository_id and t.test_no = q.test_no
    where q.repository_id = any(${repositoryIds}::bigint[]) and ${isActive(sql, now)}
    order by q.quarantined_at, t.test_hash`;
  const byRepository = Map.groupBy(tests, ({ repositoryId }) => repositoryId);
  return repositories.flatMap((repository) =>
    (byRepository.get(repository.repositoryId) ?? []).map((row) => storedTest(repository, row))
  );
}

export type IdentityRow = TestIdentity & { testHash: number; testNo: number };

/** SQL: the columns of a {@linkcode IdentityRow} from `test` t. */
export function identityColumns(sql: Queryable) {
  return sql`t.test_hash::float8 as "testHash", t.test_no as "testNo", t.suite, t.class, t.name,
    t.file`;
}

export function storedTest<Row extends IdentityRow>(repository: Repository, row: Row) {
  return { ...row, id: testId(repository.idPrefix, row.testHash), repository };
}
