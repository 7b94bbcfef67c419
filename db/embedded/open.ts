// Tests: tests/db/embedded/maintenance_test.ts
import { DatabaseError } from "../database_error.ts";
import { embeddedFiles } from "./files.ts";
import type { Session } from "./session.ts";
import { errorMessage } from "../../lib/base/error.ts";
import { writeLastToStderr } from "../../lib/system/standard_error.ts";

/** Error numbers of the engine's file system (WASI), whose errors have no message. */
const SYSTEM_ERRORS: Record<number, string> = {
  2: "Permission denied",
  19: "Disk quota exceeded",
  29: "Input/output error",
  33: "Too many open files",
  51: "No space left on device",
  69: "Read-only file system",
};

/** Failures of the system, which leave the files as they are. */
const SYSTEM_FAILURE = new RegExp(`${Object.values(SYSTEM_ERRORS).join("|")}|out of memory`, "i");

/**
 * A line of the engine's log that says why it ended. Anchored behind the line's prefix, so that a
 * name in an error message cannot look like one.
 */
const FATAL = /^(?:[\d-]+ [\d:.]+ \w+ \[\d+\] )?((?:PANIC|FATAL): .*)/;

/**
 * Log of the embedded database, in megabytes, after which a checkpoint makes it superfluous. PostgreSQL
 * in a single process makes none by itself, and the log would grow until the database is closed. A
 * checkpoint took 200 to 300 ms on a busy disk.
 */
const MAX_LOG_MB = 32;

/**
 * How long plans are kept. A statement that was planned while its tables were empty reads them from end to
 * end, and PostgreSQL keeps the plan until the tables are analyzed, for which a server has autovacuum: with
 * 50,000 submissions the look-up of a duplicate took 219 ms instead of 4.
 */
const PLAN_LIFETIME_MS = 60_000;

/** The database, open in this process. */
interface OpenPostgres extends Session {
  /** What the processes of a server do by themselves. Not in a transaction. */
  maintain(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the database in a folder, or creates it there. PGlite is loaded on demand: most commands do
 * not need it. A PANIC of the open database ends the process. @throws {DatabaseError}
 */
export async function openPostgres(path: string): Promise<OpenPostgres> {
  const [{ PGlite }, { DurableFiles }, files] = await Promise.all([
    import("@electric-sql/pglite"),
    import("./durable_files.ts"),
    embeddedFiles(),
  ]);
  let fatalLine: string | undefined;
  let isOpen = false;
  const onStderr = (line: string) => {
    fatalLine = FATAL.exec(line)?.[1] ?? fatalLine;
    // After a PANIC, PGlite 0.5.14 loops for ever without returning to the event loop.
    if (isOpen && fatalLine?.startsWith("PANIC")) exitProcess(databaseFailed(path, fatalLine));
    return false;
  };
  try {
    const db = await PGlite.create({
      fs: new DurableFiles(path),
      // `-F` turns fsync off; without the method it is fdatasync, which Emscripten ignores.
      startParams: [
        ...PGlite.defaultStartParams.filter((parameter) => parameter !== "-F"),
        ...["-c", "wal_sync_method=fsync"],
        // Files of the log that are kept for use after a checkpoint.
        ...["-c", "min_wal_size=32MB", "-c", `max_wal_size=${MAX_LOG_MB}MB`],
      ],
      ...files,
      onStderr,
    });
    isOpen = true;
    let plannedAt = performance.now();
    return Object.assign(db, {
      async maintain() {
        const { rows: [row] } = await db.query<{ megabytes: number }>(`
          select (pg_current_wal_insert_lsn() - redo_lsn)::float8 / 1048576 as megabytes
          from pg_control_checkpoint()`);
        if (row!.megabytes >= MAX_LOG_MB) await db.exec("checkpoint");
        if (performance.now() - plannedAt < PLAN_LIFETIME_MS) return;
        await db.exec("discard plans");
        plannedAt = performance.now();
      },
    });
  } catch (error) {
    throw databaseNotOpened(path, fatalLine ?? error);
  }
}

/**
 * Ends the process with a message: the engine cannot run again in it, and starting again recovers
 * the files as after a kill.
 */
export function exitProcess(error: unknown): never {
  writeLastToStderr(`error: ${errorMessage(error)}\n`);
  Deno.exit(1);
}

/** The files of a database could not be opened or created. */
function databaseNotOpened(path: string, cause: unknown): DatabaseError {
  const reason = describe(cause);
  const name = `the embedded database in ${JSON.stringify(path)}`;
  const text = SYSTEM_FAILURE.test(reason)
    ? `${name} cannot be opened: ${reason}`
    : `the files of ${name} are damaged: ${reason}; restore a backup ` +
      "(docs/guides/backup_and_restore.md)";
  return new DatabaseError(text, { cause });
}

/** The engine failed while it was in use. */
export function databaseFailed(path: string, cause: unknown): DatabaseError {
  const text = `the embedded database in ${JSON.stringify(path)} failed: ${describe(cause)}; ` +
    "everything that was acknowledged is kept: remove the cause and start again";
  return new DatabaseError(text, { cause });
}

/** What the engine throws is no `Error`. */
function describe(cause: unknown): string {
  const { errno, message } = Object(cause) as { errno?: number; message?: string };
  if (errno !== undefined) return SYSTEM_ERRORS[errno] ?? `system error ${errno}`;
  return message || String(cause);
}
