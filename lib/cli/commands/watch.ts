import { realpath } from "node:fs/promises";
import * as v from "valibot";
import { findUnclaimed, listArchives, retryFailedArchives } from "../../../db/admin/archives.ts";
import { pause } from "../../base/delay.ts";
import type { Log } from "../../base/log.ts";
import type { Metrics } from "../../base/metrics.ts";
import { formatTimestamp } from "../../base/time.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { BUILD } from "../commit.ts";
import { withLog } from "./serve.ts";
import { startOps } from "../ops.ts";
import { Failure, UsageError } from "../errors.ts";
import { requireOrganization } from "../resources.ts";
import { plainLine } from "../output.ts";
import { ArchiveReader } from "../intake/archive_reader.ts";
import { progressListener } from "../intake/progress.ts";
import { FolderStorage } from "../storage/folder.ts";
import { parseS3Url, readS3Settings, STORAGE_VARIABLES } from "../storage/s3_settings.ts";
import { S3Storage } from "../storage/s3_storage.ts";
import { type ArchiveStorage, StorageError } from "../storage/storage.ts";
import { durationUpTo, lineOfText } from "../values.ts";
import { isTransient, waitForDatabase } from "../wait_for_database.ts";
import {
  processArchive,
  type WatcherContext,
  type WatchOutcome,
} from "../intake/process_archive.ts";

// Longer than a file has to be unchanged.
const SETTLE_PAUSE_MS = 2_100;

// Fits a timer of 31 bits.
const DAY = 86_400;

const input = v.object({
  source: v.pipe(v.string(), v.minLength(1, `"" is empty: expected a folder or s3://BUCKET`)),
  org: v.optional(lineOfText),
  endpointUrl: v.optional(lineOfText),
  interval: v.optional(durationUpTo(DAY), "10s"),
  lease: v.optional(durationUpTo(DAY), "60s"),
  once: v.optional(v.boolean(), false),
  retryFailed: v.optional(v.boolean(), false),
  list: v.optional(v.boolean(), false),
});

/** `watch`. */
export const watchCommand: AddCommand = command({
  name: "watch",
  summary: "Process the archives that arrive in a folder or bucket, each once",
  example: "watch s3://ci-reports/acme --org acme",
  arguments: { "<source>": "folder, or s3://BUCKET/PREFIX" },
  options: {
    "--org <name>":
      "organization of all archives (default: the only one, else the one named like " +
      "the repository owner)",
    "--endpoint-url <url>": "URL of S3-compatible storage (default: AWS_ENDPOINT_URL)",
    "--interval <duration>": "time between two sweeps (default: 10s)",
    "--lease <duration>":
      "after which time another watcher takes over from a dead one (default: 60s)",
    "--once": "process what is there, then exit; exit code 1 when an archive failed or was skipped",
    "--retry-failed": "retry the archives that failed",
    "--list": "list the known archives and exit: key, status, reason",
  },
  input,
  settings: ["DATABASE_WAIT_SECONDS", "LOG_LEVEL", "LOG_FORMAT", "OPS_HOST", "OPS_PORT"],
  environment: STORAGE_VARIABLES,
  async run(options, context, settings) {
    const { io } = context;
    const storage = await openStorage(options, context);
    const database = await waitForDatabase(() => context.openDatabase(), {
      seconds: settings.DATABASE_WAIT_SECONDS,
      stop: io.stop,
      note: context.note,
    });
    if (database === null) return;
    const { sql } = database;
    if (options.list) return await printArchives(context, await listArchives(sql, storage.name));
    const organization = options.org === undefined
      ? null
      : await requireOrganization(sql, options.org);
    if (options.retryFailed) {
      const count = await retryFailedArchives(sql, storage.name);
      context.note(`retrying ${count} failed ${count === 1 ? "archive" : "archives"}`);
    }
    if (!options.once) context.note(`test-analytics ${BUILD}: watching ${storage.name}`);
    const listener = progressListener(context);
    const reader = new ArchiveReader({ stop: io.stop });
    const watcher: WatcherContext = {
      sql,
      storage,
      reader,
      organization,
      leaseSeconds: options.lease,
      now: () => io.now(),
      listener,
    };
    let failed = 0;
    await withLog(io, settings, async (log) => {
      const ops = startOps(database, settings, { log, stderr: io.stderr });
      const observer = { log: options.once ? null : log, metrics: ops?.metrics };
      try {
        failed = await watch(watcher, { ...options, ...observer, context, clear: listener.clear });
      } finally {
        reader.close();
        await ops?.close();
      }
    });
    if (options.once && failed > 0) {
      throw new Failure(
        `${failed} ${
          failed === 1 ? "archive failed or was skipped" : "archives failed or were skipped"
        }`,
      );
    }
  },
});

async function openStorage(
  { source, endpointUrl }: { source: string; endpointUrl?: string | undefined },
  { io, note }: CommandContext,
): Promise<ArchiveStorage> {
  const { stop } = io;
  if (/^s3:/i.test(source)) {
    try {
      return new S3Storage(parseS3Url(source), readS3Settings(io.environment, endpointUrl), {
        stop,
        note,
      });
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

/** Sweeps until a signal, or once. Returns the number of archives that failed. */
async function watch(
  watcher: WatcherContext,
  { context, log, metrics, once, interval, clear }: {
    context: CommandContext;
    /** `null`: notes for people instead. */
    log: Log | null;
    metrics: Metrics | undefined;
    once: boolean;
    interval: number;
    clear(): void;
  },
): Promise<number> {
  const { stop } = context.io;
  let failed = 0;
  while (!stop.aborted) {
    let isIncomplete = false;
    try {
      for await (const batch of watcher.storage.list()) {
        if (stop.aborted) return failed;
        isIncomplete ||= batch.some((archive) => !archive.isComplete);
        const archives = await findUnclaimed(watcher.sql, {
          source: watcher.storage.name,
          archives: batch.filter((archive) => archive.isComplete),
        });
        for (const [index, archive] of archives.entries()) {
          if (stop.aborted) return failed;
          const waiting = archives.slice(index);
          const oldest = Math.min(...waiting.map(({ uploadedAt }) => uploadedAt));
          const oldestSeconds = Math.max(0, watcher.now() - oldest);
          if (index === 0) {
            log?.info("archives waiting", { count: waiting.length, oldest_seconds: oldestSeconds });
          }
          metrics?.set("archives_waiting", waiting.length);
          metrics?.set("archives_oldest_seconds", oldestSeconds);
          const outcome = await processArchive(watcher, archive);
          clear();
          if (outcome.status === "failed") failed++;
          // With --once there is no retry.
          if (once && outcome.status === "left" && outcome.reason !== "") failed++;
          await report(context, outcome, { log, metrics });
        }
      }
      metrics?.set("archives_waiting", 0);
      metrics?.set("archives_oldest_seconds", 0);
      metrics?.set("last_sweep_timestamp_seconds", watcher.now());
    } catch (error) {
      if (stop.aborted && error instanceof StorageError) return failed;
      if (once || !isRetried(error)) throw error;
      log?.warn("sweep failed", { source: watcher.storage.name, error: error.message });
      if (!log) {
        context.note(`${watcher.storage.name}: ${error.message}; retrying in ${interval} s`);
      }
    }
    if (once && !isIncomplete) return failed;
    await pause(once || isIncomplete ? SETTLE_PAUSE_MS : interval * 1000, stop);
  }
  return failed;
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
  { log, metrics }: { log: Log | null; metrics: Metrics | undefined },
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
  const line = outcome.status === "failed" ? [outcome.key, outcome.status, outcome.reason] : [
    outcome.key,
    outcome.status,
    outcome.test_result_count,
    ...outcome.duplicate ? ["duplicate"] : [],
  ];
  const text = context.json ? JSON.stringify(outcome) : plainLine(line);
  await context.io.stdout(`${text}\n`);
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
    (record) => [record.key, record.status, record.reason],
  );
}
