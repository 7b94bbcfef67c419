/** The agent tool server over standard input and output. */
import type { Readable, Writable } from "node:stream";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createApiClient } from "../api_client/client.ts";
import type { ApiSettings } from "../api_client/settings.ts";
import { createToolServer } from "./server.ts";

interface ServeToolsOptions extends ApiSettings {
  version: string;
  /** Standard input and output unless given. */
  input?: Readable;
  output?: Writable;
  /** Aborted when the process should stop. */
  stop: AbortSignal;
  /** Writes a line for people. */
  note(text: string): void;
}

/** Serves until the input ends, whatever is in flight, or `stop` is aborted. */
export async function serveTools(
  { version, input, output, stop, note, ...api }: ServeToolsOptions,
) {
  const onError = (error: unknown) =>
    note(`error: ${error instanceof Error ? error.message : String(error)}`);
  const client = createApiClient({ ...api, userAgent: `test-analytics-mcp/${version}` });
  const transport = new StdioServerTransport(input, output);
  const handle = serveStdio(() => createToolServer({ api: client, version, onError }), {
    transport,
    onerror: onError,
  });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.();
    resolve();
  };
  const onStop = () => void handle.close();
  stop.addEventListener("abort", onStop, { once: true });
  if (stop.aborted) onStop();
  await closed;
}
