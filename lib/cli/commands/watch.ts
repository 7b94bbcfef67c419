import { realpath } from "node:fs/promises";
import * as v from "valibot";
import { listArchives, retryFailedArchives } from "../../../db/admin/archives.ts";
import { plural } from "../../base/text.ts";
import { SECONDS_PER_DAY } from "../../base/time.ts";
import { jsonRecord } from "../../base/json_record.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import type { CliIo } from "../io.ts";
import { argument, flag, location, option, wholeNumber } from "../parameters.ts";
import { duration, lineOfText } from "../../base/value_schemas.ts";
import { requireWritable } from "../database.ts";
import { Failure } from "../../base/failure.ts";
import type { ArchiveOutcome } from "../../intake/process_archive.ts";
import { cannotRead, type ReadProgress } from "../../intake/read_files.ts";
import { watchArchives } from "../../intake/watch_loop.ts";
import { plainLine, progressLine, readingText } from "../output.ts";
import { requireOrganization } from "../organization.ts";
import { runService, runTogether, SERVICE_SETTINGS } from "../run_service.ts";
import { readPublicUrl } from "../settings.ts";
import { sendWebhooks } from "../../webhook_sender/send_webhooks.ts";
import { FolderStorage } from "../../storage/folder.ts";
import {
  parseS3Url,
  readS3Settings,
  S3Storage,
  STORAGE_VARIABLES,
} from "../../storage/s3_storage.ts";
import type { ArchiveStorage } from "../../storage/storage.ts";

export const watchCommand: AddCommand = command({
  name: "watch",
  summary: "Process the archives that arrive in a folder or bucket, each once",
  example: "watch s3://ci-reports/acme --org acme",
  input: {
    source: argument("folder, or s3://BUCKET/PREFIX", location),
    org: option(
      "<name>",
      "organization of all archives (default: the only one, or the one named after the " +
        "repository's owner)",
      v.optional(lineOfText),
    ),
    interval: option(
      "<duration>",
      "time between sweeps (default: 10s)",
      v.optional(duration({ max: SECONDS_PER_DAY }), "10s"),
    ),
    lease: option(
      "<duration>",
      "time after which another watcher takes over from one that was killed (default: 60s)",
      v.optional(duration({ max: SECONDS_PER_DAY }), "60s"),
    ),
    workers: option(
      "<n>",
      "archives to process concurrently (default: 4)",
      v.optional(wholeNumber({ min: 1, max: 32 }), "4"),
    ),
    once: flag(
      "process the existing archives and exit; exit code 1 if one failed or will be retried",
    ),
    retryFailed: flag("retry the archives that failed"),
    list: flag("list the known archives and exit: key, status, reason"),
  },
  settings: SERVICE_SETTINGS,
  environment: [...STORAGE_VARIABLES, "PUBLIC_URL"],
  async run(options, context, settings) {
    const { io } = context;
    const progress = progressLine(io);
    const storage = await openStorage(options.source, io);
    const pagesUrl = readPublicUrl(io.environment);
    let failed = 0;
    await runService(context, settings, {
      open: () => context.openDatabase(),
      async body({ database, log, metrics, logStarted }) {
        const { sql } = database;
        if (options.list) {
          const archives = await listArchives(sql, storage.name);
          return await context.printList(archives.map(jsonRecord), ["key", "status", "reason"]);
        }
        const organization = options.org === undefined
          ? null
          : await requireOrganization(sql, options.org);
        await requireWritable(database, {
          task: "`watch` stores uploads",
          remedy: "use the owner of the tables, or the role that deploy/writer_role.sql creates",
        });
        if (options.retryFailed) {
          const count = await retryFailedArchives(sql, storage.name);
          log.info("retrying failed archives", { count });
        }
        if (!options.once) logStarted({ source: storage.name });
        const watcher = {
          sql,
          storage,
          organization,
          leaseSeconds: options.lease,
          now: io.now,
          log,
          listener: {
            note: (text: string) => log.warn("note", { text }),
            progress: (read: ReadProgress) => progress.show(readingText(read, 0)),
          },
          origin: context.origin(),
        };
        const sender = { sql, now: io.now, log, metrics, pagesUrl };
        const sweeping = (stop: AbortSignal) =>
          watchArchives(watcher, {
            ...options,
            metrics,
            stop,
            sleep: io.sleep,
            async onOutcome(outcome) {
              progress.clear();
              if (outcome.status !== "left") await printOutcome(context, outcome);
            },
          });
        if (options.once) {
          failed = await sweeping(io.stop);
          await sendWebhooks(sender, { stop: io.stop, once: true });
        } else {
          await runTogether(io.stop, (stop) => [sweeping(stop), sendWebhooks(sender, { stop })]);
        }
      },
    });
    if (options.once && failed > 0) {
      throw new Failure(
        `${plural(failed, "archive")} failed or will be retried`,
      );
    }
  },
});

async function openStorage(
  source: string,
  { stop, environment }: Pick<CliIo, "stop" | "environment">,
): Promise<ArchiveStorage> {
  const location = parseS3Url(source, "SOURCE");
  if (location) return new S3Storage(location, readS3Settings(environment), { stop });
  try {
    return new FolderStorage(await realpath(source), { stop });
  } catch (error) {
    const hint = "create it, or name the folder that `upload` writes to";
    throw cannotRead(error, { what: "folder", path: source, hint });
  }
}

async function printOutcome(
  { io, json }: CommandContext,
  outcome: Exclude<ArchiveOutcome, { status: "left" }>,
): Promise<void> {
  const { key, status } = outcome;
  const line = status === "failed"
    ? [key, status, outcome.reason]
    : [key, status, outcome.test_result_count, ...outcome.duplicate ? ["duplicate"] : []];
  await io.stdout(`${json ? JSON.stringify(outcome) : plainLine(line)}\n`);
}
