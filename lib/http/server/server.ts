/** Listens for requests: not too many at once, none for too long, and a shutdown that drains. */
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
  log: Log;
  /** How long `shutdown` waits for running requests. */
  drainTimeoutMs?: number;
  /** Further requests are refused with 500. */
  maxRunningRequests?: number;
  /** Requests that take longer are answered with 500. */
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

// Refused and expired requests are logged together: a line each would add to the overload.
const REPORT_INTERVAL_MS = 1_000;

// Refusing the probe under load would have the service killed when it is needed most.
const LIVENESS_PROBE = /^https?:\/\/[^/]*\/health\/?(?:\?|$)/i;

/**
 * Listens until it is shut down.
 *
 * @throws {Deno.errors.AddrInUse} when another program listens there, and other errors of `listen`
 */
export function listen(app: App, options: ListenOptions): RunningServer {
  const { host, port, log, drainTimeoutMs = DRAIN_TIMEOUT_MS } = options;
  const requests = limitRequests(app, options);
  const listener = listenWithRestarts(
    (where) =>
      Deno.serve({
        ...where,
        hostname: host,
        onListen: () => {},
        onError: (error) => {
          log.error("failed", errorFields(error));
          return internalServerError();
        },
      }, (request, { remoteAddr }) => requests.run(request, remoteAddr.hostname)),
    { port, log },
  );
  const timer = setInterval(() => requests.report(), REPORT_INTERVAL_MS);
  return {
    url: urlOf(listener.addr),
    async shutdown() {
      const drained = listener.shutdown();
      try {
        if (await isDoneWithin(drained, drainTimeoutMs)) return;
        // Their connections end with the process.
        log.warn("gave up running requests", {
          count: requests.running(),
          after_ms: drainTimeoutMs,
        });
      } finally {
        clearInterval(timer);
        requests.report();
      }
    },
  };
}

/** Runs requests, bounded in number and in time. */
function limitRequests(
  app: App,
  {
    log,
    onTimeout,
    maxRunningRequests = MAX_RUNNING_REQUESTS,
    requestTimeoutMs = REQUEST_TIMEOUT_MS,
  }: ListenOptions,
) {
  /** Includes requests that timed out: the app still works on them. */
  let running = 0;
  let refused = 0;
  let expired = 0;
  return {
    running: () => running,
    async run(request: Request, peer: string): Promise<Response> {
      if (running >= maxRunningRequests && !LIVENESS_PROBE.test(request.url)) {
        refused++;
        return completeError(request, overloaded(), requestIdOf(request));
      }
      const { promise: expiry, resolve: respond } = Promise.withResolvers<Response>();
      const timer = setTimeout(() => {
        // Once for all that expire together.
        if (expired++ === 0) onTimeout?.();
        respond(completeError(request, internalServerError(), requestIdOf(request)));
      }, requestTimeoutMs);
      running++;
      const response = app(request, peer).finally(() => {
        running--;
        clearTimeout(timer);
      });
      return await Promise.race([response, expiry]);
    },
    /** Logs the requests that were refused or expired since the last time. */
    report(): void {
      if (expired > 0) {
        const fields = { count: expired, after_ms: requestTimeoutMs };
        log.warn("gave up requests that took too long", fields);
      }
      if (refused > 0) {
        log.warn("refused requests", { count: refused, running: maxRunningRequests });
      }
      [expired, refused] = [0, 0];
    },
  };
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
