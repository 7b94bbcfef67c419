import { realpath } from "node:fs/promises";
import * as v from "valibot";
import { findUnclaimed, listArchives, retryFailedArchives } from "../../../db/admin/archives.ts";
import { isTransient } from "../../../db/connection/errors.ts";
import { requireSchemaVersion } from "../../../db/schema/migrate.ts";
import { pause } from "../../base/delay.ts";
import type { Log } from "../../base/log.ts";
import type { Metrics } from "../../base/metrics.ts";
import { formatTimestamp } from "../../base/time.ts";
import { VERSION } from "../../base/version.ts";
import {
  type AddCommand,
  argument,
  type CliIo,
  command,
  type CommandContext,
  flag,
  option,
} from "../command.ts";
import { COMMIT } from "../commit.ts";
import { waitForDatabase } from "../database.ts";
import { Failure, UsageError } from "../errors.ts";
import { ArchiveReader } from "../intake/archive_reader.ts";
import {
  type ArchiveOutcome,
  processArchive,
  type WatcherContext,
} from "../intake/process_archive.ts";
import { cannotRead, type Listener } from "../intake/read_files.ts";
import { withLog } from "../log_output.ts";
import { startOps } from "../ops.ts";
import { plainLine, progressLine } from "../output.ts";
import { requireOrganization } from "../resources.ts";
import { FolderStorage } from "../storage/folder.ts";
import {
  ENDPOINT_URL,
  parseS3Url,
  readS3Settings,
  STORAGE_VARIABLES,
} from "../storage/s3_settings.ts";
import { S3Storage } from "../storage/s3_storage.ts";
import { type ArchiveStorage, StorageError, type StoredArchive } from "../storage/storage.ts";
import { duration, lineOfText, location, wholeNumber } from "../values.ts";

// Longer than a file has to be unchanged.
const SETTLE_PAUSE_MS = 2_100;
// Fits a timer of 31 bits.
const DAY = 86_400;

/** `watch`. */
export const watchCommand: AddCommand = command({
  name: "watch",
  summary: "Process the archives that arrive in a folder or bucket, each once",
  example: "watch s3://ci-reports/acme --org acme",
  input: {
    source: argument("folder, or s3://BUCKET/PREFIX", location),
    org: option(
      "<name>",
      "organization of all archives (default: the only one, else the one named like the " +
        "repository owner)",
      v.optional(lineOfText),
    ),
    endpointUrl: ENDPOINT_URL,
    interval: option(
      "<duration>",
      "time between two sweeps (default: 10s)",
      v.optional(duration({ max: DAY }), "10s"),
    ),
    lease: option(
      "<duration>",
      "after which time another watcher takes over from a dead one (default: 60s)",
      v.optional(duration({ max: DAY }), "60s"),
    ),
    workers: option(
      "<n>",
      "archives that are processed at the same time (default: 4)",
      v.optional(wholeNumber({ min: 1, max: 32 }), "4"),
    ),
    once: flag("process what is there, then exit; exit code 1 when an archive failed or was left"),
    retryFailed: flag("retry the archives that failed"),
    list: flag("list the known archives and exit: key, status, reason"),
  },
  settings: ["DATABASE_WAIT_SECONDS", "LOG_LEVEL", "LOG_FORMAT", "OPS_HOST", "OPS_PORT"],
  environment: STORAGE_VARIABLES,
  async run(options, context, settings) {
    const { io } = context;
    await withLog(io, settings, async (log) => {
      const progress = progressLine(io);
      const listener: Listener = {
        note: (text) => log.warn("note", { text }),
        progress: ({ results, file }) => progress.show(`${results} results read, reading ${file}`),
      };
      const storage = await openStorage(options, { ...io, note: listener.note });
      const database = await waitForDatabase(() => context.openDatabase(), {
        seconds: settings.DATABASE_WAIT_SECONDS,
        stop: io.stop,
        note: (text) => log.warn("database unavailable", { error: text }),
      });
      if (database === null) return;
      const { sql } = database;
      if (options.list) return await printArchives(context, await listArchives(sql, storage.name));
      const organization = options.org === undefined
        ? null
        : await requireOrganization(sql, options.org);
      if (options.retryFailed) {
        const count = await retryFailedArchives(sql, storage.name);
        log.info("retrying failed archives", { count });
      }
      if (!options.once) {
        log.info("started", {
          version: VERSION,
          commit: COMMIT.slice(0, 12) || undefined,
          source: storage.name,
        });
      }
      const ops = startOps(database, settings, {
        log,
        onListen: (url) => log.info("readiness and metrics", { url }),
      });
      database.observeLockWaits((wait) =>
        log.warn("waiting for a lock", {
          waited_ms: Math.round(wait.waitedMs),
          blocking_pid: wait.blockingPid,
          application_name: wait.applicationName,
          state: wait.state,
          statement: wait.statement,
          transaction_seconds: wait.transactionSeconds,
        })
      );
      const watcher = {
        sql,
        storage,
        organization,
        leaseSeconds: options.lease,
        now: io.now,
        listener,
      };
      let failed = 0;
      try {
        failed = await watch(
          watcher,
          { ...options, log, metrics: ops?.metrics, progress },
          context,
        );
      } finally {
        await ops?.close();
      }
      if (options.once && failed > 0) {
        throw new Failure(
          `${failed} ${failed === 1 ? "archive" : "archives"} failed or left for later`,
        );
      }
    });
  },
});

async function openStorage(
  { source, endpointUrl }: { source: string; endpointUrl?: string | undefined },
  { stop, environment, note }: Pick<CliIo, "stop" | "environment"> & Pick<Listener, "note">,
): Promise<ArchiveStorage> {
  if (/^s3:/i.test(source)) {
    try {
      const location = parseS3Url(source);
      return new S3Storage(location, readS3Settings(environment, endpointUrl), { stop, note });
    } catch (error) {
      if (error instanceof SyntaxError) throw new UsageError(`SOURCE: ${error.message}`);
      throw error;
    }
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(source)) {
    throw new UsageError(`SOURCE: "${source}": expected a folder or s3://BUCKET/PREFIX`);
  }
  try {
    return new FolderStorage(await realpath(source), { stop });
  } catch (error) {
    const hint = "create it, or name the folder that `upload` writes to";
    throw cannotRead(error, { what: "folder", path: source, hint });
  }
}

/** Where events go. */
interface Observer {
  log: Log;
  metrics: Metrics | undefined;
  /** With `--once` the outcome of each archive goes to standard output, not to the log. */
  once: boolean;
}

/** Sweeps until a signal, or once. Returns the number of archives that failed. */
async function watch(
  watcher: Omit<WatcherContext, "reader">,
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
    const task = processArchive({ ...watcher, reader }, archive).then(async (outcome) => {
      progress.clear();
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
    while (!stop.aborted) {
      let isIncomplete = false;
      try {
        isIncomplete = await sweep();
      } catch (error) {
        if (stop.aborted && error instanceof StorageError) break;
        if (once || !isRetried(error)) throw error;
        log.warn("sweep failed", { source: storage.name, error: error.message });
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

async function printArchives(
  context: CommandContext,
  archives: Awaited<ReturnType<typeof listArchives>>,
): Promise<void> {
  await context.printList(
    archives.map(({ key, status, reason, attemptCount, foundAt, finishedAt }) => ({
      key,
      status,
      reason,
      attempt_count: attemptCount,
      found_at: formatTimestamp(foundAt),
      finished_at: finishedAt === null ? null : formatTimestamp(finishedAt),
    })),
    ["key", "status", "reason"],
  );
}
