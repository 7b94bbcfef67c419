import { realpath } from "node:fs/promises";
import * as v from "valibot";
import {
  canReadSchemaVersion,
  type Freshness,
  isWriterRefused,
  loadFreshness,
  loadLatestNotes,
  loadRepositoriesWithoutBranch,
  loadServerState,
  loadUnusedBases,
  type ServerState,
} from "../../../db/admin/diagnostics.ts";
import { findArchives, findSetAside } from "../../../db/admin/archives.ts";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import type { Queryable } from "../../../db/connection/sql.ts";
import { readDatabaseUrl } from "../../../db/connection/database_url.ts";
import { inspectEmbedded } from "../../../db/embedded/folder.ts";
import { loadWorkers, type Worker } from "../../../db/schema/distribute.ts";
import { NO_BRANCH, sayUnusedBase } from "../../evidence/base_branch.ts";
import { LEGS_NOTE } from "../../analysis/repetition/submissions.ts";
import { CHANGING_NAMES_NOTE } from "../../analysis/changing_names.ts";
import { checkSchema, SCHEMA_VERSION, type SchemaStatus } from "../../../db/schema/migrate.ts";
import { SubmissionBuilder } from "../../analysis/submission_content.ts";
import { freeBytes } from "../../system/files.ts";
import { formatTimestamp, SECONDS_PER_DAY, WINDOW_SECONDS } from "../../base/time.ts";
import { oneLine, plural } from "../../base/text.ts";
import { PROGRAM } from "../../base/version.ts";
import { BUILD } from "../../system/build.ts";
import { shellWord } from "../../base/quote.ts";
import { readReportFiles } from "../../report/read_report_files.ts";
import { ReportExaminer } from "../../report/report_advice.ts";
import { ReportError } from "../../report/report_error.ts";
import { findReports } from "../../report/report_files.ts";
import { noteSkipped } from "../../intake/read_files.ts";
import { FolderStorage } from "../../storage/folder.ts";
import { inboxFolder } from "../../storage/inbox.ts";
import { StorageError } from "../../storage/storage.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { openMode } from "../data_folder.ts";
import { wrapLine } from "../table.ts";
import { argument, option } from "../parameters.ts";
import { clientSecretProblem } from "../settings.ts";
import { Failure, UsageError } from "../../base/failure.ts";
import { errorCode, errorMessage } from "../../base/error.ts";

export interface Finding {
  /** `fail`: something does not work. `warn`: it needs attention. */
  status: "ok" | "warn" | "fail";
  check: string;
  finding: string;
  /** The next step; `""` for none. */
  hint: string;
}

// Timestamps have a precision of one second.
const CLOCK_WARN_SECONDS = 2;
const CLOCK_FAIL_SECONDS = 60;
// Uploads fail when the disk is full; a week of uploads is far less than the warning level.
const DISK_FAIL_BYTES = 200e6;
const DISK_WARN_BYTES = 2e9;
// Below it, moving data brings nothing.
const SKEW_WARN_BYTES = 1e9;
// An acceptable delay of results.
const LAG_WARN_SECONDS = 60;
// A weekend, and a holiday before it.
const QUIET_WARN_SECONDS = 4 * SECONDS_PER_DAY;
// Storing an upload takes seconds.
const INBOX_WARN_SECONDS = 60;

const maker = (status: Finding["status"]) => (check: string, finding: string, hint = "") => ({
  status,
  check,
  finding,
  hint,
});
const ok = maker("ok");
const warn = maker("warn");
const fail = maker("fail");

export const doctorCommand: AddCommand = command({
  name: "doctor",
  summary: "Check database, schema, clock, disk and uploads; or reports",
  example: "doctor",
  moreExamples: ["doctor --json", "doctor --reports reports/"],
  details: [
    "Prints one line per finding, wrapped on a terminal: ok, warn or fail, the check, the finding, and " +
    "what to do. Changes nothing, and works while the service is running.",
  ],
  environment: ["OIDC_CLIENT_SECRET", "OIDC_CLIENT_SECRET_FILE"],
  input: {
    reports: option(
      "<file...>",
      "examine this report, folder or glob instead: its tool, what it hides, names that collide or vary",
      v.optional(v.array(v.string()), () => []),
    ),
    files: argument("further reports, with --reports", v.array(v.string())),
  },
  async run({ reports, files }, context) {
    if (files.length > 0 && reports.length === 0) {
      throw new UsageError("expected --reports before the names of reports");
    }
    const findings = reports.length > 0
      ? await examineReports([...reports, ...files])
      : await examine(context);
    const { columns: width } = context.io;
    if (context.json || width === undefined) await context.printList(findings);
    else await context.io.stdout(wrappedLines(findings, width).map((line) => `${line}\n`).join(""));
    const failed = findings.filter(({ status }) => status === "fail").map(({ check }) => check);
    if (failed.length > 0) throw new Failure(`failed checks: ${failed.join(", ")}`);
  },
});

/** Findings for a terminal, each with its hint below; advice is of no use when it is cut. */
function wrappedLines(findings: readonly Finding[], width: number): string[] {
  const checkWidth = Math.max(...findings.map(({ check }) => check.length));
  return findings.flatMap(({ status, check, finding, hint }) => {
    const start = `${status.padEnd("warn".length)}  ${check.padEnd(checkWidth)}  `;
    const lines = [finding, hint].filter((text) => text !== "")
      .flatMap((text) => wrapLine(oneLine(text), { width: width - start.length, indent: "" }));
    return lines.map((line, index) => (index === 0 ? start : " ".repeat(start.length)) + line);
  });
}

/** What the reports of a tool are worth, and the line that makes them better. */
async function examineReports(reports: readonly string[]): Promise<Finding[]> {
  const examiner = new ReportExaminer();
  const builder = new SubmissionBuilder();
  const notes: string[] = [];
  const onNote = (note: string) => void notes.push(note);
  try {
    await readReportFiles(await findReports(reports, noteSkipped({ note: onNote })), {
      onResult(result, reported) {
        examiner.add(result, reported);
        builder.add(result, reported);
      },
      onReport(report) {
        examiner.endReport(report);
        builder.endReport(report);
      },
      onLeftOut() {
        examiner.discardReport();
        builder.discardReport();
      },
      onNote,
    });
  } catch (error) {
    if (!(error instanceof ReportError)) throw error;
    return [fail("report", error.message)];
  }
  builder.finish({ onNote });
  return [
    ...examiner.reports.map(({ file, tool, resultCount }) =>
      ok("report", `${file}: ${tool || "no known tool"}, ${plural(resultCount, "result")}`)
    ),
    ...examiner.advice.map(({ about, found, instead }) => warn(about, found, instead)),
    ...notes.map((note) => warn("note", note)),
  ];
}

async function examine(context: CommandContext): Promise<Finding[]> {
  const { databaseUrl, dataDir } = context.database;
  // Before it is opened, because then it is in use.
  const embedded = databaseUrl === undefined ? await inspectEmbedded(dataDir) : null;
  const others = [...assessClientSecret(context), ok("program", BUILD)];
  if (embedded) others.unshift(assessDisk(dataDir, freeBytes(dataDir)));
  if (embedded?.exists) others.unshift(assessDataFolder(dataDir, await openMode(dataDir)));
  if (embedded && !embedded.exists) {
    const hint = `create it with \`${PROGRAM} migrate\`, or set DATABASE_URL or DATA_DIR`;
    return [fail("database", `no embedded database in ${dataDir}`, hint), ...others];
  }
  let database: Database;
  try {
    database = await openDatabase({
      ...context.database,
      readOnly: true,
      maxConnections: 1,
      statementTimeoutMs: 10_000,
    });
  } catch (error) {
    const finding = errorMessage(error);
    // A message about the embedded database says what to do about its files.
    const hint = embedded ? "" : "check that the server is running, and DATABASE_URL";
    return [fail("database", finding, hint), ...others];
  }
  try {
    return [...await examineDatabase(database, embedded, context), ...others];
  } finally {
    await database.close();
  }
}

async function examineDatabase(
  { sql, kind, isPooled }: Database,
  embedded: Awaited<ReturnType<typeof inspectEmbedded>> | null,
  context: CommandContext,
): Promise<Finding[]> {
  const { database: { databaseUrl = "" }, io, now } = context;
  if (!await canReadSchemaVersion(sql)) {
    const hint = "`receive` works as this user; run doctor as the owner of the tables";
    return [fail("schema", "the user of DATABASE_URL may read no table", hint)];
  }
  // Warms up the connection, for the round trip below.
  const schema = await checkSchema(sql);
  const begun = performance.now();
  const server = await loadServerState(sql);
  const seconds = (performance.now() - begun) / 1000;
  const where = embedded
    ? `embedded PostgreSQL ${server.version} in ${embedded.path}, ` +
      (embedded.isInUse ? "in use by another process" : "not in use by another process")
    : `PostgreSQL ${server.version} at ${readDatabaseUrl(databaseUrl).host}` +
      (isPooled ? " through a connection pooler" : "");
  const findings = [
    ok("database", `${where}; responds in ${Math.ceil(seconds * 1000)} ms`),
    assessSchema(schema),
    assessClock({
      theirs: server.clock,
      ours: io.now() + (Date.now() % 1000) / 1000 - seconds / 2,
      roundTripSeconds: seconds,
    }),
    ...kind === "server" ? [assessRole(server), assessSize(server)] : [],
    ...!server.isReplica && await isReadOnly(context) ? [READ_ONLY] : [],
  ];
  // The queries below need the current schema, and all workers.
  if (schema.state !== "current") return findings;
  const workers = await loadWorkers(sql);
  findings.push(...assessWorkers(workers));
  if (workers.some(({ isReachable }) => !isReachable)) return findings;
  return [
    ...findings,
    assessFreshness(await loadFreshness(sql, { windowStart: now - WINDOW_SECONDS }), { now }),
    ...await assessInbox(sql, context),
    ...assessSetAside(await findSetAside(sql)),
    ...(await loadRepositoriesWithoutBranch(sql, { now })).map((repository) =>
      warn("uploads", `${repository}: ${NO_BRANCH}`, "add `branch=` to the upload")
    ),
    ...(await loadUnusedBases(sql, { now })).map(({ repository, ...unused }) =>
      warn(
        "base branch",
        `${repository}: ${sayUnusedBase(unused)}`,
        `run \`${PROGRAM} repo set ${shellWord(repository)} --base BRANCH\``,
      )
    ),
    ...await noteworthy(sql, { windowStart: now - WINDOW_SECONDS }),
  ];
}

/** Notes of uploads that cost all later ones something, with the line that mends it. */
async function noteworthy(
  sql: Queryable,
  { windowStart }: { windowStart: number },
): Promise<Finding[]> {
  const beginnings = [LEGS_NOTE, CHANGING_NAMES_NOTE];
  const notes = await loadLatestNotes(sql, { windowStart, beginnings });
  return notes.map(({ repository, note }) => warn("uploads", `${repository}: ${note}`));
}

const READ_ONLY = fail(
  "role",
  "the database is read-only: uploads wait in the inbox",
  "set default_transaction_read_only to off, or point DATABASE_URL at the primary",
);

/** Whether a server has become read-only, as a connection that may write sees it. */
async function isReadOnly({ database: options }: CommandContext): Promise<boolean> {
  if (options.databaseUrl === undefined) return false;
  const database = await openDatabase({ ...options, maxConnections: 1 });
  try {
    return await isWriterRefused(database.sql);
  } finally {
    await database.close();
  }
}

/** Compares the clock of the database with ours, which was read half a round trip earlier. */
export function assessClock(
  { theirs, ours, roundTripSeconds }: { theirs: number; ours: number; roundTripSeconds: number },
): Finding {
  // The uncertainty is half the round trip.
  const seconds = Math.max(0, Math.abs(theirs - ours) - roundTripSeconds / 2);
  if (seconds < CLOCK_WARN_SECONDS) {
    return ok(
      "clock",
      `clocks of database and machine differ by less than ${CLOCK_WARN_SECONDS} s`,
    );
  }
  return (seconds < CLOCK_FAIL_SECONDS ? warn : fail)(
    "clock",
    `the database clock is ${Math.round(seconds)} s ${theirs > ours ? "ahead of" : "behind"} ` +
      "the clock of this machine",
    "synchronize both machines by NTP: window and token expiry use the clock of serve, " +
      "claims of watchers the clock of the database",
  );
}

/** Compares the schema with the one that this program needs. */
export function assessSchema({ state, version, problem }: SchemaStatus): Finding {
  if (state === "current") return ok("schema", `version ${version}`);
  // The problem says what to do about it.
  if (problem !== null) return fail("schema", problem, "keep a backup until it works again");
  const found = state === "missing" ? "missing" : `version ${version}`;
  return fail(
    "schema",
    `${found}, this program needs ${SCHEMA_VERSION}`,
    `run \`${PROGRAM} migrate\` as a user that can create tables`,
  );
}

/** The user, and the role of the server. */
export function assessRole(
  { user, isSuperuser, canWrite, canMigrate, isReplica, isStreaming, lagSeconds }: ServerState,
): Finding {
  if (isReplica) {
    const lag = lagSeconds === null
      ? "lag unknown"
      : `${lagSeconds === 0 ? "" : "at most "}${Math.ceil(lagSeconds)} s behind`;
    const finding = `a replica, ${isStreaming ? lag : "disconnected from its primary"}`;
    if (isStreaming && (lagSeconds ?? 0) <= LAG_WARN_SECONDS) return ok("role", finding);
    const hint = "check the log of the replica and pg_stat_replication on the primary";
    return warn("role", finding, hint);
  }
  if (isSuperuser) {
    const hint = "a read-only role is enough for serve: see deploy/read_only_role.sql";
    return warn("role", `user ${user} is a superuser`, hint);
  }
  const rights = canMigrate
    ? "can write and migrate"
    : canWrite
    ? "can write, not migrate"
    : "can only read";
  return ok("role", `user ${user} ${rights}`);
}

/** Who may enter the data folder: `mode` is `null` when only its owner may. */
function assessDataFolder(path: string, mode: string | null): Finding {
  if (mode === null) return ok("data folder", `${path} is its owner's alone`);
  const finding = `${path} is open to other users (mode ${mode})`;
  return warn("data folder", finding, `run \`chmod 700 ${shellWord(path)}\``);
}

/** The client secret of sign-in, from which the session key is derived. */
function assessClientSecret({ io }: CommandContext): Finding[] {
  try {
    const problem = clientSecretProblem(io.environment);
    return problem ? [warn("sign-in", problem.finding, problem.hint)] : [];
  } catch (error) {
    // Only the user of `serve` may read its file. The other findings are shown all the same.
    if (!(error instanceof UsageError)) throw error;
    return [
      warn("sign-in", error.message, "check the path, and run doctor as the user of `serve`"),
    ];
  }
}

/** Free space of the data folder. */
export function assessDisk(path: string, freeBytes: number): Finding {
  const finding = `${formatBytes(freeBytes)} free in ${path}`;
  if (freeBytes >= DISK_WARN_BYTES) return ok("disk", finding);
  const hint = "free space or move the folder: uploads fail on a full disk";
  return (freeBytes < DISK_FAIL_BYTES ? fail : warn)("disk", finding, hint);
}

/** Size of the database on a server, whose free space is unknown. */
export function assessSize({ databaseBytes }: ServerState): Finding {
  const size = formatBytes(databaseBytes);
  return ok("disk", `database size ${size}; free space of the server unknown`);
}

/** The workers of a cluster. */
export function assessWorkers(workers: readonly Worker[]): Finding[] {
  if (workers.length === 0) return [];
  const away = workers.filter(({ isReachable }) => !isReachable).map(({ name }) => name);
  if (away.length > 0) {
    const hint = "start it; until then its repositories answer with 500, and uploads to them fail";
    return [fail("workers", `not reachable: ${away.join(", ")}`, hint)];
  }
  const listed = workers.map(({ name, shardCount, bytes }) =>
    `${name} has ${shardCount} shards, ${formatBytes(bytes)}`
  );
  const sizes = workers.map(({ bytes }) => bytes);
  const isSkewed = Math.max(...sizes) > SKEW_WARN_BYTES + 2 * Math.min(...sizes);
  return [
    isSkewed
      ? warn("workers", listed.join("; "), "move data with `select citus_rebalance_start()`")
      : ok("workers", listed.join("; ")),
  ];
}

/** How recent the results are. */
export function assessFreshness(
  { repositoryCount, activeRepositoryCount, newestRecordedAt }: Freshness,
  { now }: { now: number },
): Finding {
  if (newestRecordedAt === null) {
    return warn("uploads", "no upload yet", `see \`${PROGRAM} ingest --help\``);
  }
  const finding = `newest result ${formatTimestamp(newestRecordedAt)}; ` +
    `repositories with results in the last ${WINDOW_SECONDS / SECONDS_PER_DAY} days: ` +
    `${activeRepositoryCount} of ${repositoryCount}`;
  return now - newestRecordedAt > QUIET_WARN_SECONDS
    ? warn("uploads", finding, "check that CI uploads and that a watcher is running")
    : ok("uploads", finding);
}

/** The uploads that `up` has acknowledged on this machine and cannot store, such as on a full disk of the server. */
async function assessInbox(
  sql: Queryable,
  { database: { dataDir }, now }: CommandContext,
): Promise<Finding[]> {
  let waiting: WaitingUploads;
  try {
    waiting = await findWaitingUploads(sql, { inbox: inboxFolder(dataDir), now });
  } catch (error) {
    // Only the user of `up` may read its inbox. The findings of the database are shown all the same.
    const isOfInbox = error instanceof StorageError || /^E[A-Z]+$/.test(errorCode(error));
    if (!isOfInbox) throw error;
    return [warn("uploads", `inbox: ${errorMessage(error)}`, "run doctor as the user of `up`")];
  }
  const { count, oldest } = waiting;
  if (now - oldest <= INBOX_WARN_SECONDS) return [];
  const finding = `${plural(count, "upload")} ${count === 1 ? "waits" : "wait"} in the inbox, ` +
    `the oldest since ${formatTimestamp(oldest)}`;
  return [warn("uploads", finding, "start `up`, or read in its log why they cannot be stored")];
}

interface WaitingUploads {
  count: number;
  /** Seconds since 1970: when the oldest arrived; now without one. */
  oldest: number;
}

/** @throws {Error} with the code of the system, or {@linkcode StorageError}, if the inbox cannot be read */
async function findWaitingUploads(
  sql: Queryable,
  { inbox, now }: { inbox: string; now: number },
): Promise<WaitingUploads> {
  let count = 0;
  let oldest = now;
  const source = await realpath(inbox).catch((error) => {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  });
  if (source === null) return { count, oldest };
  for await (const archives of new FolderStorage(source, { isInbox: true }).list()) {
    const waiting = await findArchives(sql, { source, archives, state: "unfinished" });
    count += waiting.length;
    oldest = Math.min(oldest, ...waiting.map(({ uploadedAt }) => uploadedAt));
  }
  return { count, oldest };
}

/** The archives that ended processes. */
function assessSetAside(archives: Awaited<ReturnType<typeof findSetAside>>): Finding[] {
  const hint = `split the upload; or give the process more memory, and upload it again or run ` +
    `\`${PROGRAM} watch SOURCE --retry-failed\``;
  return archives.map(({ source, key, lostCount }) =>
    warn(
      "archives",
      `${key} in ${source} was set aside: the process ended ${lostCount} times`,
      hint,
    )
  );
}

function formatBytes(bytes: number): string {
  return bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
