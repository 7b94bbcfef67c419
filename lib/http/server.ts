import { errorFields, type Log } from "../log.ts";
import type { App } from "./app.ts";
import { internalServerError } from "./errors.ts";

/** Long enough for any request that is being answered, shorter than what a service manager waits. */
export const DRAIN_TIMEOUT_MS = 10_000;

/** Where to listen. */
export interface ListenOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  log: Log;
  /** How long `shutdown` lets running requests finish. */
  drainTimeoutMs: number;
}

/** A server that listens. */
export interface RunningServer {
  /** Such as `http://127.0.0.1:8000`. */
  url: string;
  /** Takes no more requests, lets running ones finish, and cuts those that take too long. */
  shutdown(): Promise<void>;
}

/**
 * Listens, and lets the app answer until it is shut down.
 *
 * @throws {Deno.errors.AddrInUse} when another program listens there, and other errors of `listen`
 */
export function listen(app: App, options: ListenOptions): RunningServer {
  const { host, port, log, drainTimeoutMs } = options;
  const abort = new AbortController();
  const server = Deno.serve({
    hostname: host,
    port,
    signal: abort.signal,
    onListen: () => {},
    onError: (error) => {
      log.error("failed", errorFields(error));
      return internalServerError();
    },
  }, app);
  return {
    url: urlOf(server.addr),
    async shutdown() {
      const timer = setTimeout(() => {
        log.warn("requests were cut", { after_ms: drainTimeoutMs });
        abort.abort();
      }, drainTimeoutMs);
      try {
        await server.shutdown();
        await server.finished;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function urlOf({ hostname, port }: Deno.NetAddr): string {
  return `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}
