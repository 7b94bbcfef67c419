// Tests: tests/lib/http/server/server_test.ts tests/lib/intake/receive/upload_app_test.ts
/** Runs the requests of an app, each with an id and in limited time, and logs and counts them. */
import type { Caller } from "../../../db/read/caller.ts";
import { clientAddress } from "./client_address.ts";
import type { App, Context } from "./context.ts";
import { internalServerError } from "./errors.ts";
import { completeError, requestIdOf } from "./responses.ts";

/** Methods that are logged by name; a client may send anything as one, a token too. */
const LOGGED_METHODS = new Set("GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT".split(" "));

/** Long enough to distinguish programs. */
const MAX_USER_AGENT_CHARACTERS = 200;

const REPORT_INTERVAL_MS = 1_000;

/** Seconds after which a request that timed out may be repeated. The API documents no 503. */
const RETRY_AFTER_SECONDS = "5";

/** Without a timeout, requests take as long as they take. */
type LogContext = Pick<
  Context,
  "log" | "metrics" | "trustedProxies" | "requestTimeoutMs" | "onTimeout"
>;

/**
 * The fields of a request in the log, which are filled in while it runs. Without path and query, because
 * they may contain a token.
 */
export interface LoggedRequest {
  requestId: string;
  /** The address of the other end of the connection. */
  peer: string;
  /** The address of the client, which is the peer unless that is a trusted proxy. */
  address: string;
  /** Pattern of the route, `null` for an unknown path. */
  route: string | null;
  /** `null` without a valid token. */
  caller: Caller | null;
  /** Further fields. */
  more: Record<string, string | number>;
}

/** Logs and counts the requests that `respond`, which never throws, responds to. */
export function logRequests(
  { log, metrics, trustedProxies, requestTimeoutMs, onTimeout }: LogContext,
  respond: (request: Request, logged: LoggedRequest) => Promise<Response>,
): App {
  let timedOut = 0;

  function reportTimeouts(): void {
    log.warn("requests timed out", { count: timedOut, after_ms: requestTimeoutMs });
    timedOut = 0;
  }

  /** The response, or `null` after the timeout: what it waits for may never come. */
  async function inTime(response: Promise<Response>): Promise<Response | null> {
    if (requestTimeoutMs === undefined) return await response;
    const { promise: timeout, resolve } = Promise.withResolvers<null>();
    const timer = setTimeout(() => resolve(null), requestTimeoutMs);
    try {
      return await Promise.race([response, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  return async (request, peer = "") => {
    const startedAt = performance.now();
    const { method, headers } = request;
    const address = trustedProxies
      ? clientAddress(peer, headers.get("x-forwarded-for"), trustedProxies)
      : peer;
    const requestId = requestIdOf(request);
    const logged: LoggedRequest = {
      requestId,
      peer,
      address,
      route: null,
      caller: null,
      more: {},
    };
    const finished = await inTime(respond(request, logged));
    const response = finished ??
      completeError(
        request,
        internalServerError({ "retry-after": RETRY_AFTER_SECONDS }),
        requestId,
      );
    const { route, caller, more } = logged;
    const { status } = response;
    const durationMs = performance.now() - startedAt;
    if (metrics) {
      const labels = { route: route ?? "unknown" };
      // Before the first error, so that Prometheus sees it as an increase.
      if (status !== 500) metrics.count("http_requests_total", { ...labels, status: "500" }, 0);
      metrics.count("http_requests_total", { ...labels, status: String(status) });
      metrics.observe("http_request_duration_seconds", durationMs / 1000, labels);
    }
    if (finished === null) {
      // Once for all that time out together: a line each would add to the overload.
      if (timedOut++ > 0) return response;
      setTimeout(reportTimeouts, REPORT_INTERVAL_MS);
      onTimeout?.();
      return response;
    }
    log.info("request", {
      request_id: requestId,
      method: LOGGED_METHODS.has(method) ? method : "other",
      route,
      status,
      duration_ms: Math.round(durationMs * 10) / 10,
      organization_id: caller?.organizationId ?? null,
      token_id: caller?.tokenId ?? null,
      client_address: address || undefined,
      // On one line.
      user_agent: headers.get("user-agent")?.replaceAll(/\p{Cc}/gu, "")
        .slice(0, MAX_USER_AGENT_CHARACTERS),
      ...more,
    });
    return response;
  };
}
