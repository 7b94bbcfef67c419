/** Listens for requests, with a shutdown that drains; limits the number of running requests. */
import { isDoneWithin } from "../../base/delay.ts";
import { errorFields, type Log } from "../../base/log.ts";
import type { App, Context } from "../request/context.ts";
import { internalServerError } from "../request/errors.ts";
import { completeError, requestIdOf } from "../request/responses.ts";
import { listenWithRestarts } from "./restarting_listener.ts";

/** Longer than most requests take, shorter than a service manager waits. */
const DRAIN_TIMEOUT_MS = 10_000;

export interface ListenOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  log: Log;
  /** How long `shutdown` waits for running requests. */
  drainTimeoutMs?: number;
}

export interface RunningServer {
  /** Such as `http://127.0.0.1:8000`. */
  url: string;
  /** Accepts no more requests, and waits for running ones until the drain timeout. */
  shutdown(): Promise<void>;
}

/** Listens until it is shut down. @throws errors of `Deno.serve`, such as `AddrInUse` */
export function listen(
  app: App,
  { host, port, log, drainTimeoutMs = DRAIN_TIMEOUT_MS }: ListenOptions,
): RunningServer {
  const onError = (error: unknown) => {
    log.error("request failed", errorFields(error));
    return internalServerError();
  };
  const listener = listenWithRestarts(
    (where) =>
      Deno.serve(
        { ...where, hostname: host, onListen: () => {}, onError },
        (request, { remoteAddr }) =>
          refuseInvalidHost(request) ?? app(request, remoteAddr.hostname),
      ),
    { port, log },
  );
  return {
    url: urlOf(listener.addr),
    async shutdown() {
      if (await isDoneWithin(listener.shutdown(), drainTimeoutMs)) return;
      // Their connections end with the process.
      log.warn("drain timeout: running requests were aborted", { after_ms: drainTimeoutMs });
    },
  };
}

/** More than a process answers in the time that a client waits. */
export const MAX_RUNNING_REQUESTS = 1_000;

// Refused requests are logged together: a line each would add to the overload.
const REPORT_INTERVAL_MS = 1_000;

// Refusing the probe under load would have the service killed when it is needed most.
const LIVENESS_PROBE = /^https?:\/\/[^/]*\/health\/?(?:\?|$)/i;

/** Limits the number of requests that run in an app; further ones are answered with 500. */
export function limitRequests(app: App, { log, metrics }: Pick<Context, "log" | "metrics">): App {
  let running = 0;
  let refused = 0;

  function report(): void {
    log.warn("refused requests", { count: refused });
    refused = 0;
  }

  return async (request, peer) => {
    if (running >= MAX_RUNNING_REQUESTS && !LIVENESS_PROBE.test(request.url)) {
      if (refused++ === 0) setTimeout(report, REPORT_INTERVAL_MS);
      metrics?.count("http_requests_total", { route: "unknown", status: "500" });
      // In seconds: most requests take milliseconds. The API documents no 503.
      const response = internalServerError({ "retry-after": "1" });
      return completeError(request, response, requestIdOf(request));
    }
    running++;
    try {
      return await app(request, peer);
    } finally {
      running--;
    }
  };
}

/** A name or address with an optional port. */
const HOST = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d+)?$/i;

/** What the runtime puts in its place when there is none. Requests of HTTP/2 have an authority instead. */
const NO_HOST = /^http:\/\/localhost:\d+\//;

/**
 * A 400 with an empty body, as the runtime answers malformed requests; `null` when the `Host` is valid. The
 * runtime accepts any and none, and makes the URL of it: with `Host: a/repos?` a request for `/health`
 * would be one for `/repos`, past the rules of a proxy.
 */
export function refuseInvalidHost({ headers, url }: Request): Response | null {
  const host = headers.get("host");
  if (host === null ? !NO_HOST.test(url) : HOST.test(host)) return null;
  return new Response(null, { status: 400, headers: { connection: "close" } });
}

/** Base address of a listener, without a slash at its end. */
export function urlOf({ hostname, port }: Deno.NetAddr): string {
  return `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}
