// Tests: tests/db/admin/archive_locks_test.ts
/**
 * The queue of archives that watchers found. A watcher claims an archive with a lease that it keeps
 * extending; when it dies, the lease expires and another watcher takes over. The results are stored
 * in the transaction that ends the claim, so they are stored once. What the process that accepted an archive
 * has read is stored without a claim, whose commit would be flushed to the disk as well.
 *
 * Row locks would not do: all clients of the embedded database share one session.
 */
import { createHash } from "node:crypto";
import type { Database } from "../connection/connect.ts";
import type { Fragment, Queryable } from "../connection/sql.ts";
import { requireSchemaVersion } from "../schema/migrate.ts";
import { lockRepository } from "../write/repository_row.ts";
import { writeTransaction } from "../write/transaction.ts";
import { showFailed } from "../write/submission_rows.ts";

export interface ArchiveClaim {
  /** A folder or a bucket. */
  source: string;
  key: string;
  claimId: string;
}

/** An archive in its folder or bucket, without a claim. */
export interface FoundArchive {
  source: string;
  key: string;
  version: string;
}

/**
 * `duplicate`: its results were stored by an earlier submission. `deleted`: its submission was deleted.
 * Both, and `failed`, are processed again once the archive has another version.
 */
type FinishedStatus = "processed" | "duplicate" | "failed" | "deleted";

interface ArchiveRecord {
  key: string;
  status: "processing" | FinishedStatus;
  attemptCount: number;
  reason: string;
  /** Seconds since 1970. */
  foundAt: number;
  finishedAt: number | null;
}

/**
 * An archive has failed once this many processes ended while they had it. Kills count, by memory or
 * power, and stops that did not wait for it; an error does not, because the archive is released.
 */
export const MAX_LOST = 3;

/**
 * Another watcher has the archive: it has taken over, because this one did not extend its lease in time, or it
 * was first to find what this process accepted and stores without a claim.
 */
export class ClaimLostError extends Error {
  override name = "ClaimLostError";
}

/**
 * The found archives in a state: `unclaimed` ones wait for a watcher, `unfinished` ones wait or are claimed,
 * and the results of `processed` ones are stored or were deleted.
 */
export async function findArchives<Found extends { key: string; version: string }>(
  sql: Queryable,
  { source, archives, state }: {
    source: string;
    archives: Found[];
    state: "unclaimed" | "unfinished" | "processed";
  },
): Promise<Found[]> {
  const found = archives.map(({ key, version }) => ({ key, version }));
  const isWaiting = state === "unfinished" ? sql`a.status = 'processing'` : isUnclaimed(sql);
  const isInState = state === "processed"
    ? sql`a.status = 'processed'
        or a.status in ('duplicate', 'deleted') and not ${isRewritten(sql, sql`f.version`)}`
    : sql`a.key is null or ${isWaiting} or ${isRewritten(sql, sql`f.version`)}`;
  const rows = await sql<{ key: string }[]>`
    select f.key
    from json_to_recordset(${JSON.stringify(found)}::text::json) as f(key text, version text)
    left join archive a on a.source = ${source} and a.key = f.key
    where ${isInState}`;
  const keys = new Set(rows.map((row) => row.key));
  return archives.filter(({ key }) => keys.has(key));
}

/**
 * Records the versions of archives that were written again after they were processed: when their
 * submissions are deleted later, they do not come back by themselves.
 */
export async function recordVersions(
  sql: Queryable,
  { source, archives }: { source: string; archives: readonly { key: string; version: string }[] },
): Promise<void> {
  const found = archives.map(({ key, version }) => ({ key, version }));
  const rewritten = await sql<{ key: string; version: string }[]>`
    select f.key, f.version
    from json_to_recordset(${JSON.stringify(found)}::text::json) as f(key text, version text)
    join archive a on a.source = ${source} and a.key = f.key
    where a.status = 'processed' and a.version <> f.version`;
  for (const { key, version } of rewritten) {
    await sql`
      update archive set version = ${version}
      where source = ${source} and key = ${key} and status = 'processed'`;
  }
}

/** The archives that have failed among the found ones, with the time in seconds since 1970. */
export async function findFailedArchives<Found extends { key: string; version: string }>(
  sql: Queryable,
  { source, archives }: { source: string; archives: Found[] },
): Promise<(Found & { finishedAt: number })[]> {
  const found = archives.map(({ key, version }) => ({ key, version }));
  const rows = await sql<{ key: string; finishedAt: number }[]>`
    select f.key, extract(epoch from a.finished_at)::float8 as "finishedAt"
    from json_to_recordset(${JSON.stringify(found)}::text::json) as f(key text, version text)
    join archive a on a.source = ${source} and a.key = f.key
    where a.status = 'failed' and not ${isRewritten(sql, sql`f.version`)}`;
  const finishedAt = new Map(rows.map((row) => [row.key, row.finishedAt]));
  return archives.flatMap((archive) => {
    const time = finishedAt.get(archive.key);
    return time === undefined ? [] : [{ ...archive, finishedAt: time }];
  });
}

/** SQL: whether the row `a` of `archive` was released, or its lease has expired. */
function isUnclaimed(sql: Queryable) {
  return sql`a.status = 'processing' and coalesce(a.claimed_until, now()) <= now()`;
}

/**
 * SQL: whether the row `a` of `archive` stores nothing under its key, and there is another version now.
 * The versions of objects that builds before migration 3 recorded were only the first word of today's.
 */
function isRewritten(sql: Queryable, version: Fragment) {
  return sql`(a.status in ('duplicate', 'failed', 'deleted') and a.version <> ${version}
    and not starts_with(${version}, a.version || ' '))`;
}

/**
 * Claims an archive that is new, has an expired lease, or was rewritten and stores nothing. Returns the
 * number of this attempt, how often a process ended during one, and the reason of the last failure; `null` when
 * it is claimed already.
 */
export async function claimArchive(
  sql: Queryable,
  { source, key, version, claimId, leaseSeconds }: ArchiveClaim & {
    version: string;
    leaseSeconds: number;
  },
): Promise<{ attemptCount: number; lostCount: number; reason: string } | null> {
  await requireSchemaVersion(sql);
  const [row] = await sql<{ attemptCount: number; lostCount: number; reason: string }[]>`
    insert into archive as a
      (source, key, version, status, claim_id, claimed_until, attempt_count, found_at)
    values (${source}, ${key}, ${version}, 'processing', ${claimId}::uuid,
      now() + make_interval(secs => ${leaseSeconds}), 1, now())
    on conflict (source, key) do update set
      status = 'processing', version = excluded.version, claim_id = excluded.claim_id,
      claimed_until = excluded.claimed_until, finished_at = null,
      attempt_count = case when a.version = excluded.version then a.attempt_count + 1 else 1 end,
      lost_count = case when a.version = excluded.version
        then a.lost_count + (a.claim_id is not null)::int else 0 end
    where ${isUnclaimed(sql)} or ${isRewritten(sql, sql`excluded.version`)}
    returning attempt_count as "attemptCount", lost_count as "lostCount", reason`;
  return row ?? null;
}

/** Extends the lease, unless another watcher has taken over. */
export async function extendClaim(
  sql: Queryable,
  { leaseSeconds, ...claim }: ArchiveClaim & { leaseSeconds: number },
): Promise<void> {
  await sql`
    update archive set claimed_until = now() + make_interval(secs => ${leaseSeconds})
    where ${isHeld(sql, claim)}`;
}

/** SQL: whether a row of `archive` is of this archive, and still claimed by this watcher if it was. */
function isHeld(sql: Queryable, archive: ArchiveClaim | FoundArchive) {
  return sql`source = ${archive.source} and key = ${archive.key}
    ${"claimId" in archive ? sql`and claim_id = ${archive.claimId}::uuid` : sql``}`;
}

/**
 * Records the repository of an archive, and returns the key of its submission there: its own,
 * unless the repository has an archive with that key from another source. The repository must be locked: of
 * concurrent archives from two sources, one chooses its key after the other. An archive that is not claimed is
 * recorded as processed, in the transaction that stores its upload: nothing is left of it when the process ends.
 *
 * @throws {ClaimLostError} when another watcher has the archive
 */
export async function assignArchive(
  tx: Queryable,
  { repositoryId, ...archive }: (ArchiveClaim | FoundArchive) & { repositoryId: number },
): Promise<string> {
  const { source, key } = archive;
  const suffix = createHash("sha256").update(source).digest("hex").slice(0, 8);
  const submissionKey = tx`case when exists (
      select 1 from archive o
      where o.repository_id = ${repositoryId} and o.submission_key = ${key} and o.key = ${key}
        and o.source <> ${source})
    then ${`${key}#${suffix}`} else ${key} end`;
  type Row = { submissionKey: string };
  const [row] = "claimId" in archive
    ? await tx<Row[]>`
      update archive set repository_id = ${repositoryId}, submission_key = ${submissionKey}
      where ${isHeld(tx, archive)}
      returning submission_key as "submissionKey"`
    : await tx<Row[]>`
      insert into archive as a (source, key, version, status, repository_id, submission_key,
        attempt_count, found_at, finished_at)
      values (${source}, ${key}, ${archive.version}, 'processed', ${repositoryId}, ${submissionKey},
        1, now(), now())
      on conflict (source, key) do update set
        status = excluded.status, version = excluded.version, repository_id = excluded.repository_id,
        submission_key = excluded.submission_key, attempt_count = 1, lost_count = 0, reason = '',
        finished_at = excluded.finished_at
      where ${isRewritten(tx, tx`excluded.version`)}
      returning submission_key as "submissionKey"`;
  requireHeld(row);
  return row.submissionKey;
}

/**
 * Ends an archive that was assigned, in the transaction that stores its results.
 * @throws {ClaimLostError} when another watcher has taken over, so that nothing is stored twice
 */
export async function finishArchive(
  tx: Queryable,
  archive: ArchiveClaim | FoundArchive,
  { status, reason = "" }: { status: FinishedStatus; reason?: string },
): Promise<void> {
  // `assignArchive` recorded it as processed.
  if (!("claimId" in archive) && status === "processed") return;
  const [row] = await tx`
    update archive set status = ${status}, reason = ${reason}, claim_id = null,
      claimed_until = null, finished_at = now()
    where ${isHeld(tx, archive)}
    returning key`;
  requireHeld(row);
}

/** Marks an archive as failed, and shows a failed submission in its repository. */
export async function failArchive(
  sql: Database["sql"],
  { reason, submissionKey, ...claim }: ArchiveClaim & { reason: string; submissionKey: string },
): Promise<void> {
  await writeTransaction(sql, async (tx) => {
    const [archive] = await tx<{ repositoryId: number | null }[]>`
      select repository_id::float8 as "repositoryId" from archive where ${isHeld(tx, claim)}`;
    const repositoryId = archive?.repositoryId ?? null;
    // Every transaction locks the repository before its archives, which rules out deadlocks.
    if (repositoryId !== null) await lockRepository(tx, repositoryId);
    await finishArchive(tx, claim, { status: "failed", reason });
    if (repositoryId !== null) await showFailed(tx, { repositoryId, key: submissionKey });
  });
}

function requireHeld<Row>(row: Row | undefined): asserts row is Row {
  if (!row) throw new ClaimLostError("another watcher has taken over");
}

/**
 * Releases an archive for another attempt, with the reason of the failure. `isAttempt` is false
 * when the failure has nothing to do with the archive.
 */
export async function releaseArchive(
  sql: Queryable,
  { reason, isAttempt, ...claim }: ArchiveClaim & { reason: string; isAttempt: boolean },
): Promise<void> {
  await sql`
    update archive set claim_id = null, claimed_until = null, reason = ${reason},
      attempt_count = greatest(attempt_count - ${isAttempt ? 0 : 1}::int, 0)
    where ${isHeld(sql, claim)}`;
}

/** Queues the failed archives of a source again; returns how many. */
export async function retryFailedArchives(sql: Queryable, source: string): Promise<number> {
  const { count } = await sql`
    update archive set status = 'processing', attempt_count = 0, lost_count = 0, finished_at = null,
      claim_id = null, claimed_until = null
    where source = ${source} and status = 'failed'`;
  return count;
}

/** The archives that were set aside because processes ended while they had them. */
export async function findSetAside(
  sql: Queryable,
): Promise<{ source: string; key: string; lostCount: number }[]> {
  return await sql<{ source: string; key: string; lostCount: number }[]>`
    select source, key, lost_count as "lostCount" from archive
    where status = 'failed' and lost_count >= ${MAX_LOST}
    order by finished_at desc, key limit 10`;
}

/** All archives of a source, in the order of discovery. */
export async function listArchives(sql: Queryable, source: string): Promise<ArchiveRecord[]> {
  return await sql<ArchiveRecord[]>`
    select key, status, attempt_count as "attemptCount", reason,
      extract(epoch from found_at)::float8 as "foundAt",
      extract(epoch from finished_at)::float8 as "finishedAt"
    from archive
    where source = ${source}
    order by found_at, key`;
}
