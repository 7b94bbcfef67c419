/** The loop of `watch`: finds archives and has them processed, several at a time. */
import { findProcessed, findUnclaimed } from "../../../db/admin/archives.ts";
import { isTransient } from "../../../db/connection/errors.ts";
import { requireSchemaVersion } from "../../../db/schema/migrate.ts";
import { pause } from "../../base/delay.ts";
import type { Log } from "../../base/log.ts";
import type { Metrics } from "../../base/metrics.ts";
import type { CommandContext } from "../command.ts";
import { plainLine } from "../output.ts";
import { StorageError, type StoredArchive } from "../storage/storage.ts";
import { ArchiveReader } from "./archive_reader.ts";
import { type ArchiveOutcome, processArchive, type WatcherContext } from "./process_archive.ts";

// Longer than a file has to be unchanged.
const SETTLE_PAUSE_MS = 2_100;

/** Where events go. */
export interface Observer {
  log: Log;
  metrics: Metrics | undefined;
  /** With `--once` the outcome of each archive goes to standard output, not to the log. */
  once: boolean;
}

/** Sweeps until `stop`, or once. Returns the number of archives that failed. */
export async function watchArchives(
  watcher: Omit<WatcherContext, "reader" | "log">,
  { interval, workers, progress, ...observer }: Observer & {
    interval: number;
    workers: number;
    progress: { clear(): void };
  },
  context: CommandContext,
): Promise<number> {
  const { sql, storage } = watcher;
  const { log, metrics, once } = observer;
  const { stop } = context.io;
  const idle = Array.from({ length: workers }, () => new ArchiveReader({ stop }));
  const running = new Set<Promise<void>>();
  let failed = 0;
  /** The first error that is not the fault of an archive. */
  let problem: { error: unknown } | null = null;

  const start = (archive: StoredArchive) => {
    const reader = idle.pop()!;
    const task = processArchive({ ...watcher, reader, log }, archive).then(async (outcome) => {
      progress.clear();
      if (outcome.status === "processed") await storage.remove?.(archive.key);
      // With --once there is no retry.
      if (
        outcome.status === "failed" || once && outcome.status === "left" && outcome.reason !== ""
      ) {
        failed++;
      }
      await report(context, outcome, observer);
    }).catch((error) => void (problem ??= { error })).finally(() => {
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
    let isIncomplete = false;
    for await (const batch of storage.list()) {
      isIncomplete ||= batch.some((archive) => !archive.isComplete);
      const archives = batch.filter((archive) => archive.isComplete);
      if (storage.remove) {
        // Uploaded again, or left by a watcher that was killed.
        const processed = await findProcessed(sql, { source: storage.name, archives });
        for (const key of processed) await storage.remove(key);
      }
      const unclaimed = await findUnclaimed(sql, { source: storage.name, archives });
      // The oldest of each archive and those after it.
      const oldest = unclaimed.map(({ uploadedAt }) => uploadedAt);
      for (let index = oldest.length - 2; index >= 0; index--) {
        oldest[index] = Math.min(oldest[index]!, oldest[index + 1]!);
      }
      for (const [index, archive] of unclaimed.entries()) {
        const count = unclaimed.length - index;
        const oldestSeconds = Math.max(0, watcher.now() - oldest[index]!);
        if (index === 0 && !once) {
          log.info("archives waiting", { count, oldest_seconds: oldestSeconds });
        }
        metrics?.set("archives_waiting", count);
        metrics?.set("archives_oldest_seconds", oldestSeconds);
        while (idle.length === 0) await Promise.race(running);
        throwProblem();
        if (stop.aborted) return false;
        start(archive);
      }
    }
    if (once) await Promise.all(running);
    throwProblem();
    metrics?.set("archives_waiting", 0);
    metrics?.set("archives_oldest_seconds", 0);
    metrics?.set("last_sweep_timestamp_seconds", watcher.now());
    return isIncomplete;
  };

  try {
    // An outage is logged when it starts, when its error changes, and when it ends.
    let outage = "";
    while (!stop.aborted) {
      let isIncomplete = false;
      try {
        isIncomplete = await sweep();
        if (outage !== "") log.info("sweep succeeded again", { source: storage.name });
        outage = "";
      } catch (error) {
        if (stop.aborted && error instanceof StorageError) break;
        if (once || !isRetried(error)) throw error;
        if (error.message !== outage) {
          log.warn("sweep failed", { source: storage.name, error: error.message });
        }
        outage = error.message;
      }
      if (once && !isIncomplete) break;
      await pause(once || isIncomplete ? SETTLE_PAUSE_MS : interval * 1000, stop);
    }
    await Promise.all(running);
    throwProblem();
    return failed;
  } finally {
    await Promise.all(running);
    for (const reader of idle) reader.close();
  }
}

/** True for errors of storage and database that may go away. */
function isRetried(error: unknown): error is Error {
  if (error instanceof StorageError || isTransient(error)) return true;
  // SQLSTATE classes: connection, transaction conflict, resources, lock, operator intervention.
  return error instanceof Error && "code" in error &&
    /^(?:08|40|53|55|57)...$/.test(`${error.code}`);
}

async function report(
  context: CommandContext,
  outcome: ArchiveOutcome,
  { log, metrics, once }: Observer,
): Promise<void> {
  const { key, status } = outcome;
  if (status === "left") {
    if (outcome.reason === "") return;
    metrics?.count("archives_total", { outcome: status });
    return log.warn("archive left for a retry", { key, reason: outcome.reason });
  }
  if (status === "failed") {
    metrics?.count("archives_total", { outcome: status });
    if (!once) log.warn("archive failed", { key, reason: outcome.reason });
  } else {
    const { duplicate, test_result_count: results } = outcome;
    metrics?.count("archives_total", { outcome: duplicate ? "duplicate" : "processed" });
    metrics?.count("results_total", {}, duplicate ? 0 : results);
    if (!once) log.info("archive processed", { key, results, duplicate });
  }
  const line = status === "failed"
    ? [key, status, outcome.reason]
    : [key, status, outcome.test_result_count, ...outcome.duplicate ? ["duplicate"] : []];
  await context.io.stdout(`${context.json ? JSON.stringify(outcome) : plainLine(line)}\n`);
}
