import type { Caller } from "../../../db/read/caller.ts";
import type { LogFields } from "../../base/log.ts";
import type { Context } from "./context.ts";

/** Methods that are logged by name; a client may send anything as one, a token too. */
const LOGGED_METHODS = new Set("GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT".split(" "));

/** Long enough to distinguish programs. */
const MAX_USER_AGENT_CHARACTERS = 200;

/**
 * The fields of a request in the log. Without path and query, because they may contain a token.
 */
export interface LoggedRequest {
  requestId: string;
  /** Pattern of the route, `null` for an unknown path. */
  route: string | null;
  /** `null` without a valid token. */
  caller: Caller | null;
  address: string;
}

/** Logs and counts a finished request, which started at this `performance.now()`. */
export function logRequest(
  { log, metrics }: Pick<Context, "log" | "metrics">,
  { method, headers }: Request,
  { requestId, route, caller, address, status, startedAt }: LoggedRequest & {
    status: number;
    startedAt: number;
  },
  more: LogFields = {},
): void {
  const durationMs = performance.now() - startedAt;
  if (metrics) {
    const labels = { route: route ?? "unknown" };
    metrics.count("http_requests_total", { ...labels, status: String(status) });
    metrics.observe("http_request_duration_seconds", durationMs / 1000, labels);
  }
  log.info("answered", {
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
}
