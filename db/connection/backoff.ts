/** How soon after a failed connection the next one is tried: within the time that nobody notices. */
const PAUSE_MS = 250;

/** How long a try may take before another is made beside it, while the database is away. */
const PATIENCE_MS = 1_000;

/**
 * The tries of a process to reach its database. While it is away one try at a time is made for all
 * who ask; the others are told at once what became of the last, so that nobody waits and the server
 * is not overrun by all of them when it comes back.
 */
export class Attempts {
  #failure: { error: unknown; until: number } | null = null;

  /**
   * Connects, or fails as the last try did when that was a moment ago.
   *
   * @throws {Error} why the database cannot be reached, with a `code`
   */
  async make<T>(connect: () => Promise<T>): Promise<T> {
    const now = performance.now();
    if (this.#failure !== null) {
      if (now < this.#failure.until) throw again(this.#failure.error);
      this.#failure.until = now + PATIENCE_MS;
    }
    try {
      return await connect();
    } catch (error) {
      this.failed(error);
      throw error;
    }
  }

  /** A connection could not be made, or ended before the server let us in. */
  failed(error: unknown): void {
    this.#failure = { error, until: performance.now() + PAUSE_MS };
  }

  /** The server let us in. */
  succeeded(): void {
    this.#failure = null;
  }
}

/** The connection is not there any more. */
export function lostConnection(): Error {
  return Object.assign(new Error("the connection to the database was lost"), {
    code: "CONNECTION_CLOSED",
  });
}

/** The library adds the statement to an error that it hands out: everybody needs one of their own. */
function again(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const copy = new Error(error.message, { cause: error });
  return Object.assign(copy, "code" in error ? { code: error.code } : {});
}
