import type { Context } from "../lib/http/request/context.ts";
import {
  DRAIN_TIMEOUT_MS,
  listen,
  MAX_RUNNING_REQUESTS,
  REQUEST_TIMEOUT_MS,
  type RunningServer,
} from "../lib/http/server/server.ts";
import { TEST_BYTES } from "../lib/http/request/tests_loader.ts";
import { createLog, type Log } from "../lib/base/log.ts";
import { WINDOW_SECONDS } from "../lib/base/time.ts";
import { createApp } from "./mod.ts";

export interface ServeOptions {
  sql: Context["sql"];
  /** Where events go; lines for people unless given. */
  log?: Log;
  /** Takes the lines when no `log` is given, with their ends. */
  writeLog?(text: string): void;
  /** Address to listen on; 127.0.0.1 unless given. */
  host?: string;
  /** 8000 unless given; 0 takes any free port. */
  port?: number;
  /** Shares the port with other processes that do so too; see `listen`. */
  reusePort?: boolean;
  /** Whole seconds since 1970; the system's clock unless given. */
  now?(): number;
  /** Seconds that every list looks back; 14 days unless given. */
  windowSeconds?: number;
  /** How long `shutdown` lets running requests finish; 10 s unless given. */
  drainTimeoutMs?: number;
  /** How many requests are worked on at the same time; 1,000 unless given. */
  maxRunningRequests?: number;
  /** How long a request may take; 30 s unless given. */
  requestTimeoutMs?: number;
  /** Called when requests took too long. */
  onTimeout?(): void;
  /** About how much memory is used to keep answers and lists; 80 unless given. */
  cacheSizeMb?: number;
}

// Lists are dearer to make than answers, which are made of them.
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
  return listen(createApp({ sql, now, windowSeconds, log, cache }), {
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

function systemClock(): number {
  return Math.floor(Date.now() / 1000);
}
