/** Statements wait while a server that is short of connections refuses another one. */
import type { Socket } from "node:net";
import { pause } from "../../lib/base/delay.ts";
import { isOutOfConnections } from "./errors.ts";

/** Longer than a request may take, so that its own limit decides. */
const MAX_WAIT_MS = 30_000;

/** Connections that work become idle within milliseconds. */
const RETRY_MS = 25;

/** The connections of one client: those that work, and how many the server has refused. */
export class Connections {
  sockets: Socket[] = [];
  #refusedCount = 0;

  get areServing(): boolean {
    return this.sockets.some((socket) => !socket.destroyed);
  }

  /** Notes an error of a statement. A refusal is one of the server, not one that is repeated during the backoff. */
  recordError(error: unknown): void {
    if (isOutOfConnections(error) && Object.hasOwn(error as Error, "severity")) {
      this.#refusedCount++;
    }
  }

  /**
   * How many connections were lost since the last call, and whether all of them had only been refused while
   * others work: then the client can be kept.
   */
  takeLost(): { lostCount: number; areRefused: boolean } {
    const working = this.sockets.filter((socket) => !socket.destroyed);
    const lostCount = this.sockets.length - working.length;
    const areRefused = working.length > 0 && lostCount <= this.#refusedCount;
    if (areRefused) {
      this.sockets = working;
      this.#refusedCount -= lostCount;
    }
    return { lostCount, areRefused };
  }
}

/** Runs something again until it gets one of the connections that work; what was refused was not sent. */
export async function untilConnected<T>(
  run: () => Promise<T>,
  { canWait, first }: { canWait(): boolean; first: Promise<T> },
): Promise<T> {
  const deadline = performance.now() + MAX_WAIT_MS;
  for (let result = first;; result = run()) {
    try {
      return await result;
    } catch (error) {
      if (!isOutOfConnections(error) || !canWait() || performance.now() >= deadline) throw error;
    }
    await pause(RETRY_MS);
  }
}

/** Makes an awaited statement run again as long as it is refused. Fragments are never awaited. */
export function repeatRefused<T>(
  statement: T,
  { again, canWait }: { again(): Promise<unknown>; canWait(): boolean },
): T {
  if (!(statement instanceof Promise)) return statement;
  const { then } = statement;
  let result: Promise<unknown> | undefined;
  const start = () => {
    const first = new Promise((resolve, reject) => then.call(statement, resolve, reject));
    // The first call restores the original.
    statement.then = repeated;
    return untilConnected(again, { canWait, first });
  };
  const repeated =
    ((...handlers: Parameters<typeof then>) =>
      (result ??= start()).then(...handlers)) as typeof then;
  statement.then = repeated;
  return statement;
}
