// Tests: tests/db/connection/pool_test.ts
import { sameError } from "./errors.ts";

/** Pause after a failed attempt: too short for a user to notice. */
const RETRY_DELAY_MS = 250;

/** How long an attempt may take before the next caller starts another one. */
const ATTEMPT_TIMEOUT_MS = 1_000;

/**
 * Connection backoff: while the server is unreachable, one attempt at a time is made for all
 * callers. The others fail at once with the last error, so that requests do not pile up and the
 * server is not flooded when it returns.
 */
export class ConnectionBackoff {
  #failure: { error: unknown; retryAt: number } | null = null;

  /** Runs `connect`, or fails with the last error, which has a `code`, while the backoff lasts. */
  async run<T>(connect: () => Promise<T>): Promise<T> {
    const now = performance.now();
    if (this.#failure !== null) {
      // A new one for each: postgres.js attaches the statement to the error it rejects with.
      if (now < this.#failure.retryAt) throw sameError(this.#failure.error);
      this.#failure.retryAt = now + ATTEMPT_TIMEOUT_MS;
    }
    try {
      return await connect();
    } catch (error) {
      this.recordFailure(error);
      throw error;
    }
  }

  /** A connection could not be made, or was lost before the server accepted it. */
  recordFailure(error: unknown): void {
    this.#failure = { error, retryAt: performance.now() + RETRY_DELAY_MS };
  }

  recordSuccess(): void {
    this.#failure = null;
  }
}
