// Tests: tests/lib/cli/commands/completion_test.ts tests/lib/cli/program_test.ts
import * as v from "valibot";
import { canReadSchemaVersion } from "../../../db/admin/diagnostics.ts";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import { isDenied } from "../../../db/connection/errors.ts";
import { loadUploader } from "../../../db/read/caller.ts";
import { loadTrusts } from "../../../db/read/trusts.ts";
import { aborted } from "../../base/delay.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { errorCode } from "../../base/error.ts";
import { location, option, port } from "../parameters.ts";
import { cannotMigrate, openForChanges, reopen } from "../database.ts";
import { Failure, UsageError } from "../../base/failure.ts";
import { DiskRoom } from "../../storage/disk_room.ts";
import { openInbox } from "../../storage/inbox.ts";
import { startReceiver, UPLOAD_SETTINGS } from "../../intake/receive/receiver.ts";
import { runService, SERVICE_SETTINGS } from "../run_service.ts";
import { readPublicUploadUrl, readPublicUrl, readSettings } from "../settings.ts";
import { parseS3Url, STORAGE_VARIABLES } from "../../storage/s3_storage.ts";

/** One token look-up per upload. */
const MAX_CONNECTIONS = 2;

export const receiveCommand: AddCommand = command({
  name: "receive",
  summary: "Receive uploads over HTTP into a folder or bucket for `watch`, until SIGTERM or SIGINT",
  example: "receive --to /srv/ci-reports",
  details: [
    "PUT or POST /upload/OWNER/NAME?commit=OID with one JUnit report, a form with any number of " +
    "files report, coverage and codeowners, or an archive of `upload`; needs an upload token " +
    "(`token create --upload`), or an identity token of a CI service that `trust add` trusts, for " +
    "PUBLIC_UPLOAD_URL. The response is 202 once the archive is stored durably.",
    "POST /quarantine/OWNER/NAME with test=ID and optionally by, reason, owner and expires, and DELETE " +
    "/quarantine/OWNER/NAME/ID, quarantine and release a test; they need a quarantine token " +
    "(`token create --quarantine`).",
    "Uses the database for tokens and these changes only: deploy/upload_role.sql creates a role that " +
    "can do nothing else.",
  ],
  settings: ["HOST", ...UPLOAD_SETTINGS, "TRUSTED_PROXIES", ...SERVICE_SETTINGS],
  environment: [
    "UPLOAD_PORT",
    "PUBLIC_URL",
    "PUBLIC_UPLOAD_URL",
    "UPLOAD_URL",
    ...STORAGE_VARIABLES,
  ],
  input: {
    to: option("<target>", "folder, or s3://BUCKET/PREFIX", location),
    port: option(
      "<n>",
      "port to listen on (0: any free port) (default: UPLOAD_PORT, or 8001)",
      v.optional(port),
    ),
  },
  async run(options, context, settings) {
    const { io } = context;
    const { environment, now, stop } = io;
    const pagesUrl = readPublicUrl(environment);
    const problems: string[] = [];
    const { UPLOAD_PORT } = readSettings(["UPLOAD_PORT"], { environment, flags: {}, problems });
    if (problems.length > 0) throw new UsageError(problems.join("; "));
    const publicUrl = readPublicUploadUrl(environment);
    const inbox = openInbox(options.to, environment, { isPrivate: true });
    const room = parseS3Url(options.to, "--to") ? undefined : new DiskRoom(options.to);
    await runService(context, settings, {
      open: () => openForTokens(context),
      async checkReady(database) {
        await checkTokenAccess(database);
        room?.check();
      },
      async body({ logStarted, ...service }) {
        const writable = await openForChanges(service.database, context.database);
        try {
          const receiver = await startReceiver({
            ...service,
            writable,
            inbox,
            room,
            publicUrl,
            host: settings.HOST,
            port: options.port ?? UPLOAD_PORT,
            settings,
            trustedProxies: settings.TRUSTED_PROXIES,
            now,
            pagesUrl,
          });
          io.stderr(`listening on ${receiver.url}\n`);
          logStarted();
          await aborted(stop);
          await receiver.shutdown();
        } finally {
          if (writable !== service.database) await writable.close();
        }
      },
    });
  },
});

/**
 * Opens the database for looking up tokens. The role that may do nothing else cannot read the version of
 * the schema: what counts for it is that the functions exist.
 *
 * @throws {Failure} when the user may not look up tokens
 */
async function openForTokens(context: CommandContext): Promise<Database> {
  const options = {
    ...context.database,
    maxConnections: MAX_CONNECTIONS,
    statementTimeoutMs: 10_000,
  };
  let database: Database | null = null;
  if (options.databaseUrl) {
    database = await openDatabase(options);
    if (await canReadSchemaVersion(database.sql)) {
      await database.close();
      database = null;
    }
  }
  database ??= await reopen(await context.openDatabase(), options);
  try {
    await checkTokenAccess(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

// SQLSTATE: undefined function, type and column of an older schema.
const MISSING = ["42883", "42704", "42703"];

/** Looks up a token that does not exist. @throws {Failure} when the user may not */
async function checkTokenAccess({ sql }: Database): Promise<void> {
  try {
    await loadUploader(sql, "quarantine", { hash: "", now: 0 });
    await loadTrusts(sql, "");
  } catch (error) {
    if (MISSING.includes(errorCode(error))) throw cannotMigrate("older");
    if (!isDenied(error)) throw error;
    throw new Failure(
      "`receive` looks up tokens, which the user of DATABASE_URL may not: run " +
        "deploy/upload_role.sql and use its role test_analytics_receiver, or the owner of the tables",
    );
  }
}
