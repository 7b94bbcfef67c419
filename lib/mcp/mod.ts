/** The agent tool server over standard input and output. */
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createApiClient } from "./api_client.ts";
import { redirectConsole } from "./redirect_console.ts";
import { createToolServer } from "./server.ts";
import type { ApiSettings } from "./settings.ts";
import { createTransport, type TransportStreams } from "./transport.ts";

/** Options of the server. */
export interface ServeToolsOptions extends ApiSettings, TransportStreams {
  version: string;
  /** Aborted when the process should stop. */
  stop: AbortSignal;
  /** Writes a line for people. */
  note(text: string): void;
}

/** Serves until the input ends or `stop` is aborted. */
export async function serveTools(options: ServeToolsOptions): Promise<void> {
  const { baseUrl, token, version, stop, note } = options;
  const onError = (error: unknown) =>
    note(`error: ${error instanceof Error ? error.message : String(error)}`);
  const restoreConsole = redirectConsole(note);
  try {
    const api = createApiClient({ baseUrl, token, userAgent: `test-analytics-mcp/${version}` });
    const transport = createTransport(options);
    const handle = serveStdio(() => createToolServer({ api, baseUrl, version, onError }), {
      transport,
      onerror: onError,
    });
    const onStop = () => void handle.close();
    stop.addEventListener("abort", onStop, { once: true });
    if (stop.aborted) onStop();
    await transport.closed;
    stop.removeEventListener("abort", onStop);
  } finally {
    restoreConsole();
  }
}
