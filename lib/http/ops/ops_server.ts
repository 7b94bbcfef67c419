/** `GET /ready` and `GET /metrics` on a port of their own, without a token. */
import type { Log } from "../../base/log.ts";
import type { Metrics } from "../../base/metrics.ts";

/** Shorter than the timeout of most probes. */
const READY_TIMEOUT_MS = 2_000;

/** Where to listen, and what to tell. */
export interface OpsOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  metrics: Metrics;
  /** Resolves when the database responds and its schema is right, else rejects. */
  checkReady(): Promise<void>;
  log: Log;
}

/**
 * Listens until it is shut down.
 *
 * @throws {Deno.errors.AddrInUse} when another program listens there, and other errors of `listen`
 */
export function serveOps(options: OpsOptions): { url: string; shutdown(): Promise<void> } {
  const { host, port, metrics, log } = options;
  let wasReady = true;
  const readiness = async () => {
    let isReady = true;
    let reason = "";
    await withTimeout(options.checkReady()).catch((error) => {
      isReady = false;
      reason = String(error);
    });
    // The response has no details, and one line per change is enough.
    if (isReady !== wasReady) {
      if (isReady) log.info("ready");
      else log.warn("not ready", { error: reason });
    }
    wasReady = isReady;
    return new Response(isReady ? "ready\n" : "not ready\n", { status: isReady ? 200 : 503 });
  };
  const server = Deno.serve({ hostname: host, port, onListen: () => {} }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname !== "/ready" && pathname !== "/metrics") {
      return new Response(null, { status: 404 });
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
    }
    if (pathname === "/ready") return await readiness();
    return new Response(metrics.text(), {
      headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
    });
  });
  const { hostname, port: actualPort } = server.addr;
  return {
    url: `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${actualPort}`,
    shutdown: () => server.shutdown(),
  };
}

async function withTimeout(work: Promise<void>): Promise<void> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("no answer in time")), READY_TIMEOUT_MS);
  try {
    await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
