/**
 * A listener that restarts. `Deno.serve` stops listening for good when the system refuses it a
 * connection, as it does when the process is out of file handles. Idle connections have no time
 * limit either, so that any client that opens enough of them would end the service.
 */
import { pause } from "../../base/delay.ts";
import type { Log } from "../../base/log.ts";

/** Running requests have this long to finish before all connections are closed. */
const GRACE_MS = 500;

/** Pause before each attempt to listen: one that fails at once must not keep a core busy. */
const LISTEN_RETRY_MS = 200;

/**
 * Listens with `start`, and again on the same port when that server stops; the signal closes all of
 * its connections. When it ran out of file handles, all are closed: legitimate ones cannot be
 * distinguished from others.
 */
export function listenWithRestarts(
  start: (where: { port: number; signal: AbortSignal }) => Deno.HttpServer<Deno.NetAddr>,
  { port, log }: { port: number; log: Log },
) {
  const closing = new AbortController();
  const startNext = (nextPort: number) => {
    const connections = new AbortController();
    const server = start({ port: nextPort, signal: connections.signal });
    server.finished.catch((error) => restart(error, connections));
    return server;
  };
  let server = startNext(port);
  const { addr } = server;

  async function restart(error: unknown, connections: AbortController): Promise<void> {
    if (closing.signal.aborted) return;
    const isOutOfHandles = /os error (23|24)\b/.test(String(error));
    log.error("listener restarted", { error: String(error), connections_closed: isOutOfHandles });
    if (isOutOfHandles) {
      await pause(GRACE_MS, closing.signal);
      if (!closing.signal.aborted) connections.abort();
    }
    while (!closing.signal.aborted) {
      await pause(LISTEN_RETRY_MS, closing.signal);
      if (closing.signal.aborted) return;
      try {
        server = startNext(addr.port);
        return;
      } catch {
        // Most likely the port or the handles are not free yet.
      }
    }
  }

  return {
    addr,
    /** Accepts no more connections, and waits for running requests to finish. */
    async shutdown() {
      closing.abort();
      await server.shutdown();
    },
  };
}
