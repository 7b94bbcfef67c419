import { realpath } from "node:fs/promises";
import * as v from "valibot";
import { findUnclaimed, listArchives, retryFailedArchives } from "../../../db/admin/archives.ts";
import { isTransient } from "../../../db/connection/errors.ts";
import { requireSchemaVersion } from "../../../db/schema/migrate.ts";
import { pause } from "../../base/delay.ts";
import type { Log } from "../../base/log.ts";
import type { Metrics } from "../../base/metrics.ts";
import { formatTimestamp } from "../../base/time.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { BUILD } from "../commit.ts";
import { waitForDatabase } from "../database.ts";
import { Failure, UsageError } from "../errors.ts";
import { ArchiveReader } from "../intake/archive_reader.ts";
import {
  processArchive,
  type WatcherContext,
  type WatchOutcome,
} from "../intake/process_archive.ts";
import { withLog } from "../log_output.ts";
import { startOps } from "../ops.ts";
import { plainLine, progressListener } from "../output.ts";
import { requireOrganization } from "../resources.ts";
import { FolderStorage } from "../storage/folder.ts";
import { parseS3Url, readS3Settings, STORAGE_VARIABLES } from "../storage/s3_settings.ts";
import { S3Storage } from "../storage/s3_storage.ts";
import { type ArchiveStorage, StorageError, type StoredArchive } from "../storage/storage.ts";
import { duration, lineOfText, wholeNumber } from "../values.ts";

// Longer than a file has to be unchanged.
const SETTLE_PAUSE_MS = 2_100;
// Fits a timer of 31 bits.
const DAY = 86_400;

/** `watch`. */
export const watchCommand: AddCommand = command({
  name: "watch",
  summary: "Process the archives that arrive in a folder or bucket, each once",
  example: "watch s3://ci-reports/acme --org acme",
  arguments: { "<source>": "folder, or s3://BUCKET/PREFIX" },
  options: {
    "--org <name>": "organization of all archives (default: the only one, else the one named " +
      "like the repository owner)",
    "--endpoint-url <url>": "URL of S3-compatible storage (default: AWS_ENDPOINT_URL)",
    "--interval <duration>": "time between two sweeps (default: 10s)",
    "--lease <duration>":
      "after which time another watcher takes over from a dead one (default: 60s)",
    "--workers <n>": "archives that are processed at the same time (default: 4)",
    "--once": "process what is there, then exit; exit code 1 when an archive failed or was skipped",
    "--retry-failed": "retry the archives that failed",
    "--list": "list the known archives and exit: key, status, reason",
  },
  input: v.object({
    source: v.pipe(v.string(), v.minLength(1, `"" is empty: expected a folder or s3://BUCKET`)),
    org: v.optional(lineOfText),
    endpointUrl: v.optional(lineOfText),
    interval: v.optional(duration({ max: DAY }), "10s"),
    lease: v.optional(duration({ max: DAY }), "60s"),
    workers: v.optional(wholeNumber({ min: 1, max: 32 }), "4"),
    once: v.optional(v.boolean(), false),
    retryFailed: v.optional(v.boolean(), false),
    list: v.optional(v.boolean(), false),
  }),
  settings: ["DATABASE_WAIT_SECONDS", "LOG_LEVEL", "LOG_FORMAT", "OPS_HOST", "OPS_PORT"],
  environment: STORAGE_VARIABLES,
  async run(options, context, settings) {
    const { io, note } = context;
    const storage = await openStorage(options, context);
    const database = await waitForDatabase(() => context.openDatabase(), {
      seconds: settings.DATABASE_WAIT_SECONDS,
      stop: io.stop,
      note,
    });
    if (database === null) return;
    const { sql } = database;
    if (options.list) return await printArchives(context, await listArchives(sql, storage.name));
    const organization = options.org === undefined
      ? null
      : await requireOrganization(sql, options.org);
    if (options.retryFailed) {
      const count = await retryFailedArchives(sql, storage.name);
      note(`retrying ${count} failed ${count === 1 ? "archive" : "archives"}`);
    }
    if (!options.once) note(`test-analytics ${BUILD}: watching ${storage.name}`);
    const watcher = {
      sql,
      storage,
      organization,
      leaseSeconds: options.lease,
      now: () => io.now(),
      listener: progressListener(context),
    };
    let failed = 0;
    await withLog(io, settings, async (log) => {
      const ops = startOps(database, settings, { log, stderr: io.stderr });
      const observer = { log: options.once ? null : log, metrics: ops?.metrics };
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
      try {
        failed = await watch(watcher, { ...options, ...observer }, context);
      } finally {
        await ops?.close();
      }
    });
    if (options.once && failed > 0) {
      throw new Failure(
        failed === 1
          ? "1 archive failed or was skipped"
          : `${failed} archives failed or were skipped`,
      );
    }
  },
});

async function openStorage(
  { source, endpointUrl }: { source: string; endpointUrl?: string | undefined },
  { io: { stop, environment }, note }: CommandContext,
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
    throw new Failure(`${source}: ${error instanceof Error ? error.message : error}`);
  }
}

/** Where events go. */
interface Observer {
  /** `null`: notes for people instead. */
  log: Log | null;
  metrics: Metrics | undefined;
}

/** Sweeps until a signal, or once. Returns the number of archives that failed. */
async function watch(
  watcher: Omit<WatcherContext, "reader"> & { listener: { clear(): void } },
  { once, interval, workers, log, metrics }: Observer & {
    once: boolean;
    interval: number;
    workers: number;
  },
  context: CommandContext,
): Promise<number> {
  const { sql, storage, listener } = watcher;
  const { stop } = context.io;
  const idle = Array.from({ length: workers }, () => new ArchiveReader({ stop }));
  const running = new Set<Promise<void>>();
  let failed = 0;
  /** The first error that is not the fault of an archive. */
  let problem: { error: unknown } | null = null;

  const start = (archive: StoredArchive) => {
    const reader = idle.pop()!;
    const task = processArchive({ ...watcher, reader }, archive).then(async (outcome) => {
      listener.clear();
      // With --once there is no retry.
      if (
        outcome.status === "failed" || once && outcome.status === "left" && outcome.reason !== ""
      ) {
        failed++;
      }
      await report(context, outcome, { log, metrics });
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
  /** Starts what is there, without waiting for the end: a slow archive delays no later sweep. */
  const sweep = async () => {
    await requireSchemaVersion(sql);
    let isIncomplete = false;
    for await (const batch of storage.list()) {
      isIncomplete ||= batch.some((archive) => !archive.isComplete);
      const archives = batch.filter((archive) => archive.isComplete);
      const unclaimed = await findUnclaimed(sql, { source: storage.name, archives });
      for (const [index, archive] of unclaimed.entries()) {
        const waiting = unclaimed.slice(index);
        const oldest = Math.min(...waiting.map(({ uploadedAt }) => uploadedAt));
        const oldestSeconds = Math.max(0, watcher.now() - oldest);
        if (index === 0) {
          log?.info("archives waiting", { count: waiting.length, oldest_seconds: oldestSeconds });
        }
        metrics?.set("archives_waiting", waiting.length);
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
        log?.warn("sweep failed", { source: storage.name, error: error.message });
        if (!log) context.note(`${storage.name}: ${error.message}; retrying in ${interval} s`);
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
  outcome: WatchOutcome,
  { log, metrics }: Observer,
): Promise<void> {
  const { key, status } = outcome;
  if (status === "left") {
    if (outcome.reason === "") return;
    metrics?.count("archives_total", { outcome: status });
    log?.warn("archive left for a retry", { key, reason: outcome.reason });
    if (!log) context.note(`${key}: ${outcome.reason}; retrying later`);
    return;
  }
  if (status === "failed") {
    metrics?.count("archives_total", { outcome: status });
    log?.warn("archive failed", { key, reason: outcome.reason });
    if (!log) context.note(`${key} failed: ${outcome.reason}`);
  } else {
    const { duplicate, test_result_count: results } = outcome;
    metrics?.count("archives_total", { outcome: duplicate ? "duplicate" : "processed" });
    metrics?.count("results_total", {}, duplicate ? 0 : results);
    log?.info("archive processed", { key, results, duplicate });
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
