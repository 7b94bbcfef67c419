/** The protocol over two streams; at the end of the input it drains. */
import type { RequestId, Transport } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { PassThrough, type Readable, Writable } from "node:stream";
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

/** Creates a transport of newline-delimited JSON over two streams. */
export function createTransport(
  { input, write, drainMs = DRAIN_MS }: TransportStreams,
): DrainingTransport {
  const pending = new Set<RequestId>();
  // Its end follows the end of the input once all calls are answered or the timeout is over.
  const gate = new PassThrough();
  const output = writableOf(write);
  const inner = new StdioServerTransport(gate, output);
  const { promise: closed, resolve } = Promise.withResolvers<void>();

  async function drain(): Promise<void> {
    const deadline = performance.now() + drainMs;
    // The last messages are read in the next turn.
    await pause(0);
    while (pending.size > 0 && performance.now() < deadline) await pause(POLL_MS);
    gate.end();
  }

  const transport: DrainingTransport = {
    closed,
    async start() {
      await inner.start();
      input.pipe(gate, { end: false });
      // A destroyed stream emits close without end.
      for (const event of ["end", "error", "close"]) input.once(event, drain);
    },
    async send(message) {
      await inner.send(message);
      if (!("method" in message) && message.id !== undefined) pending.delete(message.id);
    },
    close: () => inner.close(),
  };
  inner.onmessage = (message) => {
    if ("method" in message && "id" in message) pending.add(message.id);
    // A cancelled request gets no response.
    if ("method" in message && message.method === "notifications/cancelled") {
      pending.delete(message.params?.requestId as RequestId);
    }
    transport.onmessage?.(message);
  };
  inner.onerror = (error) => transport.onerror?.(error);
  inner.onclose = () => {
    input.unpipe(gate);
    input.pause();
    pending.clear();
    transport.onclose?.();
    output.end(resolve);
  };
  return transport;
}

function writableOf(write: (text: string) => Promise<void>): Writable {
  const output = new Writable({
    decodeStrings: false,
    write: (text, _encoding, done) => {
      write(String(text)).then(() => done(), done);
    },
  });
  // Every response that waits for a slow reader adds a listener.
  return output.setMaxListeners(0);
}
