/** Clients that send requests during a fault and record the responses. */
import { pause } from "../../../lib/base/delay.ts";

/** Timeout of a request. */
const TIMEOUT_MS = 60_000;

/** Pause between two requests. */
const PAUSE_MS = 20;

/** The responses of the clients. */
export interface Sightings {
  /** Number of responses by status, or `no connection`, `cut off`. */
  tally: Map<string, number>;
  /** Longest time between two correct responses. */
  longestGapMs: number;
  /** Time of the last correct response, as of `performance.now()`. */
  lastRightAt: number;
  /** Bodies of 200 responses that `isRight` rejects. */
  wrong: string[];
}

/** Clients that send requests until they are stopped. */
export interface Prober {
  seen: Sightings;
  /** Waits for a correct response to a request sent from now on; returns the milliseconds. */
  untilRight(timeoutMs?: number): Promise<number>;
  stop(): Promise<Sightings>;
}

/** Starts clients that repeat one request; the address may change between requests. */
export function startProber(
  address: () => { url: string; token: string },
  { clients = 1, keepsConnections = true, target, isRight = () => true }: {
    clients?: number;
    /** False: every request is sent over a new connection. */
    keepsConnections?: boolean;
    target: string;
    isRight?: (body: string) => boolean;
  },
): Prober {
  const seen: Sightings = {
    tally: new Map(),
    longestGapMs: 0,
    lastRightAt: performance.now(),
    wrong: [],
  };
  let isStopped = false;
  let lastRightSentAt = -1;
  const client = Deno.createHttpClient(keepsConnections ? {} : { poolMaxIdlePerHost: 0 });
  const ask = async (): Promise<string> => {
    const { url, token } = address();
    const sentAt = performance.now();
    let response: Response;
    try {
      response = await fetch(`${url}${target}`, {
        client,
        headers: { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
    } catch (error) {
      if (error instanceof DOMException) return "no answer within a minute";
      // Refused, or accepted by a program that ended before it answered.
      return /refused/i.test(causeOf(error)) ? "no connection" : "cut off";
    }
    const body = await response.text().catch(() => null);
    if (body === null) return "cut off";
    if (response.status !== 200) {
      return body === "" || response.status !== 500 ? String(response.status) : "500 with a body";
    }
    if (!isRight(body)) {
      seen.wrong.push(body);
      return "200 that is wrong";
    }
    const now = performance.now();
    seen.longestGapMs = Math.max(seen.longestGapMs, now - seen.lastRightAt);
    seen.lastRightAt = now;
    lastRightSentAt = Math.max(lastRightSentAt, sentAt);
    return "200";
  };
  const asking = Promise.all(Array.from({ length: clients }, async () => {
    while (!isStopped) {
      const what = await ask();
      seen.tally.set(what, (seen.tally.get(what) ?? 0) + 1);
      await pause(PAUSE_MS);
    }
  }));
  return {
    seen,
    async untilRight(timeoutMs = 60_000) {
      const begun = performance.now();
      while (lastRightSentAt < begun) {
        if (performance.now() - begun > timeoutMs) {
          throw new Error(`no right answer for ${timeoutMs} ms: ${[...seen.tally]}`);
        }
        await pause(5);
      }
      return performance.now() - begun;
    },
    async stop() {
      if (isStopped) return seen;
      isStopped = true;
      await asking;
      client.close();
      return seen;
    },
  };
}

/** Adds one tally to another. */
export function addTally(to: Map<string, number>, tally: ReadonlyMap<string, number>): void {
  for (const [what, count] of tally) to.set(what, (to.get(what) ?? 0) + count);
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return `${error.message} ${error.cause ?? ""}`;
}
