// Tests: tests/lib/cli/commands/completion_test.ts tests/lib/cli/program_test.ts
import { chmod, mkdir, realpath } from "node:fs/promises";
import { listOrganizations } from "../../../db/admin/organizations.ts";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import { aborted } from "../../base/delay.ts";
import { SECONDS_PER_DAY } from "../../base/time.ts";
import { PROGRAM } from "../../base/version.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { openForChanges, requireWritable } from "../database.ts";
import { AcceptedUploads } from "../../intake/accepted_uploads.ts";
import { cleanInboxUntil } from "../../intake/clean_inbox.ts";
import { watchArchives } from "../../intake/watch_loop.ts";
import { inboxFolder, openInbox } from "../../storage/inbox.ts";
import { startReceiver, UPLOAD_SETTINGS } from "../../intake/receive/receiver.ts";
import {
  checkCurrentSchema,
  checkWritable,
  runService,
  runTogether,
  type Service,
} from "../run_service.ts";
import {
  readPublicUploadUrl,
  readPublicUrl,
  type SettingValues,
  SIGN_IN_VARIABLES,
} from "../settings.ts";
import { sendWebhooks } from "../../webhook_sender/send_webhooks.ts";
import { DiskRoom, EMBEDDED_FLOOR_BYTES, INBOX_FLOOR_BYTES } from "../../storage/disk_room.ts";
import { FolderStorage } from "../../storage/folder.ts";
import {
  API_SETTINGS,
  apiOptions,
  checkAddresses,
  countTokens,
  readingOptions,
  serveUntilStopped,
} from "./serve.ts";

/** Listing a nearly empty folder is cheap. */
const SWEEP_SECONDS = 1;
const WORKERS = 2;
const MEGABYTE = 1024 * 1024;
/** After a kill, the next start waits this long. A lease that expires costs a second reading. */
const LEASE_SECONDS = 10;

const UP_SETTINGS = [
  ...API_SETTINGS,
  "UPLOAD_PORT",
  ...UPLOAD_SETTINGS,
  "FAILED_UPLOAD_DAYS",
  "FAILED_UPLOAD_MB",
] as const;

const WRITABLE = {
  task: "`up` receives and stores uploads",
  remedy: `use the owner of the tables, who runs \`${PROGRAM} migrate\`, or run ` +
    `\`${PROGRAM} serve\`, which only reads`,
  readsTokens: true,
};

const NO_ORGANIZATION = `no organization yet: \`${PROGRAM} org create NAME\`, then ` +
  `\`${PROGRAM} token create --org NAME --upload\` for your CI`;

/** The folder of the inbox, which no other user can open. */
async function makeInbox(dataDir: string): Promise<string> {
  const folder = inboxFolder(dataDir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = await realpath(folder);
  await chmod(path, 0o700);
  return path;
}

/** Receives, stores and serves uploads, and sends webhooks, until the command is stopped. */
async function runParts(
  context: CommandContext,
  settings: SettingValues<typeof UP_SETTINGS[number]>,
  { database, reading, writable, room, logStarted, ...service }: Service & {
    reading: Database;
    writable: Database;
    room: DiskRoom;
  },
): Promise<void> {
  const { io } = context;
  const { now, environment } = io;
  const { log, metrics } = service;
  const pagesUrl = readPublicUrl(environment);
  const publicUrl = readPublicUploadUrl(environment);
  const source = await makeInbox(context.database.dataDir);
  const shared = { ...service, ...apiOptions(settings), database: reading };
  const watcher = {
    sql: database.sql,
    storage: new FolderStorage(source, { isInbox: true }),
    organization: null,
    leaseSeconds: LEASE_SECONDS,
    now,
    log,
    listener: { note: (text: string) => log.warn("note", { text }) },
    origin: context.origin(),
  };
  const accepted = new AcceptedUploads({ ...watcher, metrics });
  const receiver = await startReceiver({
    ...shared,
    writable,
    room,
    accepted,
    inbox: openInbox(source, environment, { isPrivate: true }),
    publicUrl,
    port: settings.UPLOAD_PORT,
    portOption: "--upload-port",
    settings,
    now,
    pagesUrl,
  });
  io.stderr(`receiving uploads on ${receiver.url}\n`);
  await runTogether(io.stop, (stop) => [
    serveUntilStopped({ ...io, stop }, {
      ...shared,
      writableSql: writable.sql,
      onReady: () => logStarted(),
    }),
    cleanInboxUntil(stop, { ...watcher, metrics, room }, {
      seconds: settings.FAILED_UPLOAD_DAYS * SECONDS_PER_DAY,
      bytes: settings.FAILED_UPLOAD_MB * MEGABYTE,
    }),
    sendWebhooks({ sql: database.sql, now, log, metrics, pagesUrl }, { stop }),
    // Together: requests of the receiver wait for what is being stored, if the database has one session.
    aborted(stop).then(() => Promise.all([receiver.shutdown(), accepted.close()])),
    watchArchives({ ...watcher, storage: new FolderStorage(source, { isInbox: true, stop }) }, {
      interval: SWEEP_SECONDS,
      workers: WORKERS,
      once: false,
      metrics,
      stop,
      accepted,
    }),
  ]);
}

export const upCommand: AddCommand = command({
  name: "up",
  summary: "Run the whole service on one machine, until SIGTERM or SIGINT",
  example: "up --port 8000 --upload-port 8001",
  details: [
    "`serve`, `receive` into DATA_DIR/inbox and `watch` of it in one process. Uploads are stored as " +
    "soon as they were acknowledged; processed archives are deleted from the inbox.",
    "The first SIGTERM or SIGINT drains running requests for up to 10 seconds and uploads for 3, the " +
    "second stops immediately. Uploads in the inbox are processed after the next start.",
  ],
  settings: UP_SETTINGS,
  environment: ["PUBLIC_URL", "PUBLIC_UPLOAD_URL", "UPLOAD_URL", ...SIGN_IN_VARIABLES],
  createsDatabase: true,
  input: {},
  run(_, context, settings) {
    checkAddresses(context);
    const { databaseUrl, dataDir } = context.database;
    const room = new DiskRoom(dataDir, databaseUrl ? INBOX_FLOOR_BYTES : EMBEDDED_FLOOR_BYTES);
    return runService(context, settings, {
      open: () => context.openDatabase(),
      async checkReady(database) {
        await checkCurrentSchema(database);
        await checkWritable(database);
        room.check();
      },
      refreshMetrics: countTokens(context.io),
      async body(service) {
        const { database } = service;
        await requireWritable(database, WRITABLE);
        if ((await listOrganizations(database.sql)).length === 0) context.note(NO_ORGANIZATION);
        const reading = database.kind === "embedded"
          ? database
          : await openDatabase({ ...readingOptions(context, settings), readOnly: true });
        const writable = await openForChanges(database, context.database);
        try {
          await runParts(context, settings, { ...service, reading, writable, room });
        } finally {
          if (writable !== database) await writable.close();
          if (reading !== database) await reading.close();
        }
      },
    });
  },
});
