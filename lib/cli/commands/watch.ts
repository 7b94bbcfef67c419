import type { Command } from "commander";
import { realpath } from "node:fs/promises";
import * as v from "valibot";
import { findUnclaimed, listArchives, retryFailedArchives } from "../../../db/admin/archives.ts";
import { pause } from "../../base/delay.ts";
import { formatTimestamp } from "../../base/time.ts";
import { addCommand, type CliIo, type CommandContext } from "../command.ts";
import { Failure, UsageError } from "../errors.ts";
import { requireOrganization } from "../lookup.ts";
import { plainLine } from "../output.ts";
import { ArchiveReader } from "../intake/archive_reader.ts";
import { progressListener } from "../intake/progress.ts";
import { FolderStorage } from "../storage/folder.ts";
import { parseS3Url, readS3Settings, STORAGE_VARIABLES } from "../storage/s3_settings.ts";
import { S3Storage } from "../storage/s3_storage.ts";
import { type ArchiveStorage, StorageError } from "../storage/storage.ts";
import { durationUpTo, lineOfText } from "../values.ts";
import { isPassing, waitForDatabase } from "../wait_for_database.ts";
import {
  processArchive,
  type WatcherContext,
  type WatchOutcome,
} from "../intake/process_archive.ts";

// How soon a file is looked at again that may not be complete.
const SETTLE_PAUSE_MS = 2_100;

// Timers count in 31 bits of milliseconds: longer pauses would be none.
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

/** `watch`: takes in what arrives in a folder or bucket. */
export function addWatch(program: Command, io: CliIo): void {
  addCommand(program, io, {
    name: "watch",
    summary: "Take in the archives that arrive in a folder or bucket, each once",
    example: "watch s3://ci-reports/acme --org acme",
    arguments: [{ flags: "<source>", meaning: "folder, or s3://BUCKET/PREFIX" }],
    options: [
      {
        flags: "--org <name>",
        meaning: "organization of all archives (default: the only one, else the one that is " +
          "called like the repository's owner)",
      },
      {
        flags: "--endpoint-url <url>",
        meaning: "address of S3-compatible storage (default: AWS_ENDPOINT_URL)",
      },
      { flags: "--interval <duration>", meaning: "pause between two looks (default: 10s)" },
      {
        flags: "--lease <duration>",
        meaning: "how long after a watcher died others take over what it had begun (default: 60s)",
      },
      {
        flags: "--once",
        meaning: "process what is there, then end: 1 when one failed or was left",
      },
      { flags: "--retry-failed", meaning: "process again what failed before" },
      { flags: "--list", meaning: "only list the source's archives: key, status, reason" },
    ],
    input,
    settings: ["DATABASE_WAIT_SECONDS"],
    environment: STORAGE_VARIABLES,
    async run(options, context, settings) {
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
        context.note(`${count} failed ${count === 1 ? "archive is" : "archives are"} tried again`);
      }
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
      let failed: number;
      try {
        failed = await watch(watcher, { ...options, context, clear: listener.clear });
      } finally {
        reader.close();
      }
      if (options.once && failed > 0) {
        throw new Failure(
          `${failed} ${
            failed === 1 ? "archive failed or was left" : "archives failed or were left"
          }`,
        );
      }
    },
  });
}

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
    throw new UsageError(`SOURCE: "${source}" is neither a folder nor s3://BUCKET/PREFIX`);
  }
  try {
    return new FolderStorage(await realpath(source), { stop });
  } catch (error) {
    throw new Failure(`${source}: ${error instanceof Error ? error.message : error}`);
  }
}

/** Looks again and again until it is told to stop, or once. Returns how many archives failed. */
async function watch(
  watcher: WatcherContext,
  { context, once, interval, clear }: {
    context: CommandContext;
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
        for (const archive of archives) {
          if (stop.aborted) return failed;
          const outcome = await processArchive(watcher, archive);
          clear();
          if (outcome.status === "failed") failed++;
          // Nobody tries it again after the only look.
          if (once && outcome.status === "left" && outcome.reason !== "") failed++;
          await tell(context, outcome);
        }
      }
    } catch (error) {
      if (stop.aborted && error instanceof StorageError) return failed;
      // What cannot be reached now may be later; once is once.
      if (once || !isTriedAgain(error)) throw error;
      context.note(`${watcher.storage.name}: ${error.message}; tried again in ${interval} s`);
    }
    if (once && !isIncomplete) return failed;
    await pause(once || isIncomplete ? SETTLE_PAUSE_MS : interval * 1000, stop);
  }
  return failed;
}

/** Storage and database, both reached over a network; not a mistake in the program. */
function isTriedAgain(error: unknown): error is Error {
  if (error instanceof StorageError || isPassing(error)) return true;
  // SQLSTATE classes: connection, conflict of transactions, out of space or memory, lock, interrupted.
  return error instanceof Error && "code" in error &&
    /^(?:08|40|53|55|57)...$/.test(`${error.code}`);
}

async function tell(context: CommandContext, outcome: WatchOutcome): Promise<void> {
  if (outcome.status === "left") {
    if (outcome.reason !== "") context.note(`${outcome.key}: ${outcome.reason}; tried again later`);
    return;
  }
  if (outcome.status === "failed") context.note(`${outcome.key} failed: ${outcome.reason}`);
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
