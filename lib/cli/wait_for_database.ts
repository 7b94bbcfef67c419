import type { Database } from "../../db/connection/connect.ts";
import { DatabaseError } from "../../db/connection/errors.ts";
import { pause } from "../base/delay.ts";

// Backoff: a starting server is ready within seconds.
const MIN_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 2_000;

/** Error codes of a server that is starting, restarting, failing over, or out of connections. */
const TRANSIENT_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "EPIPE",
  // A Unix socket that does not exist yet.
  "ENOENT",
  "CONNECT_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  // No standby was promoted yet.
  "NO_SUITABLE_SERVER",
  "53300",
  "57P01",
  "57P02",
  "57P03",
]);

/**
 * Opens a database, with retries while its server is unavailable, so that both can be started in any
 * order. Other errors, such as a wrong password, are not retried.
 *
 * @param options.seconds how long to retry
 * @param options.note called once, with the reason
 * @returns `null` when `stop` is aborted while waiting
 * @throws {DatabaseError} of the last attempt
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

/** True for an error of the database or network that may go away, so that a retry makes sense. */
export function isTransient(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  // The connection may also be lost later, while the schema is checked.
  const cause = error instanceof DatabaseError ? error.cause : error;
  return cause instanceof Error && "code" in cause && TRANSIENT_CODES.has(String(cause.code));
}
