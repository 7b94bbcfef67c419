/**
 * What errors of the database mean: whether a retry makes sense, and who refuses to write. Decided here
 * only; `lib/cli/program.ts`, which loads no database, has clearer messages for some.
 */
import { DatabaseError } from "../database_error.ts";
import { errorCode, errorMessage } from "../../lib/base/error.ts";
import { isPoolerBusy, refusedSetting } from "./pooler.ts";

/** Explanations by error code, where the error's own message does not say what is wrong. */
const EXPLANATIONS: Record<string, string> = {
  ECONNREFUSED: "nothing listens there; expected a running PostgreSQL server",
  ENOTFOUND: "unknown host name",
  CONNECT_TIMEOUT: "it did not answer in time",
  CONNECTION_CLOSED: "it closed the connection",
};

/** Explains a failed connection, without the password. */
export function databaseUnavailable(error: unknown, host: string): DatabaseError {
  const code = errorCode(error);
  const setting = refusedSetting(error);
  const explanation = setting === undefined
    ? EXPLANATIONS[code] ?? errorMessage(error)
    : `a connection pooler refuses the setting "${setting}" of DATABASE_URL: remove it there and ` +
      `set it for the user by \`alter role\`, or add it to ignore_startup_parameters of PgBouncer, ` +
      "which then ignores it";
  return new DatabaseError(
    `the PostgreSQL server at ${host} (DATABASE_URL) cannot be used: ${explanation}` +
      (code && ` (${code})`),
    { cause: error },
  );
}

const TRANSIENT_CODES = new Set(
  // A server that is starting, restarting, failing over, or out of connections. ENOENT: a Unix socket
  // that does not exist yet. 40001: a standby cancelled the statement in favour of replication.
  // 08006: a worker of a cluster is unavailable. CONNECTION_DESTROYED: an unresponsive client was replaced.
  ("ECONNREFUSED ECONNRESET ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH ETIMEDOUT EPIPE ENOENT " +
    "CONNECT_TIMEOUT CONNECTION_CLOSED CONNECTION_DESTROYED CONNECTION_ENDED 08006 40001 53300 57P01 " +
    "57P02 57P03").split(" "),
);

/** True for an error of the database or network that may go away, so that a retry makes sense. */
export function isTransient(error: unknown): error is Error {
  const cause = error instanceof DatabaseError ? error.cause : error;
  return TRANSIENT_CODES.has(errorCode(cause)) || isPoolerBusy(cause);
}

/**
 * Whether the database or the system is at fault, and not the data: retried later, the same data may be
 * stored. True for the code of any system error and for any SQLSTATE but the classes 22, 23 and 54.
 */
export function isSystemFault(error: unknown): boolean {
  return isTransient(error) || /^(E[A-Z0-9]+|(?!22|23|54)[0-9A-Z]{5})$/.test(errorCode(error));
}

/** Whether the transaction is read-only: on a replica, or for a read-only user. */
export function isReadOnly(error: unknown): boolean {
  return errorCode(error) === "25006";
}

/** Whether the user lacks a privilege. */
export function isDenied(error: unknown): boolean {
  return errorCode(error) === "42501";
}

/** Whether a worker of a cluster is unavailable; statements about data of other workers may succeed. */
export function isWorkerUnavailable(error: unknown): boolean {
  return errorCode(error) === "08006";
}

/** Whether the server had no connection left: the statement was not sent. */
export function isOutOfConnections(error: unknown): boolean {
  return errorCode(error) === "53300";
}

/** The error of a statement whose connection was lost; its code is one of postgres.js. */
export function connectionLost(): Error {
  return errorWithCode("CONNECTION_CLOSED", "the connection to the database was lost");
}

/** The error of a connection that the server refused because it has none left. */
export function outOfConnections(): Error {
  return errorWithCode("53300", "the server has no connection left");
}

/** The error of a connection that was not made in time, with the code of postgres.js. */
export function connectTimeout(): Error {
  return errorWithCode("CONNECT_TIMEOUT", "no answer in time");
}

/** Another error with the same message and code. */
export function sameError(error: unknown): Error {
  return errorWithCode(errorCode(error), errorMessage(error));
}

function errorWithCode(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
