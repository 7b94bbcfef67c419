import { loadServerState } from "../../db/admin/diagnostics.ts";
import { type Database, type DatabaseOptions, openDatabase } from "../../db/connection/connect.ts";
import { isDenied, isReadOnly, isTransient } from "../../db/connection/errors.ts";
import { inspectEmbedded } from "../../db/embedded/folder.ts";
import { checkSchema, migrate } from "../../db/schema/migrate.ts";
import { judgeAgain } from "../../db/admin/judge_again.ts";
import { pause } from "../base/delay.ts";
import { PROGRAM } from "../base/version.ts";
import { shellWord } from "../base/quote.ts";
import type { OpenOptions } from "./io.ts";
import type { DatabaseLocation } from "./settings.ts";
import { Failure } from "../base/failure.ts";

/**
 * Opens a database and migrates its schema to this version; a missing embedded database is created
 * if `mayCreate`. @throws {Failure} when the schema is newer, or cannot be migrated
 */
export async function openCurrentDatabase(
  location: DatabaseLocation,
  { mayCreate, organization, onCreate }: OpenOptions,
): Promise<Database> {
  const { databaseUrl, dataDir } = location;
  const isMissing = databaseUrl === undefined && !(await inspectEmbedded(dataDir)).exists;
  if (isMissing && mayCreate) onCreate?.();
  if (isMissing && !mayCreate) {
    const name = typeof organization === "string" ? shellWord(organization) : "NAME";
    throw new Failure(
      `no database in "${dataDir}": set DATA_DIR or DATABASE_URL, or create one with ` +
        `\`${PROGRAM} org create ${name}\``,
    );
  }
  const database = await openDatabase(location);
  try {
    await ensureCurrentSchema(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Replaces the connections to a server by some with other options. The embedded database has one session
 * for all clients, whose options do not change.
 */
export async function reopen(database: Database, options: DatabaseOptions): Promise<Database> {
  if (database.kind === "embedded") return database;
  await database.close();
  return await openDatabase(options);
}

/** A change of quarantine waits for the lock of its repository, which a long upload holds. */
const CHANGE_TIMEOUT_MS = 2_000;

/**
 * A connection of its own for changes of quarantine over HTTP: waiting for the lock of a repository, they
 * delay neither look-ups of tokens nor uploads. The embedded database has one session for all.
 */
export async function openForChanges(
  database: Database,
  location: DatabaseLocation,
): Promise<Database> {
  if (database.kind === "embedded") return database;
  return await openDatabase({
    ...location,
    maxConnections: 1,
    statementTimeoutMs: CHANGE_TIMEOUT_MS,
  });
}

/** Migrates the schema to this version, and judges what is stored by its rules. @throws {Failure} when that is not possible */
export async function ensureCurrentSchema({ sql }: Database): Promise<void> {
  let state: string | null = null;
  try {
    const { problem, ...found } = await checkSchema(sql);
    ({ state } = found);
    if (problem !== null) throw new Failure(problem);
    if (state !== "current") await migrate(sql);
  } catch (error) {
    if (!isReadOnly(error) && !isDenied(error)) throw error;
    throw state === null ? cannotReadSchema() : cannotMigrate(state);
  }
  try {
    await judgeAgain(sql);
  } catch (error) {
    // Who may only read leaves it to those who write.
    if (!isReadOnly(error) && !isDenied(error)) throw error;
  }
}

/**
 * Fails where uploads could not be stored.
 *
 * @param options.task what needs it, such as "`watch` stores uploads"
 * @throws {Failure} that names the user and `remedy`
 */
export async function requireWritable(
  { sql, kind }: Database,
  { task, remedy, readsTokens = false }: { task: string; remedy: string; readsTokens?: boolean },
): Promise<void> {
  if (kind === "embedded") return;
  const state = await loadServerState(sql);
  const { user, isReplica, canWrite } = state;
  const canReadTokens = state.canReadTokens && state.canLookUpUploadTokens;
  if (canWrite && (canReadTokens || !readsTokens)) return;
  const problem = isReplica
    ? "the server of DATABASE_URL is a replica, which cannot be written"
    : `the user "${user}" of DATABASE_URL cannot ${canWrite ? "read tokens" : "write results"}`;
  throw new Failure(`${task}, but ${problem}: ${remedy}`);
}

/** Fails where the API could look up no token. @throws {Failure} that names the user */
export async function requireReadableTokens({ sql, kind }: Database): Promise<void> {
  if (kind === "embedded") return;
  const { user, canReadTokens } = await loadServerState(sql);
  if (canReadTokens) return;
  throw new Failure(
    `\`serve\` looks up tokens, which the user "${user}" of DATABASE_URL may not: run ` +
      "deploy/read_only_role.sql and use its role test_analytics_reader, or the owner of the tables",
  );
}

/** The error for a user who may read nothing, such as the role of `receive`. */
export function cannotReadSchema(): Failure {
  return new Failure(
    "the user of DATABASE_URL may not read the database schema: use the owner of the tables, or a " +
      "role that deploy/read_only_role.sql or deploy/writer_role.sql has set up",
  );
}

/** The error for a user without the privileges to migrate. */
export function cannotMigrate(state: string): Failure {
  return new Failure(
    `the database schema is ${state} and this user cannot migrate it: run ` +
      `\`${PROGRAM} migrate\` as a user with write privileges`,
  );
}

// Backoff: a starting server is ready within seconds.
const MIN_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 2_000;

/**
 * Opens a database, with retries while its server is unavailable, so that both can be started in
 * any order; `note` is called once, with the reason. Other errors, such as a wrong password, are
 * not retried. Returns `null` when `stop` is aborted. @throws {DatabaseError} of the last attempt
 */
export async function waitForDatabase(
  open: () => Promise<Database>,
  { seconds, stop, note }: { seconds: number; stop: AbortSignal; note(text: string): void },
): Promise<Database | null> {
  const deadline = performance.now() + seconds * 1000;
  let pauseMs = MIN_BACKOFF_MS;
  for (let tries = 1;; tries++) {
    try {
      return await open();
    } catch (error) {
      const leftMs = deadline - performance.now();
      if (!isTransient(error) || leftMs <= 0) throw error;
      if (tries === 1) note(`${error.message}; retrying for up to ${seconds} s`);
      await pause(Math.min(pauseMs, leftMs), stop);
      if (stop.aborted) return null;
      pauseMs = Math.min(2 * pauseMs, MAX_BACKOFF_MS);
    }
  }
}
