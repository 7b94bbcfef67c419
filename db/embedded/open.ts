import type { PGlite } from "@electric-sql/pglite";
import { databaseFailed, databaseNotOpened } from "./errors.ts";
import { embeddedFiles } from "./files.ts";
import type { Session } from "./session.ts";

/** Exit status by which the engine reports an SQL error to PGlite. */
const SQL_ERROR = 100;

/** The part of a line of the engine's log that says why it ended. */
const FATAL = /\b(PANIC|FATAL): .*/;

/** An open database. */
export interface Postgres extends Session {
  close(): Promise<void>;
}

/** Functions of the WebAssembly module that PGlite calls for each message. */
interface Engine {
  _PostgresMainLoopOnce(): void;
  _pq_buffer_remaining_data(): number;
  _PostgresSendReadyForQueryIfNecessary(): void;
}

/**
 * Opens the database in a folder, or creates it there. PGlite is loaded on demand, because most
 * commands connect to a server or to another process.
 *
 * @throws {DatabaseError} when it cannot be opened or created
 */
export async function openPostgres(path: string): Promise<Postgres> {
  const [{ PGlite }, files] = await Promise.all([
    import("@electric-sql/pglite"),
    embeddedFiles(),
  ]);
  let fatalLine: string | undefined;
  const onStderr = (line: string) => {
    fatalLine ??= FATAL.exec(line)?.[0];
    return false;
  };
  try {
    const db = await PGlite.create({ dataDir: path, ...files, onStderr });
    return failing(db, (error) => databaseFailed(path, fatalLine ?? error));
  } catch (error) {
    throw databaseNotOpened(path, fatalLine ?? error);
  }
}

/**
 * Makes the engine's failures reject. PGlite 0.5.14 ignores every exception that is not an SQL
 * error and continues with the rest of the message, after a PANIC for ever and without returning to
 * the event loop. So the message is taken away from it.
 */
function failing(db: PGlite, failed: (error: unknown) => Error): Postgres {
  const engine = (db as unknown as { mod: Engine }).mod;
  const runOnce = engine._PostgresMainLoopOnce;
  let current: Uint8Array<ArrayBuffer>;
  engine._PostgresMainLoopOnce = () => {
    try {
      runOnce();
    } catch (error) {
      if ((error as { status?: number }).status === SQL_ERROR) throw error;
      const failure = failed(error);
      structuredClone(current, { transfer: [current.buffer] });
      engine._pq_buffer_remaining_data = () => 0;
      engine._PostgresMainLoopOnce = engine._PostgresSendReadyForQueryIfNecessary = () => {
        throw failure;
      };
    }
  };
  return {
    execProtocolRawStream(message, options) {
      // A copy, because the engine reads the whole underlying buffer.
      current = Uint8Array.from(message);
      return db.execProtocolRawStream(current, options);
    },
    close: () => db.close(),
  };
}
