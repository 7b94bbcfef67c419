import { errorFields, type Log } from "../../base/log.ts";
import { pause } from "../../base/delay.ts";
import { addCommonHeaders } from "../request/responses.ts";
import type { App } from "../request/dispatch.ts";
import { internalServerError, overloaded } from "../request/errors.ts";
import { Slots } from "../../base/slots.ts";
import { lastingServer } from "./restarting_listener.ts";
import { requestId } from "./request_id.ts";

/** Long enough for any request that is being answered, shorter than what a service manager waits. */
export const DRAIN_TIMEOUT_MS = 10_000;

/** More than a service answers in any time that a client waits. */
export const MAX_RUNNING_REQUESTS = 1_000;

/** Longer than any statement may take, shorter than the patience of most clients and proxies. */
export const REQUEST_TIMEOUT_MS = 30_000;

/** Where to listen. */
export interface ListenOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /**
   * Lets other processes of the same user listen there too, who set this as well: the kernel gives
   * each new connection to one of them. Linux only, and Deno wants `--unstable-net` for it.
   */
  reusePort?: boolean;
  log: Log;
  /** How long `shutdown` lets running requests finish. */
  drainTimeoutMs: number;
  /** How many requests are worked on at the same time; what comes on top is refused at once. */
  maxRunningRequests: number;
  /** A request that takes longer is answered with 500, to within a second. */
  requestTimeoutMs: number;
  /** Called when requests took too long: what they wait for may never come. */
  onTimeout?(): void;
}

/** A server that listens. */
export interface RunningServer {
  /** Such as `http://127.0.0.1:8000`. */
  url: string;
  /** Takes no more requests, lets running ones finish, and gives up those that take too long. */
  shutdown(): Promise<void>;
}

// What is left to write then is a few empty answers.
const LAST_WORDS_TIMEOUT_MS = 1_000;

// How long a process that shares its port closes connections with their next answer before it closes
// the port: those that are used move to the others, where nobody ends them. Cutting them at once lost
// 15 requests of 16 connections that were never idle.
const LEAVE_MS = 500;

// One look at the oldest requests costs nothing, a timer for each request would.
const LOOK_EVERY_MS = 1_000;

// A probe that failed under load would have the service killed when it is needed most.
const LIVENESS_PROBE = /^https?:\/\/[^/]*\/health\/?(?:\?|$)/i;

/**
 * Listens, and lets the app answer until it is shut down.
 *
 * @throws {Deno.errors.AddrInUse} when another program listens there, and other errors of `listen`
 */
export function listen(app: App, options: ListenOptions): RunningServer {
  const { host, port, reusePort = false, log, drainTimeoutMs } = options;
  const requests = new RunningRequests(app, options);
  let isLeaving = false;
  const server = lastingServer((where) =>
    Deno.serve({
      ...where,
      hostname: host,
      reusePort,
      onListen: () => {},
      onError: (error) => {
        log.error("failed", errorFields(error));
        return internalServerError();
      },
    }, (request) => isLeaving ? lastAnswer(requests, request) : requests.answer(request)), {
    port,
    log,
  });
  const timer = setInterval(() => requests.look(), LOOK_EVERY_MS);
  return {
    url: urlOf(server.addr),
    async shutdown() {
      if (reusePort) {
        isLeaving = true;
        await pause(LEAVE_MS);
      }
      const drained = server.shutdown();
      try {
        if (await isDoneWithin(drained, drainTimeoutMs)) return;
        // The `signal` of Deno.serve could cut them, but not once it is shutting down.
        const count = requests.giveUp(() => true);
        log.warn("gave up running requests", { count, after_ms: drainTimeoutMs });
        await isDoneWithin(drained, LAST_WORDS_TIMEOUT_MS);
      } finally {
        clearInterval(timer);
      }
    },
  };
}

/** An answer after which its connection is closed. */
async function lastAnswer(requests: RunningRequests, request: Request): Promise<Response> {
  const response = await requests.answer(request);
  response.headers.set("connection", "close");
  return response;
}

/** A request that has no answer yet. */
interface WaitingRequest {
  request: Request;
  /** When it came, as `performance.now()` tells. */
  since: number;
  /** Answers it before the app does. */
  answer(response: Response): void;
}

/** Requests that are being worked on: not too many of them, and none for ever. */
class RunningRequests {
  readonly #app: App;
  readonly #options: ListenOptions;
  readonly #waiting = new Slots<WaitingRequest>();
  /** Also those whose client has an answer: the app still works on them. */
  #workCount = 0;
  #refusedCount = 0;

  constructor(app: App, options: ListenOptions) {
    this.#app = app;
    this.#options = options;
  }

  answer(request: Request): Promise<Response> | Response {
    if (
      this.#workCount >= this.#options.maxRunningRequests && !LIVENESS_PROBE.test(request.url)
    ) {
      this.#refusedCount++;
      return withoutApp(request, overloaded());
    }
    this.#workCount++;
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const waiting = { request, since: performance.now(), answer: resolve };
    const slot = this.#waiting.add(waiting);
    this.#app(request).then(resolve, reject).finally(() => {
      this.#workCount--;
      this.#waiting.remove(slot, waiting);
    });
    return promise;
  }

  /** Gives up what takes too long, and tells what happened since the last look. */
  look(): void {
    const { log, requestTimeoutMs, maxRunningRequests, onTimeout } = this.#options;
    const tooOld = performance.now() - requestTimeoutMs;
    const count = this.giveUp((since) => since < tooOld);
    if (count > 0) {
      log.warn("gave up requests that took too long", { count, after_ms: requestTimeoutMs });
      onTimeout?.();
    }
    if (this.#refusedCount > 0) {
      // One line for all: a line for each would make it worse.
      log.warn("refused requests", { count: this.#refusedCount, running: maxRunningRequests });
      this.#refusedCount = 0;
    }
  }

  /** Answers waiting requests with 500, as long as `isOver` says so. Returns how many. */
  giveUp(isOver: (since: number) => boolean): number {
    let count = 0;
    for (const [slot, waiting] of this.#waiting.entries()) {
      if (!isOver(waiting.since)) continue;
      waiting.answer(withoutApp(waiting.request, internalServerError()));
      this.#waiting.remove(slot, waiting);
      count++;
    }
    return count;
  }
}

/** What every answer has, also one that the app has no part in. */
function withoutApp(request: Request, response: Response): Response {
  return addCommonHeaders(response, requestId(request.headers.get("x-request-id")));
}

async function isDoneWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const { promise: timeout, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), timeoutMs);
  try {
    return await Promise.race([work.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function urlOf({ hostname, port }: Deno.NetAddr): string {
  return `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}
