/** The agent tool server over standard input and output. */
import { once } from "node:events";
import process from "node:process";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { type ApiClient, createApiClient } from "../api_client/client.ts";
import type { ApiSettings } from "../api_client/api_settings.ts";
import { aborted, pause } from "../base/delay.ts";
import { createToolServer } from "./server.ts";

/** Pause after the end of the input: the last call starts, or its response is written. */
const SETTLE_MS = 50;

/**
 * Serves until the input has ended and all calls are answered, as `printf ... | mcp` needs it, or
 * until `stop` is aborted.
 */
export async function serveTools(
  { version, webUrl, input = process.stdin, output, stop, note, ...settings }: ApiSettings & {
    version: string;
    /** Address of the pages, without a trailing slash. */
    webUrl: string;
    /** Standard input and output unless given. */
    input?: Readable;
    output?: Writable;
    stop: AbortSignal;
    /** Writes a line for people. */
    note(text: string): void;
  },
): Promise<void> {
  const onError = (error: unknown) => note(String(error));
  const client = createApiClient({ ...settings, userAgent: `test-analytics-mcp/${version}` });
  let running = 0;
  const api: ApiClient = async (...call) => {
    running++;
    try {
      return await client(...call);
    } finally {
      running--;
    }
  };
  // The SDK drops running calls at the end of its input, which is therefore held back.
  const lines = new PassThrough();
  input.pipe(lines, { end: false });
  const connection = serveStdio(() => createToolServer({ api, version, webUrl, onError }), {
    transport: new StdioServerTransport(lines, output),
    onerror: onError,
  });
  await Promise.race([once(input, "end"), aborted(stop)]);
  lines.write("\n");
  do await pause(SETTLE_MS, stop); while (running > 0 && !stop.aborted);
  await pause(SETTLE_MS, stop);
  await connection.close();
}
