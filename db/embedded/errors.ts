import { DatabaseError } from "../database_error.ts";

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
const SYSTEM_FAILURE =
  /no space left|quota exceeded|permission denied|input\/output error|too many open files|read-only file system|out of memory/i;

/** The files of a database could not be opened or created. */
export function databaseNotOpened(path: string, cause: unknown): DatabaseError {
  const reason = describe(cause);
  const name = `the embedded database in ${JSON.stringify(path)}`;
  return new DatabaseError(
    SYSTEM_FAILURE.test(reason)
      ? `${name} cannot be opened: ${reason}`
      : `the files of ${name} are damaged: ${reason}; restore a backup ` +
        "(docs/guides/backup_and_restore.md)",
    { cause },
  );
}

/** The engine failed while it was in use. */
export function databaseFailed(path: string, cause: unknown): DatabaseError {
  return new DatabaseError(
    `the embedded database in ${JSON.stringify(path)} failed: ${describe(cause)}; ` +
      "everything that was acknowledged is kept: remove the cause and start again",
    { cause },
  );
}

function describe(cause: unknown): string {
  if (typeof cause === "string") return cause;
  if (typeof cause === "object" && cause !== null) {
    if ("errno" in cause) {
      return SYSTEM_ERRORS[Number(cause.errno)] ?? `system error ${cause.errno}`;
    }
    if ("message" in cause && cause.message) return String(cause.message);
  }
  return "unknown error";
}
