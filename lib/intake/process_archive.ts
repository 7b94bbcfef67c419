/** Processes one archive for a watcher: claims it, reads it, stores it, or records why it failed. */
import { randomUUID } from "node:crypto";
import {
  type ArchiveClaim,
  assignArchive,
  claimArchive,
  ClaimLostError,
  extendClaim,
  failArchive,
  type FoundArchive,
  MAX_LOST,
  releaseArchive,
} from "../../db/admin/archives.ts";
import { findOrganization, type Organization } from "../../db/admin/organizations.ts";
import type { Origin } from "../../db/admin/changes.ts";
import { applyPolicy, loadPolicy } from "../../db/admin/quarantine_policy.ts";
import { findOrCreateRepository, type Repository } from "../../db/admin/repositories.ts";
import type { Database } from "../../db/connection/connect.ts";
import { SchemaVersionError } from "../../db/schema/migrate.ts";
import { writeTransaction } from "../../db/write/transaction.ts";
import { lockForUpload } from "../../db/write/repository_row.ts";
import { showProcessing } from "../../db/write/submission_rows.ts";
import { TagLimitError } from "../../db/write/test_tags.ts";
import { isDoneWithin } from "../base/delay.ts";
import type { Log } from "../base/log.ts";
import { formatRepositoryName } from "../base/repository_name.ts";
import { WINDOW_SECONDS } from "../base/time.ts";
import type { Metrics } from "../base/metrics.ts";
import { oneLine } from "../base/text.ts";
import { findDefaultOrganization } from "../../db/admin/organizations.ts";
import { type ArchiveStorage, StorageError, type StoredArchive } from "../storage/storage.ts";
import type { ArchiveReader } from "./archive_reader.ts";
import { isSystemFault } from "./system_fault.ts";
import type { FoundFacts } from "./archive_facts.ts";
import type { ReadArchive } from "./read_archive.ts";
import type { Listener } from "./read_files.ts";
import { type IntakeOutcome, storeUpload } from "./store_upload.ts";
import { errorMessage } from "../base/error.ts";

// For an archive that an error of the program keeps from being stored.
const MAX_ATTEMPTS = 20;
const MAX_REASON_CHARACTERS = 2_000;
// With the time to roll back, a service with a large upload ends within 5 seconds.
const SHUTDOWN_TIMEOUT_MS = 3_000;

export interface WatcherContext {
  sql: Database["sql"];
  storage: ArchiveStorage;
  /** `null`: found for each archive by the owner of its repository. */
  organization: Organization | null;
  leaseSeconds: number;
  /** Seconds since 1970. */
  now(): number;
  listener: Listener;
  log: Log;
  /** Aborted by {@linkcode finishRunning}: what is being stored is rolled back and released. */
  stop?: AbortSignal;
  metrics?: Metrics | undefined;
  /** Origin of the entries that the quarantine policy adds and removes. */
  origin: Origin;
}

export type ArchiveOutcome =
  /** `submission_key` names the earlier submission of a duplicate; `null` without results. */
  | (Omit<IntakeOutcome, "key" | "status"> & {
    key: string;
    status: "processed";
    submission_key: string | null;
  })
  | { status: "failed"; key: string; reason: string }
  /** Left for a later attempt, or to another watcher. */
  | { status: "left"; key: string; reason: string; isSystemFault: boolean };

/** The archive is at fault: it has failed and is not retried. */
class ArchiveError extends Error {}

/** Of an archive that was not claimed: the first attempt, of which nothing is left if the process ends. */
const UNCLAIMED = { attemptCount: 1, lostCount: 0, reason: "" };

export type ReadUpload = Pick<ReadArchive, "facts" | "files">;

/**
 * Processes an archive; `null` when another watcher does, or its results are stored.
 *
 * @param uploadOrReader what the door has read of it, or the reader to read it with: then it is claimed, and listed as
 * `processing` meanwhile
 */
export async function processArchive(
  context: WatcherContext,
  archive: StoredArchive,
  uploadOrReader: ReadUpload | ArchiveReader,
): Promise<ArchiveOutcome | null> {
  const { sql, storage, leaseSeconds, listener, metrics } = context;
  const { key, version } = archive;
  const claim: ArchiveClaim = { source: storage.name, key, claimId: randomUUID() };
  const takeClaim = () => claimArchive(sql, { ...claim, version, leaseSeconds });
  const isRead = "facts" in uploadOrReader;
  const claimed = isRead ? UNCLAIMED : await takeClaim();
  if (!claimed) return null;
  const lease = isRead ? undefined : setInterval(() => {
    extendClaim(sql, { ...claim, leaseSeconds }).catch((error) =>
      listener.note(`${key}: the lease could not be extended: ${errorMessage(error)}`)
    );
  }, leaseSeconds * 1000 / 3);
  const shown = { key };
  try {
    if (claimed.lostCount >= MAX_LOST) {
      metrics?.count("archives_set_aside_total");
      throw new ArchiveError(
        `set aside: the process ended ${claimed.lostCount} times while it read or stored this archive; ` +
          "split the upload, or give the process more memory, and upload it again",
      );
    }
    if (claimed.attemptCount > MAX_ATTEMPTS) {
      throw new ArchiveError(
        `failed after ${MAX_ATTEMPTS} attempts` + (claimed.reason && `: ${claimed.reason}`),
      );
    }
    const { facts, files } = isRead
      ? uploadOrReader
      : await readAndShow(context, { archive, claim, shown, reader: uploadOrReader });
    if (isRead) files.notes.forEach((text) => listener.note(`${key}: ${text}`));
    const held = isRead ? { source: storage.name, key, version } : claim;
    const { key: submissionKey, ...outcome } = await store(context, { facts, files }, held);
    return { ...outcome, key, status: "processed", submission_key: submissionKey };
  } catch (error) {
    const reason = oneLine(errorMessage(error)).slice(0, MAX_REASON_CHARACTERS);
    if (error instanceof ClaimLostError) {
      if (isRead) return null;
      return { status: "left", key, reason, isSystemFault: false };
    }
    if (error instanceof SchemaVersionError) {
      // Not the archive's fault: it stays free for a process of the new version.
      if (!isRead) await releaseArchive(sql, { ...claim, reason: "", isAttempt: false });
      throw error;
    }
    if (!(error instanceof ArchiveError || error instanceof TagLimitError)) {
      // What was not claimed is free as it is: the next sweep finds it in the inbox.
      if (!isRead) {
        await releaseArchive(sql, { ...claim, reason, isAttempt: !isSystemFault(error) });
      }
      return { status: "left", key, reason, isSystemFault: isSystemFault(error) };
    }
    if (isRead && !await takeClaim()) return null;
    try {
      await failArchive(sql, { ...claim, reason, submissionKey: shown.key });
      return { status: "failed", key, reason };
    } catch (error) {
      if (!(error instanceof ClaimLostError)) throw error;
      return { status: "left", key, reason: error.message, isSystemFault: false };
    }
  } finally {
    clearInterval(lease);
  }
}

/** Removes a processed archive from an inbox, logs the outcome and counts it. */
export async function completeArchive(
  { storage, log, metrics }: Pick<WatcherContext, "storage"> & {
    log: Log | undefined;
    metrics: Metrics | undefined;
  },
  archive: StoredArchive,
  outcome: ArchiveOutcome,
): Promise<void> {
  const { key, status } = outcome;
  if (status === "processed") {
    const { duplicate, test_result_count: results } = outcome;
    // It is processed all the same; the sweeps try again.
    await storage.remove?.(archive).catch((error) =>
      log?.warn("archive not removed", { key, error: errorMessage(error) })
    );
    log?.info("archive processed", { key, results, duplicate });
    metrics?.count("results_total", {}, duplicate ? 0 : results);
    metrics?.count("archives_total", { outcome: duplicate ? "duplicate" : status });
  } else {
    const { reason } = outcome;
    log?.warn(status === "left" ? "archive will be retried" : "archive failed", { key, reason });
    metrics?.count("archives_total", { outcome: status });
  }
}

/** After the shutdown timeout, for the statement that is running. */
const ROLL_BACK_MS = 2_000;

// Counted in ticks: a statement of the embedded database keeps timers waiting, too.
const ROLL_BACK_TICK_MS = 100;

/**
 * Waits at shutdown for archives that are being stored: a transaction may wait for a lock for minutes.
 * Those that are left are rolled back and released, so that their end does not count as a crash, and
 * processed after the next start.
 */
export async function finishRunning(
  running: ReadonlySet<Promise<unknown>>,
  { log, stop, timeoutMs = SHUTDOWN_TIMEOUT_MS }: {
    log: Log;
    stop: AbortController;
    timeoutMs?: number | undefined;
  },
): Promise<void> {
  const count = running.size;
  if (await isDoneWithin(Promise.all(running), timeoutMs)) return;
  log.warn("shutdown timeout: archives were left for the next start", { count });
  stop.abort(new StorageError("the process is ending"));
  for (let waitedMs = 0; waitedMs < ROLL_BACK_MS; waitedMs += ROLL_BACK_TICK_MS) {
    if (await isDoneWithin(Promise.all(running), ROLL_BACK_TICK_MS)) return;
  }
}

async function store(
  { sql, organization: given, now, listener, log, origin, stop }: WatcherContext,
  { facts, files }: ReadUpload,
  archive: ArchiveClaim | FoundArchive,
): Promise<IntakeOutcome> {
  const organization = given ?? await organizationOf(sql, facts);
  // Not the moment before it was read: what counts as of a moment then would change later.
  const moment = now();
  const stored = await storeUpload(sql, organization, facts, files, {
    now: moment,
    stop,
    archive,
    isStoredOnce: true,
  });
  stored.notes.forEach((text) => listener.note(`${archive.key}: ${text}`));
  await applyPolicyAfterUpload(sql, stored.repository, { now: now(), origin, log });
  return stored.outcome;
}

/** Reads an archive, and lists it under its repository as soon as that is known. */
async function readAndShow(
  { sql, storage, organization: given, now, listener, stop }: WatcherContext,
  { archive, claim, shown, reader }: {
    archive: StoredArchive;
    claim: ArchiveClaim;
    /** Set to the key that the submission is shown under. */
    shown: { key: string };
    reader: ArchiveReader;
  },
): Promise<ReadUpload> {
  const moment = now();
  let listed: Promise<void> | undefined;
  const read = await reader.read(storage.open(archive), {
    given: {},
    now: moment,
    // Without a timestamp its tests ran when it was uploaded.
    recordedAt: Math.min(archive.uploadedAt, moment),
    listener,
    onFacts: (facts) => listed = show(facts),
  }).catch(async (error) => {
    // An error of the database or of the organization comes first.
    await listed;
    throw isSystemFault(error) ? error : new ArchiveError(errorMessage(error), { cause: error });
  });
  await listed;
  return read;

  /** Lists the archive under its repository as `processing`. */
  async function show(facts: FoundFacts): Promise<void> {
    const organization = given ?? await organizationOf(sql, facts);
    const creation = { ...facts.repository, organization, createdAt: moment };
    await writeTransaction(sql, async (tx) => {
      const { repositoryId } = await findOrCreateRepository(tx, creation);
      const repository = await lockForUpload(tx, repositoryId);
      shown.key = await assignArchive(tx, { ...claim, repositoryId });
      const head = { ...facts, repositoryId, key: shown.key, uploadedAt: moment };
      await showProcessing(tx, repository, head);
    }, stop);
  }
}

/**
 * Applies the quarantine policy of a repository, if it has one, after an upload was stored. An error is
 * logged, not thrown: the upload is complete, and the next one applies the policy again.
 */
async function applyPolicyAfterUpload(
  sql: Database["sql"],
  repository: Repository,
  { now, origin, log }: { now: number; origin: Origin; log: Log },
): Promise<void> {
  const name = formatRepositoryName(repository);
  try {
    const policy = await loadPolicy(sql, repository);
    if (!policy) return;
    const windowStart = now - WINDOW_SECONDS;
    const decisions = await applyPolicy(sql, repository, policy, { now, windowStart, origin });
    for (const { action, test, reason } of decisions) {
      if (action !== "enter" && action !== "leave") continue;
      const message = action === "enter" ? "test quarantined" : "test released";
      log.info(message, { repository: name, test_id: test.id, test: test.name, reason });
    }
  } catch (error) {
    log.warn("quarantine policy not applied", { repository: name, error: errorMessage(error) });
  }
}

/**
 * The organization that `receive` wrote into the archive; without it the only one, or the one named
 * like the owner of the repository.
 */
async function organizationOf(
  sql: Database["sql"],
  { organization: name, repository }: FoundFacts,
): Promise<Organization> {
  if (name !== "") {
    const organization = await findOrganization(sql, name);
    if (organization) return organization;
    throw new ArchiveError(`organization "${name}", which the archive names, is unknown`);
  }
  const { owner } = repository;
  const organization = await findDefaultOrganization(sql, owner);
  if (organization) return organization;
  throw new ArchiveError(
    `no organization is called "${owner.split("/")[0]}", as the owner of ` +
      `${formatRepositoryName(repository)}: create it, or use \`watch --org NAME\``,
  );
}
