/** The loop of `watch`: finds archives and has them processed, several at a time. */
import { findArchives, recordVersions } from "../../db/admin/archives.ts";
import { requireSchemaVersion } from "../../db/schema/migrate.ts";
import { aborted, pause } from "../base/delay.ts";
import type { Metrics } from "../base/metrics.ts";
import { StorageError, type StoredArchive } from "../storage/storage.ts";
import { ArchiveReader } from "./archive_reader.ts";
import {
  type ArchiveOutcome,
  completeArchive,
  finishRunning,
  processArchive,
  type WatcherContext,
} from "./process_archive.ts";
import { isSystemFault } from "./system_fault.ts";
import { errorMessage } from "../base/error.ts";

// Longer than a file has to be unchanged.
const SETTLE_PAUSE_MS = 2_100;
// Limit of the backoff during an outage, unless the interval is longer.
const MAX_OUTAGE_PAUSE_MS = 5_000;

interface WatchOptions {
  /** Seconds between sweeps. */
  interval: number;
  /** How many archives are processed at a time. */
  workers: number;
  /** Sweeps once; outcomes are not logged. */
  once: boolean;
  metrics: Metrics | undefined;
  stop: AbortSignal;
  /** Whether an upload is about to be stored by other means. */
  isTaken?: (key: string) => boolean;
  /** Called with the outcome of each archive, unless another watcher has it. */
  onOutcome?: (outcome: ArchiveOutcome) => Promise<void>;
  /** Waits between sweeps; tests pass their own. */
  sleep?: typeof pause;
  /** How long running archives may take after `stop`. */
  shutdownTimeoutMs?: number;
}

/** Sweeps until `stop`, or once. Returns the number of archives that failed. */
export async function watchArchives(
  watcher: Omit<WatcherContext, "reader">,
  options: WatchOptions,
): Promise<number> {
  const { interval, workers, once, metrics, stop, onOutcome, shutdownTimeoutMs } = options;
  const { isTaken = () => false, sleep = pause } = options;
  const { sql, storage, log } = watcher;
  const idle = Array.from({ length: workers }, () => new ArchiveReader({ stop }));
  const running = new Set<Promise<void>>();
  let failed = 0;
  /** Since the last sweep began: whether an outage has left an archive, and whether one was finished. */
  let seen = { outage: false, finished: false };
  /** The first error that is not the fault of an archive. */
  let problem: { error: unknown } | null = null;

  /** Resolves at the end: archives that wait for a lock do not delay it. */
  const stopped = aborted(stop);
  const notRemoved = new Set<string>();
  /** An archive that cannot be removed delays no other; the next sweep tries again. */
  const removeProcessed = async (archive: StoredArchive) => {
    try {
      await storage.remove?.(archive);
      notRemoved.delete(archive.key);
    } catch (error) {
      if (notRemoved.has(archive.key)) return;
      notRemoved.add(archive.key);
      log.warn("archive not removed", { key: archive.key, error: errorMessage(error) });
    }
  };

  const finish = async (archive: StoredArchive, outcome: ArchiveOutcome) => {
    const { status } = outcome;
    // With --once the outcomes are printed alone, and there is no retry.
    const isLogged = !once || status === "left";
    await completeArchive({ storage, log: isLogged ? log : undefined, metrics }, archive, outcome);
    if (status === "failed" || status === "left" && once) failed++;
    if (status !== "left") seen.finished = true;
    else if (outcome.isSystemFault) seen.outage = true;
    await onOutcome?.(outcome);
  };
  const start = (archive: StoredArchive) => {
    const reader = idle.pop()!;
    const task = processArchive({ ...watcher, reader }, archive)
      // `null`: another watcher has it.
      .then((outcome) => outcome && finish(archive, outcome))
      .catch((error) => void (problem ??= { error }))
      .then(() => {
        idle.push(reader);
        running.delete(task);
      });
    running.add(task);
  };
  const throwProblem = () => {
    const found = problem;
    problem = null;
    if (found) throw found.error;
  };
  /** Starts all waiting archives without awaiting them: a slow archive delays no later sweep. */
  const sweep = async () => {
    await requireSchemaVersion(sql);
    const source = storage.name;
    let isIncomplete = false;
    for await (const batch of storage.list()) {
      isIncomplete ||= batch.some((archive) => !archive.isComplete);
      const archives = batch.filter(({ isComplete, key }) => isComplete && !isTaken(key));
      if (archives.length === 0) continue;
      if (storage.remove) {
        // Uploaded again, or left by a watcher that was killed.
        const processed = await findArchives(sql, { source, archives, state: "processed" });
        for (const archive of processed) await removeProcessed(archive);
      }
      await recordVersions(sql, { source, archives });
      const unclaimed = await findArchives(sql, { source, archives, state: "unclaimed" });
      if (unclaimed.length === 0) continue;
      const oldest = Math.min(...unclaimed.map(({ uploadedAt }) => uploadedAt));
      const oldestSeconds = Math.max(0, watcher.now() - oldest);
      if (!once) {
        log.info("archives waiting", { count: unclaimed.length, oldest_seconds: oldestSeconds });
      }
      metrics?.set("archives_oldest_seconds", oldestSeconds);
      for (const [index, archive] of unclaimed.entries()) {
        metrics?.set("archives_waiting", unclaimed.length - index);
        while (idle.length === 0 && !stop.aborted) await Promise.race([...running, stopped]);
        throwProblem();
        if (stop.aborted) return false;
        if (!isTaken(archive.key)) start(archive);
      }
    }
    if (once) await Promise.race([Promise.all(running), stopped]);
    throwProblem();
    metrics?.set("archives_waiting", 0);
    metrics?.set("archives_oldest_seconds", 0);
    metrics?.set("last_sweep_timestamp_seconds", watcher.now());
    return isIncomplete;
  };

  try {
    // An outage is logged when it starts, when its error changes, and when it ends.
    let outage = "";
    let pauseMs = interval * 1000;
    while (!stop.aborted) {
      let isIncomplete = false;
      seen = { outage: false, finished: false };
      try {
        isIncomplete = await sweep();
        if (outage !== "") log.info("sweep recovered", { source: storage.name });
        outage = "";
      } catch (error) {
        if (stop.aborted && error instanceof StorageError) break;
        if (once || !isSystemFault(error)) throw error;
        const message = errorMessage(error);
        if (message !== outage) {
          log.warn("sweep failed", { source: storage.name, error: message });
        }
        outage = message;
      }
      if (once && !isIncomplete) break;
      // Exponential backoff: archives that cannot be stored are read again by every sweep.
      if (pauseMs > interval * 1000) await Promise.race([Promise.all(running), stopped]);
      const isOut = seen.outage && !seen.finished;
      const nextMs = isOut ? Math.min(2 * pauseMs, MAX_OUTAGE_PAUSE_MS) : 0;
      pauseMs = Math.max(nextMs, interval * 1000);
      await sleep(once || isIncomplete && !isOut ? SETTLE_PAUSE_MS : pauseMs, stop);
    }
  } finally {
    await finishRunning(running, log, shutdownTimeoutMs);
    for (const reader of idle) reader.close();
  }
  throwProblem();
  return failed;
}
