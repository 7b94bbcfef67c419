import { createApp } from "../../routes/mod.ts";
import type { Log } from "../log.ts";
import { errorFields } from "../log.ts";
import { WINDOW_SECONDS } from "../timestamp.ts";
import type { Context } from "./context.ts";
import { internalServerError } from "./errors.ts";

// Long enough for any request that is being answered, shorter than what a service manager waits.
const DRAIN_TIMEOUT_MS = 10_000;

export interface ServeOptions {
  sql: Context["sql"];
  log: Log;
  /** Address to listen on; 127.0.0.1 unless given. */
  host?: string;
  /** 8000 unless given; 0 takes any free port. */
  port?: number;
  /** Whole seconds since 1970; the system's clock unless given. */
  now?(): number;
  /** Seconds that every list looks back; 14 days unless given. */
  windowSeconds?: number;
  /** How long `shutdown` lets running requests finish; 10 s unless given. */
  drainTimeoutMs?: number;
}

/** A server that listens. */
export interface RunningServer {
  /** Such as `http://127.0.0.1:8000`. */
  url: string;
  /** Takes no more requests, lets running ones finish, and cuts those that take too long. */
  shutdown(): Promise<void>;
}

/**
 * Serves the HTTP API until it is shut down.
 *
 * @throws {Deno.errors.AddrInUse} when another program listens there, and other errors of `listen`
 */
// deno-lint-ignore require-await -- a failure to listen is a rejection, as callers expect
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { sql, log, host = "127.0.0.1", port = 8000 } = options;
  const app = createApp({
    sql,
    log,
    now: options.now ?? (() => Math.floor(Date.now() / 1000)),
    windowSeconds: options.windowSeconds ?? WINDOW_SECONDS,
  });
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
        log.warn("requests were cut", { after_ms: options.drainTimeoutMs ?? DRAIN_TIMEOUT_MS });
        abort.abort();
      }, options.drainTimeoutMs ?? DRAIN_TIMEOUT_MS);
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
