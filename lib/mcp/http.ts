// Tests: tests/lib/cli/tool_endpoint_test.ts tests/lib/mcp/tools/get_build_verdicts_test.ts
/** The agent tools over HTTP: one request, one response, nothing kept between them. */
import { createMcpHandler } from "@modelcontextprotocol/server";
import { readBody } from "../base/read_body.ts";
import { createApiClient } from "../api_client/client.ts";
import { createToolServer } from "./server.ts";

/** Calls of tools are small; a larger body is refused with 413. */
const MAX_BODY_BYTES = 1 << 20;

/** Sends a request to the API in this process. */
type CallApi = (request: Request) => Promise<Response>;

/**
 * Answers a request of the Streamable HTTP transport, of any revision of the protocol. The tools call
 * the API with the credentials of the request.
 *
 * @param options.webUrl address of the pages, without a trailing slash
 * @param options.bodyTimeoutMs timeout for the whole body
 */
export async function answerToolRequest(
  request: Request,
  { callApi, webUrl, version, bodyTimeoutMs, onError }: {
    callApi: CallApi;
    webUrl: string;
    version: string;
    bodyTimeoutMs: number;
    onError(error: unknown): void;
  },
): Promise<Response> {
  const parsedBody = await readMessage(request, bodyTimeoutMs);
  if (parsedBody instanceof Response) return parsedBody;
  const authorization = request.headers.get("authorization") ?? "";
  const api = createApiClient({
    baseUrl: "http://localhost",
    token: authorization.trim().split(/\s+/).at(-1)!,
    userAgent: `test-analytics-mcp/${version}`,
    fetch: (url, init) => {
      const inner = new Request(url, init);
      inner.headers.set("authorization", authorization);
      return callApi(inner);
    },
  });
  const handler = createMcpHandler(() => createToolServer({ api, version, webUrl, onError }), {
    maxSubscriptions: 0,
    onerror: () => {},
  });
  try {
    return await handler.fetch(request, { parsedBody });
  } finally {
    await handler.close();
  }
}

/** The message in the body, or the response to a body without one. */
async function readMessage({ body }: Request, timeoutMs: number): Promise<unknown> {
  const bytes = await readBody(body, { maxBytes: MAX_BODY_BYTES, timeoutMs }).catch(() =>
    "closed" as const
  );
  switch (bytes) {
    case "too large":
      return rpcError(413, -32600, "the body has more than 1 MiB");
    case "late":
      return rpcError(408, -32700, `the body is incomplete after ${timeoutMs / 1000} s`);
    case "closed":
      return rpcError(408, -32700, "the body is incomplete: the connection was closed");
  }
  try {
    const message: unknown = JSON.parse(new TextDecoder().decode(bytes));
    // A batch could hold a thousand calls. Current revisions of the protocol have none.
    if (!Array.isArray(message)) return message;
    return rpcError(400, -32600, "found a batch: expected one message");
  } catch {
    return rpcError(400, -32700, "the body is not JSON");
  }
}

function rpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
}
