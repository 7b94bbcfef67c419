import type { Context } from "../lib/http/request/context.ts";
import {
  DRAIN_TIMEOUT_MS,
  listen,
  MAX_RUNNING_REQUESTS,
  REQUEST_TIMEOUT_MS,
  type RunningServer,
  systemClock,
} from "../lib/http/server/server.ts";
import { TEST_BYTES } from "../lib/http/request/tests_loader.ts";
import { createLog, type Log } from "../lib/base/log.ts";
import { WINDOW_SECONDS } from "../lib/base/time.ts";
import { createApp } from "./mod.ts";

export interface ServeOptions {
  sql: Context["sql"];
  /** Default: lines for people, passed to `writeLog`. */
  log?: Log;
  /** Proxies whose `X-Forwarded-For` is believed; default: none. */
  trustedProxies?: Context["trustedProxies"];
  onTokenUse?: Context["onTokenUse"];
  metrics?: Context["metrics"];
  /** Receives the lines of the default log, each with a line feed. */
  writeLog?(text: string): void;
  /** Address to listen on; default 127.0.0.1. */
  host?: string;
  /** Default 8000; 0 takes any free port. */
  port?: number;
  /** Shares the port with other processes; see `listen`. */
  reusePort?: boolean;
  /** Whole seconds since 1970; default: the system clock. */
  now?(): number;
  /** Length of the window; default 14 days. */
  windowSeconds?: number;
  /** How long `shutdown` waits for running requests; default 10 s. */
  drainTimeoutMs?: number;
  /** Further requests are refused; default 1,000. */
  maxRunningRequests?: number;
  /** How long a request may take; default 30 s. */
  requestTimeoutMs?: number;
  /** Called when requests timed out. */
  onTimeout?(): void;
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
  const { sql, host = "127.0.0.1", port = 8000 } = options;
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
  const given = {
    ...options.trustedProxies && { trustedProxies: options.trustedProxies },
    ...options.onTokenUse && { onTokenUse: options.onTokenUse },
    ...options.metrics && { metrics: options.metrics },
  };
  return listen(createApp({ ...given, sql, now, windowSeconds, log, cache }), {
    host,
    port,
    reusePort: options.reusePort ?? false,
    log,
    drainTimeoutMs: options.drainTimeoutMs ?? DRAIN_TIMEOUT_MS,
    maxRunningRequests: options.maxRunningRequests ?? MAX_RUNNING_REQUESTS,
    requestTimeoutMs: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
    ...(options.onTimeout && { onTimeout: options.onTimeout }),
  });
}
