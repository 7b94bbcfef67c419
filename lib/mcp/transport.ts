/** The protocol over two streams; at the end of the input it drains. */
import type { JSONRPCMessage, RequestId, Transport } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { type Readable, Transform, Writable } from "node:stream";

/**
 * Drain timeout: how long calls may be answered after the end of the input. `printf ... | mcp` needs
 * it; clients that wait for the process to exit do not notice it.
 */
const DRAIN_MS = 500;

/** Streams and settings of the transport. */
export interface TransportStreams {
  input: Readable;
  /** Resolves once the whole text is written. */
  write(text: string): Promise<void>;
  drainMs?: number;
}

/** A transport that answers pending calls after the input ended, within the drain timeout. */
export interface DrainingTransport extends Transport {
  /** Resolves when the transport is closed and everything is written. */
  closed: Promise<void>;
}

/** Creates a transport of newline-delimited JSON over two streams. */
export function createTransport(
  { input, write, drainMs = DRAIN_MS }: TransportStreams,
): DrainingTransport {
  const pending = new Set<RequestId>();
  const output = writableOf(write);
  const gate = drainingGate(pending, drainMs);
  const inner = new StdioServerTransport(gate, output);
  const { promise: closed, resolve } = Promise.withResolvers<void>();

  const transport: DrainingTransport = {
    closed,
    async start() {
      await inner.start();
      input.pipe(gate);
      input.once("error", () => gate.end());
      // A destroyed stream emits close without end.
      input.once("close", () => gate.end());
    },
    async send(message) {
      await inner.send(message);
      if (!("method" in message) && message.id !== undefined) pending.delete(message.id);
    },
    async close() {
      await inner.close();
    },
  };
  inner.onmessage = (message) => {
    track(message, pending);
    transport.onmessage?.(message);
  };
  inner.onerror = (error) => transport.onerror?.(error);
  inner.onclose = () => {
    input.unpipe(gate);
    input.pause();
    pending.clear();
    transport.onclose?.();
    output.end(() => resolve());
  };
  return transport;
}

function track(message: JSONRPCMessage, pending: Set<RequestId>): void {
  if (!("method" in message)) return;
  if ("id" in message) {
    pending.add(message.id);
  } else if (message.method === "notifications/cancelled") {
    // A cancelled request gets no response.
    const id = message.params?.requestId;
    if (typeof id === "string" || typeof id === "number") pending.delete(id);
  }
}

/** Passes the input through, but its end only after all calls are answered or the timeout. */
function drainingGate(pending: Set<RequestId>, drainMs: number): Transform {
  const POLL_MS = 5;
  return new Transform({
    transform: (chunk, _encoding, done) => done(null, chunk),
    flush: (done) => {
      let waitedMs = 0;
      const poll = () => {
        if (pending.size === 0 || waitedMs >= drainMs) return done();
        waitedMs += POLL_MS;
        setTimeout(poll, POLL_MS);
      };
      // The last messages are read in the next turn.
      setTimeout(poll, 0);
    },
  });
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
