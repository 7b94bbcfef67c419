// Tests: tests/db/write/webhook_events_test.ts tests/lib/webhook_sender/send_webhooks_test.ts
/** Events that time causes: tests that calm down, quarantine entries that end soon or have ended. */
import {
  firstSubmissionId,
  parseTestId,
  testId,
  type TestIdentity,
} from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { countPasses } from "../../lib/analysis/passes.ts";
import { CALM_AFTER, endingNoticeAt } from "../../lib/webhook/events.ts";
import type { Database } from "../connection/connect.ts";
import { isTransient } from "../connection/errors.ts";
import { arrayOf, type Queryable, textsIn } from "../connection/sql.ts";
import { loadOwnersOfTests } from "../read/owners.ts";
import { loadRuns } from "../read/runs.ts";
import { isRecordedSince, quarantineColumns } from "../read/fragments.ts";
import { lockRepository } from "../write/repository_row.ts";
import { writeTransaction } from "../write/transaction.ts";
import { addWebhookMessages, loadSubscribedEvents } from "../write/webhook_messages.ts";
import type { Quarantine } from "../../lib/analysis/quarantine.ts";
import { listRepositories, type Repository } from "./repositories.ts";

/** An older end, such as one before a webhook was added, is not announced. */
const ENDED_WITHIN = SECONDS_PER_DAY;
/** Entries that end within this time are looked at: longer than any notice. */
const ENDING_WITHIN = 8 * SECONDS_PER_DAY;

/**
 * Adds the events that are due to the outbox, one transaction for each repository that may have some.
 * A repository that fails keeps back its own events alone. @throws the first failure, at the end; that the
 * database is unavailable, immediately
 */
export async function addTimedEvents(sql: Database["sql"], now: number): Promise<void> {
  const organizations = await sql<{ organizationId: number }[]>`
    select distinct organization_id as "organizationId" from webhook order by 1`;
  const failures: unknown[] = [];
  for (const { organizationId } of organizations) {
    for (const repository of await listCandidates(sql, organizationId, now)) {
      try {
        await addEventsOf(sql, repository, now);
      } catch (error) {
        // Each of the others would wait for a connection as well.
        if (isTransient(error)) throw error;
        failures.push(error);
      }
    }
  }
  if (failures.length > 0) throw failures[0];
}

async function addEventsOf(
  sql: Database["sql"],
  repository: Repository,
  now: number,
): Promise<void> {
  const { repositoryId, organizationId } = repository;
  await writeTransaction(sql, async (tx) => {
    if (!await lockRepository(tx, repositoryId)) return;
    const events = await loadSubscribedEvents(tx, organizationId);
    if (events.has("test.calm")) await addCalmTests(tx, repository, now);
    if (events.has("quarantine.ending")) await addEndingEntries(tx, repository, now);
    if (events.has("quarantine.removed")) await addEndedEntries(tx, repository, now);
  });
}

/** The repositories with announced flaky tests, or with entries that end about now. */
async function listCandidates(
  sql: Queryable,
  organizationId: number,
  now: number,
): Promise<Repository[]> {
  const repositories = await listRepositories(sql, organizationId);
  const ids = arrayOf(repositories.map(({ repositoryId }) => repositoryId));
  const announced = await sql<{ id: number }[]>`
    select distinct repository_id::float8 as id from webhook_delivery
    where organization_id = ${organizationId} and event = 'test.flaky'`;
  const ending = await sql<{ id: number }[]>`
    select distinct repository_id::float8 as id from quarantine q
    where q.repository_id = any(${ids}::bigint[])
      and q.quarantine_expires_at > to_timestamp(${now - ENDED_WITHIN}::float8)
      and q.quarantine_expires_at < to_timestamp(${now + ENDING_WITHIN}::float8)`;
  const candidates = new Set([...announced, ...ending].map(({ id }) => id));
  return repositories.filter(({ repositoryId }) => candidates.has(repositoryId));
}

type TestRow = TestIdentity & { testNo: number; testHash: number };

/** Tests that were announced as flaky, had no failure on any branch for long enough, and passed often enough. */
async function addCalmTests(tx: Queryable, repository: Repository, now: number): Promise<void> {
  const { repositoryId, organizationId, idPrefix } = repository;
  const announced = await tx<{ id: string }[]>`
    select distinct s.id from webhook_delivery d, unnest(d.subjects) as s(id)
    where d.organization_id = ${organizationId} and d.repository_id = ${repositoryId}
      and d.event = 'test.flaky' and not exists (
        select from webhook_delivery e
        where e.organization_id = d.organization_id and e.webhook_id = d.webhook_id
          and e.delivery_id > d.delivery_id and e.subjects @> array[s.id]
          and e.event = 'test.calm')`;
  const quietSince = now - CALM_AFTER.quietSeconds;
  const hashes = announced.map(({ id }) => parseTestId(id)!.testHash);
  const quiet = await tx<TestRow[]>`
    select t.test_no as "testNo", t.test_hash::float8 as "testHash", suite, class, name, file
    from test t
    where t.repository_id = ${repositoryId}
      and t.test_hash = any(${arrayOf(hashes)}::text::bigint[])
      and not exists (
        select 1 from negative_result n
        where n.repository_id = ${repositoryId} and n.test_no = t.test_no
          and ${isRecordedSince(tx, firstSubmissionId(quietSince))})
    order by t.test_hash`;
  if (quiet.length === 0) return;
  const runs = await loadRuns(tx, { repositoryId, columns: ["results"], since: quietSince });
  const passes = countPasses(runs, quiet.map(({ testNo }) => testNo));
  const calm = quiet.filter(({ testNo }) => passes.get(testNo)! >= CALM_AFTER.passes);
  const owners = await loadOwnersOfTests(tx, {
    repositoryId,
    testNos: calm.map(({ testNo }) => testNo),
  });
  await addWebhookMessages(tx, repository, {
    event: "test.calm",
    // Not held back by what is said of other tests.
    cause: calm[0] ? testId(idPrefix, calm[0].testHash) : "",
    at: now,
    items: calm.map(({ testNo, testHash, ...identity }) => ({
      id: testId(idPrefix, testHash),
      ...identity,
      owners: owners.get(testNo) ?? [],
      passes: passes.get(testNo)!,
    })),
  });
}

type Entry = Quarantine & { quarantineExpiresAt: number };

async function addEndingEntries(tx: Queryable, repository: Repository, now: number): Promise<void> {
  const entries = await loadEntries(tx, repository, { from: now, until: now + ENDING_WITHIN });
  const due = entries.filter(({ entry }) => endingNoticeAt(entry) <= now);
  await addEntries(tx, repository, now, "quarantine.ending", due, ({ entry }) =>
    // With its end changed, an entry is announced again.
    endingNoticeAt(entry));
}

async function addEndedEntries(tx: Queryable, repository: Repository, now: number): Promise<void> {
  const entries = await loadEntries(tx, repository, { from: now - ENDED_WITHIN, until: now });
  await addEntries(
    tx,
    repository,
    now,
    "quarantine.removed",
    entries,
    ({ entry }) => entry.quarantineExpiresAt,
  );
}

type FoundEntry = { entry: Entry; test: TestRow; id: string };

/** The entries that end in a period, from its first second to the one before its end. */
async function loadEntries(
  tx: Queryable,
  { repositoryId, idPrefix }: Repository,
  { from, until }: { from: number; until: number },
): Promise<FoundEntry[]> {
  const rows = await tx<(Entry & TestRow)[]>`
    select t.test_no as "testNo", t.test_hash::float8 as "testHash", suite, class, name, file,
      ${quarantineColumns(tx)}
    from quarantine q
    join test t on t.repository_id = q.repository_id and t.test_no = q.test_no
    where q.repository_id = ${repositoryId}
      and q.quarantine_expires_at > to_timestamp(${from}::float8)
      and q.quarantine_expires_at <= to_timestamp(${until}::float8)
    order by t.test_hash`;
  return rows.map((row) => ({ entry: row, test: row, id: testId(idPrefix, row.testHash) }));
}

/** Adds an event of entries that were not announced since a moment. */
async function addEntries(
  tx: Queryable,
  repository: Repository,
  now: number,
  event: "quarantine.ending" | "quarantine.removed",
  entries: readonly FoundEntry[],
  since: (found: FoundEntry) => number,
): Promise<void> {
  if (entries.length === 0) return;
  const { repositoryId, organizationId } = repository;
  const announced = await tx<{ id: string; at: number }[]>`
    select s.id, extract(epoch from max(d.created_at))::float8 as at
    from webhook_delivery d, unnest(d.subjects) as s(id)
    where d.organization_id = ${organizationId} and d.event = ${event}
      and d.subjects && ${textsIn(tx, entries.map(({ id }) => id))}
    group by s.id`;
  const announcedAt = new Map(announced.map(({ id, at }) => [id, at]));
  const fresh = entries.filter((found) =>
    (announcedAt.get(found.id) ?? -Infinity) < Math.floor(since(found))
  );
  const testNos = fresh.map(({ test }) => test.testNo);
  const owners = await loadOwnersOfTests(tx, { repositoryId, testNos });
  await addWebhookMessages(tx, repository, {
    event,
    cause: fresh[0]?.id ?? "",
    at: now,
    items: fresh.map(({ id, entry, test }) => ({
      id,
      suite: test.suite,
      class: test.class,
      name: test.name,
      file: test.file,
      by: event === "quarantine.removed" ? null : entry.quarantinedBy,
      type: entry.quarantineType,
      reason: event === "quarantine.removed" ? "expired" : entry.quarantineReason,
      owner: entry.quarantineOwner,
      expires_at: entry.quarantineExpiresAt,
      environment: entry.quarantineEnvironment,
      owners: owners.get(test.testNo) ?? [],
    })),
  });
}
