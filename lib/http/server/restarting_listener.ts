/**
 * A server that goes on when it cannot let a connection in.
 *
 * `Deno.serve` gives up for good at the first connection that the system refuses it, which happens
 * when all handles of the process are taken. It has no time limit for a connection that says nothing
 * either, so that anybody who opens enough of them could end the service.
 */
import type { Log } from "../../base/log.ts";
import { pause } from "../../base/delay.ts";

/** What is being answered gets this long, before the connections that take all handles are cut. */
const LAST_ANSWERS_MS = 500;

/** Pause before each try to listen again: one that fails at once must not keep a processor busy. */
const RETRY_MS = 200;

/** A server that listens until it is shut down. */
export interface LastingServer {
  addr: Deno.NetAddr;
  /** Takes no more connections, and lets running requests finish. */
  shutdown(): Promise<void>;
}

/**
 * Listens with `start`, and again on the same port when that server gives up. When there were too
 * many connections, all of them are cut: nobody knows which of them are honest.
 *
 * @param start called with the port and what cuts the connections
 * @throws what the first call of `start` throws
 */
export function lastingServer(
  start: (where: { port: number; signal: AbortSignal }) => Deno.HttpServer<Deno.NetAddr>,
  { port, log }: { port: number; log: Log },
): LastingServer {
  const closing = new AbortController();
  /** Of servers that gave up while their connections go on. */
  const left: AbortController[] = [];
  let cut = new AbortController();
  let server = start({ port, signal: cut.signal });
  const { addr } = server;

  // Once it is told to end, nothing is started and nothing is cut any more.
  const listenAgain = async (error: unknown) => {
    if (closing.signal.aborted) return;
    const isOutOfHandles = /os error (23|24)\b/.test(String(error));
    log.error("listens again", { error: String(error), connections_cut: isOutOfHandles });
    if (isOutOfHandles) {
      await pause(LAST_ANSWERS_MS, closing.signal);
      if (closing.signal.aborted) return;
      cut.abort();
    } else left.push(cut);
    while (true) {
      await pause(RETRY_MS, closing.signal);
      if (closing.signal.aborted) return;
      cut = new AbortController();
      try {
        server = start({ port: addr.port, signal: cut.signal });
        return watch();
      } catch {
        // Most likely the port or the handles are not free yet.
      }
    }
  };
  const watch = () => {
    server.finished.catch(listenAgain);
  };
  watch();

  return {
    addr,
    async shutdown() {
      closing.abort();
      try {
        await server.shutdown();
      } finally {
        for (const controller of left) controller.abort();
      }
    },
  };
}
