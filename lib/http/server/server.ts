/** Listens for requests: not too many at once, none for too long, and a shutdown that drains. */
import { pause } from "../../base/delay.ts";
import { errorFields, type Log } from "../../base/log.ts";
import type { App } from "../request/dispatch.ts";
import { internalServerError, overloaded } from "../request/errors.ts";
import { completeError, requestIdOf } from "../request/responses.ts";
import { listenWithRestarts } from "./restarting_listener.ts";

/** Longer than most requests take, shorter than a service manager waits. */
const DRAIN_TIMEOUT_MS = 10_000;

/** More than a process answers in the time that a client waits. */
const MAX_RUNNING_REQUESTS = 1_000;

/** Longer than any statement may take, shorter than most clients and proxies wait. */
const REQUEST_TIMEOUT_MS = 30_000;

export interface ListenOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /**
   * Shares the port with other processes of the same user that set this too: the kernel gives each
   * new connection to one of them. Linux only, with `--unstable-net`.
   */
  reusePort?: boolean;
  log: Log;
  /** How long `shutdown` waits for running requests. */
  drainTimeoutMs?: number;
  /** Further requests are refused with 500. */
  maxRunningRequests?: number;
  /** Requests that take longer are answered with 500, to within a second. */
  requestTimeoutMs?: number;
  /** Called when requests timed out: what they wait for may never come. */
  onTimeout?(): void;
}

export interface RunningServer {
  /** Such as `http://127.0.0.1:8000`. */
  url: string;
  /** Accepts no more requests, and waits for running ones until the drain timeout. */
  shutdown(): Promise<void>;
}

// Enough to send the empty responses of requests that are given up.
const FLUSH_TIMEOUT_MS = 1_000;

// A process that shares its port first closes connections with their next response, so that active
// clients move to the others. Closing them at once lost 15 requests of 16 busy connections.
const LEAVE_MS = 500;

// One sweep over all requests is cheaper than a timer for each.
const SWEEP_INTERVAL_MS = 1_000;

// Refusing the probe under load would have the service killed when it is needed most.
const LIVENESS_PROBE = /^https?:\/\/[^/]*\/health\/?(?:\?|$)/i;

/**
 * Listens until it is shut down.
 *
 * @throws {Deno.errors.AddrInUse} when another program listens there, and other errors of `listen`
 */
export function listen(app: App, options: ListenOptions): RunningServer {
  const { host, port, reusePort = false, log, drainTimeoutMs = DRAIN_TIMEOUT_MS } = options;
  const requests = new RunningRequests(app, options);
  let isLeaving = false;
  const listener = listenWithRestarts(
    (where) =>
      Deno.serve({
        ...where,
        hostname: host,
        reusePort,
        onListen: () => {},
        onError: (error) => {
          log.error("failed", errorFields(error));
          return internalServerError();
        },
      }, async (request, { remoteAddr }) => {
        const response = await requests.run(request, remoteAddr.hostname);
        if (isLeaving) response.headers.set("connection", "close");
        return response;
      }),
    { port, log },
  );
  const timer = setInterval(() => requests.sweep(), SWEEP_INTERVAL_MS);
  return {
    url: urlOf(listener.addr),
    async shutdown() {
      if (reusePort) {
        isLeaving = true;
        await pause(LEAVE_MS);
      }
      const drained = listener.shutdown();
      try {
        if (await isDoneWithin(drained, drainTimeoutMs)) return;
        // The `signal` of Deno.serve cannot close connections once it is shutting down.
        const count = requests.expire(Infinity);
        log.warn("gave up running requests", { count, after_ms: drainTimeoutMs });
        await isDoneWithin(drained, FLUSH_TIMEOUT_MS);
      } finally {
        clearInterval(timer);
      }
    },
  };
}

/** A request without a response yet. */
interface WaitingRequest {
  request: Request;
  /** `performance.now()` of its arrival. */
  since: number;
  respond(response: Response): void;
}

/** The requests that are being worked on, bounded in number and in time. */
class RunningRequests {
  readonly #app: App;
  readonly #options: ListenOptions;
  readonly #maxCount: number;
  readonly #waiting = new Set<WaitingRequest>();
  /** Includes requests that timed out: the app still works on them. */
  #workCount = 0;
  #refusedCount = 0;

  constructor(app: App, options: ListenOptions) {
    this.#app = app;
    this.#options = options;
    this.#maxCount = options.maxRunningRequests ?? MAX_RUNNING_REQUESTS;
  }

  async run(request: Request, peer: string): Promise<Response> {
    if (this.#workCount >= this.#maxCount && !LIVENESS_PROBE.test(request.url)) {
      this.#refusedCount++;
      return completeError(request, overloaded(), requestIdOf(request));
    }
    const { promise: expired, resolve: respond } = Promise.withResolvers<Response>();
    const waiting = { request, since: performance.now(), respond };
    this.#waiting.add(waiting);
    this.#workCount++;
    const response = this.#app(request, peer).finally(() => {
      this.#workCount--;
      this.#waiting.delete(waiting);
    });
    return await Promise.race([response, expired]);
  }

  /** Expires requests that take too long, and logs what happened since the last sweep. */
  sweep(): void {
    const { log, requestTimeoutMs = REQUEST_TIMEOUT_MS, onTimeout } = this.#options;
    const count = this.expire(performance.now() - requestTimeoutMs);
    if (count > 0) {
      log.warn("gave up requests that took too long", { count, after_ms: requestTimeoutMs });
      onTimeout?.();
    }
    if (this.#refusedCount > 0) {
      // One line for all of them: a line each would add to the overload.
      log.warn("refused requests", { count: this.#refusedCount, running: this.#maxCount });
      this.#refusedCount = 0;
    }
  }

  /** Answers requests that arrived before a time with 500. Returns how many. */
  expire(before: number): number {
    let count = 0;
    for (const waiting of this.#waiting) {
      const { request, since, respond } = waiting;
      if (since >= before) continue;
      respond(completeError(request, internalServerError(), requestIdOf(request)));
      this.#waiting.delete(waiting);
      count++;
    }
    return count;
  }
}

/** Whole seconds since 1970. */
export function systemClock(): number {
  return Math.floor(Date.now() / 1000);
}

/** Whether some work finishes in time; throws what it throws. */
export async function isDoneWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const { promise: timeout, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), timeoutMs);
  try {
    return await Promise.race([work.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** The base URL of an address that is listened on. */
export function urlOf({ hostname, port }: Deno.NetAddr): string {
  return `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}
