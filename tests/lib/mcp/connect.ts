/** A client in the same process, connected to the agent tools. */
import { type CallToolResult, Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { type ApiClient, createApiClient } from "../../../lib/api_client/client.ts";
import { createToolServer } from "../../../lib/mcp/server.ts";
import { FAKE_TOKEN } from "../api_client/fake_api.ts";

/** Address of the pages that outputs name. */
export const WEB_URL = "https://flaky.example";

/** The official client, connected. */
export interface Connection {
  client: Client;
  /** Internal errors of the server. */
  errors: unknown[];
  /** Calls a tool; returns its result, its text and its structured content. */
  call(name: string, args?: Record<string, unknown>): Promise<
    // deno-lint-ignore no-explicit-any -- tests read it as a client does
    CallToolResult & { text: string; data: any }
  >;
  close(): Promise<void>;
}

/** Connects a client to the tools; `api` may be a fake. */
export async function connect(baseUrl: string, api = clientOf(baseUrl)): Promise<Connection> {
  const errors: unknown[] = [];
  const server = createToolServer({
    api,
    version: "1.2.3",
    webUrl: WEB_URL,
    onError: (error) => errors.push(error),
  });
  const [serverSide, clientSide] = InMemoryTransport.createLinkedPair();
  await server.connect(serverSide);
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(clientSide);
  return {
    client,
    errors,
    call: async (name, args = {}) => {
      const result = await client.callTool({ name, arguments: args });
      const text = result.content.map((part) => part.type === "text" ? part.text : "").join("\n");
      return { ...result, text, data: result.structuredContent };
    },
    close: () => client.close(),
  };
}

function clientOf(baseUrl: string): ApiClient {
  return createApiClient({ baseUrl, token: FAKE_TOKEN, userAgent: "test", timeoutMs: 60_000 });
}
