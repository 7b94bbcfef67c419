import type { Context } from "../lib/http/request/context.ts";
import {
  DRAIN_TIMEOUT_MS,
  listen,
  type ListenOptions,
  MAX_RUNNING_REQUESTS,
  REQUEST_TIMEOUT_MS,
  type RunningServer,
  systemClock,
} from "../lib/http/server/server.ts";
import { TEST_BYTES } from "../lib/http/request/tests_loader.ts";
import { createLog } from "../lib/base/log.ts";
import { WINDOW_SECONDS } from "../lib/base/time.ts";
import { createApp } from "./mod.ts";

/** Dependencies of the handlers, where to listen, and limits; only the database has no default. */
export interface ServeOptions extends Partial<Omit<Context, "cache">>, Partial<ListenOptions> {
  sql: Context["sql"];
  /** Receives the lines of the default log, each with a line feed. */
  writeLog?(text: string): void;
  /** Approximate memory of the caches; default 80. */
  cacheSizeMb?: number;
}

// Share of the cache for tests: they take longer to load than responses to make from them.
const TESTS_SHARE = 0.6;

/**
 * Serves the HTTP API until it is shut down.
 *
 * @throws {Deno.errors.AddrInUse} when another program listens there, and other errors of `listen`
 */
export function serve(options: ServeOptions): RunningServer {
  const { now = systemClock, windowSeconds = WINDOW_SECONDS, cacheSizeMb = 80 } = options;
  const log = options.log ?? createLog({
    write: (line) => options.writeLog?.(`${line}\n`),
    now: systemClock,
  });
  const cacheBytes = cacheSizeMb * 1024 * 1024;
  const cache = {
    maxCachedBytes: cacheBytes * (1 - TESTS_SHARE),
    maxCachedTests: cacheBytes * TESTS_SHARE / TEST_BYTES,
  };
  return listen(createApp({ ...options, now, windowSeconds, log, cache }), {
    host: "127.0.0.1",
    port: 8000,
    drainTimeoutMs: DRAIN_TIMEOUT_MS,
    maxRunningRequests: MAX_RUNNING_REQUESTS,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    ...options,
    log,
  });
}
