/** A receiver of telemetry, for programs that send some. */

/** How long its end may take, in milliseconds. */
const CLOSE_MS = 2_000;

/** A receiver that listens. */
export interface Receiver {
  /** Address for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  url: string;
  /** Closes all connections: the senders have ended. */
  close(): Promise<void>;
}

/** Starts a receiver on a free port whose responses `answer` returns. */
export function startReceiver(
  answer: (request: Request) => Response | Promise<Response>,
): Receiver {
  const cut = new AbortController();
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    signal: cut.signal,
    onListen: () => {},
  }, answer);
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    async close() {
      cut.abort();
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, CLOSE_MS);
      await Promise.race([server.finished, late]).finally(() => clearTimeout(timer));
    },
  };
}
