/** The protocol over two streams: newline-delimited JSON. At the end of the input it drains. */
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  ProtocolErrorCode,
  type RequestId,
  serializeMessage,
  STDIO_DEFAULT_MAX_BUFFER_SIZE,
  type Transport,
} from "@modelcontextprotocol/server";
import type { Readable } from "node:stream";
import { pause } from "../base/delay.ts";

/**
 * Drain timeout: how long calls may be answered after the end of the input. `printf ... | mcp` needs
 * it; clients that wait for the process to exit do not notice it.
 */
const DRAIN_MS = 500;
const POLL_MS = 5;

export interface TransportStreams {
  input: Readable;
  /** Resolves once the whole text is written. */
  write(text: string): Promise<void>;
  drainMs?: number;
}

/** A transport that answers pending calls after the input ended, within the drain timeout. */
interface DrainingTransport extends Transport {
  /** Resolves when the transport is closed and everything is written. */
  closed: Promise<void>;
}

/**
 * Creates a transport over two streams. The package's own skips lines that are not JSON, and a client
 * would wait for ever; here each gets an error.
 */
export function createTransport(
  { input, write, drainMs = DRAIN_MS }: TransportStreams,
): DrainingTransport {
  const pending = new Set<RequestId>();
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let written = Promise.resolve();
  let isClosed = false;

  function send(text: string): Promise<void> {
    if (!isClosed) written = written.then(() => write(text)).catch(fail);
    return written;
  }

  function receive(line: string): void {
    if (line.trim() === "") return;
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(JSON.parse(line));
    } catch (error) {
      const code = error instanceof SyntaxError
        ? ProtocolErrorCode.ParseError
        : ProtocolErrorCode.InvalidRequest;
      transport.onerror?.(error as Error);
      const text = "expected a JSON-RPC 2.0 message in one line";
      const answer = { jsonrpc: "2.0", id: null, error: { code, message: text } };
      void send(`${JSON.stringify(answer)}\n`);
      return;
    }
    if ("method" in message && "id" in message) pending.add(message.id);
    // A cancelled request gets no response.
    if ("method" in message && message.method === "notifications/cancelled") {
      pending.delete(message.params?.requestId as RequestId);
    }
    transport.onmessage?.(message);
  }

  const decoder = new TextDecoder();
  let rest = "";
  function read(chunk: Uint8Array): void {
    const [first, ...others] = decoder.decode(chunk, { stream: true }).split("\n");
    rest += first;
    for (const line of others) {
      receive(rest);
      rest = line;
    }
    if (rest.length > STDIO_DEFAULT_MAX_BUFFER_SIZE) {
      fail(new Error(`a line of more than ${STDIO_DEFAULT_MAX_BUFFER_SIZE} characters`));
    }
  }

  async function drain(): Promise<void> {
    if (isClosed) return;
    // A last line without an end.
    receive(rest);
    rest = "";
    const deadline = performance.now() + drainMs;
    while (pending.size > 0 && performance.now() < deadline) await pause(POLL_MS);
    close();
  }

  function fail(error: unknown): void {
    if (!isClosed) transport.onerror?.(error as Error);
    close();
  }

  function close(): void {
    if (isClosed) return;
    isClosed = true;
    input.off("data", read);
    input.pause();
    pending.clear();
    transport.onclose?.();
    void written.then(resolve);
  }

  const transport: DrainingTransport = {
    closed,
    start() {
      input.on("data", read);
      // A destroyed stream emits close without end.
      for (const event of ["end", "error", "close"]) input.once(event, drain);
      return Promise.resolve();
    },
    async send(message) {
      await send(serializeMessage(message));
      if (!("method" in message) && message.id !== undefined) pending.delete(message.id);
    },
    close: () => Promise.resolve(close()),
  };
  return transport;
}
