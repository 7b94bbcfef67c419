import type { Log } from "../base/log.ts";
import { errorFields } from "../base/log.ts";
import { VERSION } from "../base/version.ts";
import { type App, REQUEST_TIMEOUT_MS } from "../http/request/context.ts";
import { forbidden, tooManyRequests } from "../http/request/errors.ts";
import { defineEndpoint } from "../http/request/route.ts";

/** Requests of one token that may run at the same time; an agent calls a few tools at once. */
export const MAX_TOKEN_CALLS = 32;

/** Time to send a body of at most 1 MiB. Clients that stall must not reach the timeout of a request. */
const BODY_TIMEOUT_MS = 10_000;

/**
 * The agent tools at `POST /mcp`. They call the app in this process, with the token of the request.
 *
 * @param options.publicUrl address of the service as its users see it; `""`: the address that was called
 */
export function toolEndpoint(app: App, { publicUrl, log, requestTimeoutMs = REQUEST_TIMEOUT_MS }: {
  publicUrl: string;
  log: Log;
  requestTimeoutMs?: number;
}) {
  /** Running requests by token. */
  const running = new Map<number | null, number>();
  return defineEndpoint({
    path: "/mcp",
    methods: ["POST"],
    async respond(request, { peer, requestId, caller: { tokenId } }) {
      const { headers } = request;
      const called = `http://${headers.get("host") ?? "localhost"}`;
      const webUrl = publicUrl || called;
      const origin = headers.get("origin");
      if (origin !== null && ![webUrl, called].some((url) => isSameHost(origin, url))) {
        return forbidden("The Origin is not this service: set PUBLIC_URL");
      }
      const count = running.get(tokenId) ?? 0;
      if (count >= MAX_TOKEN_CALLS) {
        return tooManyRequests(`${count} requests of this token are running: repeat it later`, "1");
      }
      running.set(tokenId, count + 1);
      try {
        return await answer(request, { peer, requestId, webUrl });
      } finally {
        const left = running.get(tokenId)! - 1;
        if (left === 0) running.delete(tokenId);
        else running.set(tokenId, left);
      }
    },
  });

  async function answer(
    request: Request,
    { peer, requestId, webUrl }: { peer: string; requestId: string; webUrl: string },
  ): Promise<Response> {
    const { headers } = request;
    // A service that no agent calls does not need the library of the protocol.
    const { answerToolRequest } = await import("../mcp/http.ts");
    return await answerToolRequest(request, {
      callApi(inner) {
        inner.headers.set("x-request-id", requestId);
        const forwarded = headers.get("x-forwarded-for");
        if (forwarded !== null) inner.headers.set("x-forwarded-for", forwarded);
        return app(inner, peer);
      },
      webUrl,
      version: VERSION,
      onError: (error) =>
        log.error("tool failed", { request_id: requestId, ...errorFields(error) }),
      bodyTimeoutMs: Math.min(BODY_TIMEOUT_MS, requestTimeoutMs / 2),
    });
  }
}

/** Whether an origin has the host and port of an address; a proxy may have ended TLS before. */
function isSameHost(origin: string, address: string): boolean {
  const host = URL.parse(origin)?.host;
  return host !== undefined && host !== "" && host === URL.parse(address)?.host;
}
