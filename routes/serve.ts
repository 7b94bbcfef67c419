import type { Context } from "../lib/http/request/context.ts";
import { TEST_BYTES } from "../lib/http/request/tests_loader.ts";
import {
  listen,
  type ListenOptions,
  type RunningServer,
  systemClock,
} from "../lib/http/server/server.ts";
import { WINDOW_SECONDS } from "../lib/base/time.ts";
import { createApp } from "./mod.ts";

/** Dependencies of the handlers, where to listen, and limits. */
export interface ServeOptions
  extends Omit<Context, "now" | "windowSeconds" | "cache">, ListenOptions {
  now?: Context["now"];
  windowSeconds?: number;
  /** Approximate memory of the caches. */
  cacheSizeMb?: number;
}

// Share of the cache for tests: they take longer to load than responses to make from them.
const TESTS_SHARE = 0.6;

/** Serves the HTTP API until it is shut down. @throws errors of `Deno.serve` */
export function serve(
  { now = systemClock, windowSeconds = WINDOW_SECONDS, cacheSizeMb = 80, ...options }: ServeOptions,
): RunningServer {
  const cacheBytes = Math.max(1, cacheSizeMb * 1024 * 1024);
  const cache = {
    maxCachedBytes: cacheBytes * (1 - TESTS_SHARE),
    maxCachedTests: cacheBytes * TESTS_SHARE / TEST_BYTES,
  };
  return listen(createApp({ ...options, now, windowSeconds, cache }), options);
}
