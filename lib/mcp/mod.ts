/** The agent tool server over standard input and output. */
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createApiClient } from "../api_client/client.ts";
import { createToolServer } from "./server.ts";
import type { ApiSettings } from "../api_client/settings.ts";
import { createTransport, type TransportStreams } from "./transport.ts";

interface ServeToolsOptions extends ApiSettings, TransportStreams {
  version: string;
  /** Aborted when the process should stop. */
  stop: AbortSignal;
  /** Writes a line for people. */
  note(text: string): void;
}

/** Serves until the input ends or `stop` is aborted. */
export async function serveTools(options: ServeToolsOptions): Promise<void> {
  const { version, stop, note } = options;
  const onError = (error: unknown) =>
    note(`error: ${error instanceof Error ? error.message : String(error)}`);
  const api = createApiClient({ ...options, userAgent: `test-analytics-mcp/${version}` });
  const transport = createTransport(options);
  const handle = serveStdio(() => createToolServer({ api, version, onError }), {
    transport,
    onerror: onError,
  });
  const onStop = () => void handle.close();
  stop.addEventListener("abort", onStop, { once: true });
  if (stop.aborted) onStop();
  await transport.closed;
  stop.removeEventListener("abort", onStop);
}
