import type { Database } from "../../db/connection/connect.ts";
import { DatabaseError } from "../../db/connection/errors.ts";
import { pause } from "../base/delay.ts";

// A server that starts is there within seconds: soon enough to lose none, seldom enough to not hurry.
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 2_000;

/** Codes of what passes by itself: the server is starting, restarting, failing over, or full. */
const PASSING = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "EPIPE",
  // A Unix socket that is not there yet.
  "ENOENT",
  "CONNECT_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  // The primary is lost and no standby was promoted yet.
  "NO_SUITABLE_SERVER",
  "53300",
  "57P01",
  "57P02",
  "57P03",
]);

/**
 * Opens a database, and tries again while its server is away: whoever starts both at the same time
 * need not care which is ready first. What does not pass by itself (a wrong password) fails at once.
 *
 * @param options.seconds how long to try
 * @param options.note told once why, and how long it is going to be tried
 * @returns `null` when told to stop while waiting
 * @throws {DatabaseError} of the last try
 */
export async function waitForDatabase(
  open: () => Promise<Database>,
  { seconds, stop, note }: { seconds: number; stop: AbortSignal; note(text: string): void },
): Promise<Database | null> {
  const deadline = performance.now() + seconds * 1000;
  let pauseMs = FIRST_PAUSE_MS;
  for (let tries = 1;; tries++) {
    try {
      return await open();
    } catch (error) {
      const leftMs = deadline - performance.now();
      if (!isPassing(error) || leftMs <= 0) throw error;
      if (tries === 1) note(`${error.message}; waiting for it, at most ${seconds} s`);
      await pause(Math.min(pauseMs, leftMs), stop);
      if (stop.aborted) return null;
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }
}

/** True for an error of a database or network that goes away by itself. */
export function isPassing(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  // A connection may also be lost after it was made, while the schema is looked at.
  const cause = error instanceof DatabaseError ? error.cause : error;
  return cause instanceof Error && "code" in cause && PASSING.has(String(cause.code));
}
