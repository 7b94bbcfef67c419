/** The road of protocol messages over two streams, and how it ends. */
import type { JSONRPCMessage, RequestId, Transport } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { type Readable, Transform, Writable } from "node:stream";

/**
 * How long calls may still be answered when the input has ended: enough for `printf ... | mcp` to
 * see its answers, too short for a client that waits for the process to end to notice.
 */
const DRAIN_MS = 500;

/** Streams of the transport. */
export interface TransportStreams {
  input: Readable;
  /** Writes a text, whole, and ends once it is written. */
  write(text: string): Promise<void>;
  drainMs?: number;
}

/** A transport that answers what was asked before the input ended, within a bound. */
export interface DrainingTransport extends Transport {
  /** Resolves when it is closed and everything is written. */
  closed: Promise<void>;
}

/** Makes a transport of line-wise JSON over two streams. */
export function createTransport(
  { input, write, drainMs = DRAIN_MS }: TransportStreams,
): DrainingTransport {
  const unanswered = new Set<RequestId>();
  const output = writableOf(write);
  const gate = drainingGate(unanswered, drainMs);
  const inner = new StdioServerTransport(gate, output);
  const { promise: closed, resolve } = Promise.withResolvers<void>();

  const transport: DrainingTransport = {
    closed,
    async start() {
      await inner.start();
      input.pipe(gate);
      input.once("error", () => gate.end());
      // A stream that is destroyed closes without an end.
      input.once("close", () => gate.end());
    },
    async send(message) {
      await inner.send(message);
      if (!("method" in message) && message.id !== undefined) unanswered.delete(message.id);
    },
    async close() {
      await inner.close();
    },
  };
  inner.onmessage = (message) => {
    track(message, unanswered);
    transport.onmessage?.(message);
  };
  inner.onerror = (error) => transport.onerror?.(error);
  inner.onclose = () => {
    input.unpipe(gate);
    input.pause();
    unanswered.clear();
    transport.onclose?.();
    output.end(() => resolve());
  };
  return transport;
}

function track(message: JSONRPCMessage, unanswered: Set<RequestId>): void {
  if (!("method" in message)) return;
  if ("id" in message) {
    unanswered.add(message.id);
  } else if (message.method === "notifications/cancelled") {
    // It will never be answered.
    const id = message.params?.requestId;
    if (typeof id === "string" || typeof id === "number") unanswered.delete(id);
  }
}

/** Passes the input on, and its end only once everything is answered or the time is over. */
function drainingGate(unanswered: Set<RequestId>, drainMs: number): Transform {
  const POLL_MS = 5;
  return new Transform({
    transform: (chunk, _encoding, done) => done(null, chunk),
    flush: (done) => {
      let waitedMs = 0;
      const poll = () => {
        if (unanswered.size === 0 || waitedMs >= drainMs) return done();
        waitedMs += POLL_MS;
        setTimeout(poll, POLL_MS);
      };
      // Not at once: the last messages are still on their way to be read.
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
  // Each answer that waits for a slow reader listens.
  return output.setMaxListeners(0);
}
