import { databaseFailed, databaseNotOpened } from "./errors.ts";
import { embeddedFiles } from "./files.ts";
import type { Session } from "./session.ts";
import { errorMessage } from "../../lib/base/error.ts";

/**
 * A line of the engine's log that says why it ended. Anchored behind the line's prefix, so that a
 * name in an error message cannot look like one.
 */
const FATAL = /^(?:[\d-]+ [\d:.]+ \w+ \[\d+\] )?((?:PANIC|FATAL): .*)/;

export interface Postgres extends Session {
  close(): Promise<void>;
}

/**
 * Opens the database in a folder, or creates it there. PGlite is loaded on demand: most commands do
 * not need it. A PANIC of the open database ends the process. @throws {DatabaseError}
 */
export async function openPostgres(path: string): Promise<Postgres> {
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
        "-c",
        "wal_sync_method=fsync",
      ],
      ...files,
      onStderr,
    });
    isOpen = true;
    return db;
  } catch (error) {
    throw databaseNotOpened(path, fatalLine ?? error);
  }
}

/**
 * Ends the process with a message: the engine cannot run again in it, and starting again recovers
 * the files as after a kill.
 */
export function exitProcess(error: unknown): never {
  const text = `error: ${errorMessage(error)}\n`;
  Deno.stderr.writeSync(new TextEncoder().encode(text));
  Deno.exit(1);
}
