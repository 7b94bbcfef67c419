/** What `up` deletes from its inbox: failed archives after some time or of some size, and empty folders. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { findFailedArchives } from "../../db/admin/archives.ts";
import type { Database } from "../../db/connection/connect.ts";
import { pause } from "../base/delay.ts";
import { errorMessage } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { Metrics } from "../base/metrics.ts";
import type { DiskRoom } from "../storage/disk_room.ts";
import type { FolderStorage } from "../storage/folder.ts";

const INTERVAL_MS = 60_000;

/** Uploads of a repository come in bursts, which use its folder again. */
const EMPTY_FOLDER_SECONDS = 3_600;

interface InboxContext {
  sql: Database["sql"];
  storage: FolderStorage;
  log: Log;
  metrics: Metrics | undefined;
  room: Pick<DiskRoom, "freeBytes" | "neededBytes">;
  /** Seconds since 1970. */
  now(): number;
}

/** How long failed archives are kept, and how much of them. */
interface FailedArchiveLimits {
  seconds: number;
  bytes: number;
}

/** Cleans the inbox regularly, until `stop`. */
export async function cleanInboxUntil(
  stop: AbortSignal,
  context: InboxContext,
  limits: FailedArchiveLimits,
): Promise<void> {
  while (!stop.aborted) {
    try {
      await cleanInbox(context, limits);
    } catch (error) {
      context.log.warn("inbox not cleaned", { error: errorMessage(error) });
    }
    await pause(INTERVAL_MS, stop);
  }
}

/**
 * Deletes the failed archives that are older than the limit, then the oldest until the others fit, and
 * the folders that have long been empty. Failed archives take at most half of the disk space that they
 * and new uploads share.
 */
export async function cleanInbox(
  context: InboxContext,
  limits: FailedArchiveLimits,
): Promise<void> {
  const { sql, storage, log, metrics, room, now } = context;
  const failed = [];
  for await (const archives of storage.list()) {
    for (const archive of await findFailedArchives(sql, { source: storage.name, archives })) {
      const info = await stat(join(storage.name, archive.key)).catch(() => null);
      if (info) failed.push({ ...archive, size: info.size });
    }
  }
  failed.sort((a, b) => b.finishedAt - a.finishedAt);
  const failedBytes = failed.reduce((sum, { size }) => sum + size, 0);
  const shared = failedBytes + room.freeBytes - room.neededBytes;
  const maxBytes = Math.min(limits.bytes, shared / 2);
  let keptBytes = 0;
  for (const archive of failed) {
    const { key, size, finishedAt } = archive;
    if (now() - finishedAt <= limits.seconds && keptBytes + size <= maxBytes) {
      keptBytes += size;
      continue;
    }
    await storage.remove!(archive);
    log.warn("failed archive deleted", { key, bytes: size });
    metrics?.count("failed_archives_deleted_total");
  }
  metrics?.set("failed_archives_bytes", keptBytes);
  await storage.removeEmptyFolders({ before: now() - EMPTY_FOLDER_SECONDS });
}
