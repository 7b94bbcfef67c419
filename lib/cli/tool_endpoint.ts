import type { Log } from "../base/log.ts";
import { errorFields } from "../base/log.ts";
import { VERSION } from "../base/version.ts";
import type { App } from "../http/request/context.ts";
import { forbidden } from "../http/request/errors.ts";
import { defineEndpoint } from "../http/request/route.ts";

/**
 * The agent tools at `POST /mcp`. They call the app in this process, with the token of the request.
 *
 * @param options.publicUrl address of the service as its users see it; `""`: the address that was called
 */
export function toolEndpoint(app: App, { publicUrl, log }: { publicUrl: string; log: Log }) {
  return defineEndpoint({
    path: "/mcp",
    methods: ["POST"],
    async respond(request, { peer, requestId }) {
      const { headers } = request;
      const called = `http://${headers.get("host") ?? "localhost"}`;
      const webUrl = publicUrl || called;
      const origin = headers.get("origin");
      if (origin !== null && ![webUrl, called].some((url) => isSameHost(origin, url))) {
        return forbidden("The Origin is not this service: set PUBLIC_URL");
      }
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
      });
    },
  });
}

/** Whether an origin has the host and port of an address; a proxy may have ended TLS before. */
function isSameHost(origin: string, address: string): boolean {
  const host = URL.parse(origin)?.host;
  return host !== undefined && host !== "" && host === URL.parse(address)?.host;
}
