import type { Context } from "../lib/http/context.ts";
import { DRAIN_TIMEOUT_MS, listen, type RunningServer } from "../lib/http/server.ts";
import { createLog, type LogLevel } from "../lib/log.ts";
import { WINDOW_SECONDS } from "../lib/timestamp.ts";
import { createApp } from "./mod.ts";

export interface ServeOptions {
  sql: Context["sql"];
  /** Takes the log, whole lines of text with their ends. */
  writeLog(text: string): void;
  /** Events below it are not logged; `info` unless given. */
  logLevel?: LogLevel;
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

/**
 * Serves the HTTP API until it is shut down.
 *
 * @throws {Deno.errors.AddrInUse} when another program listens there, and other errors of `listen`
 */
export function serve(options: ServeOptions): RunningServer {
  const { sql, host = "127.0.0.1", port = 8000 } = options;
  const { now = systemClock, windowSeconds = WINDOW_SECONDS, logLevel = "info" } = options;
  const log = createLog({
    write: (line) => options.writeLog(`${line}\n`),
    now: systemClock,
    level: logLevel,
  });
  const app = createApp({ sql, now, windowSeconds, log });
  const drainTimeoutMs = options.drainTimeoutMs ?? DRAIN_TIMEOUT_MS;
  return listen(app, { host, port, log, drainTimeoutMs });
}

function systemClock(): number {
  return Math.floor(Date.now() / 1000);
}
