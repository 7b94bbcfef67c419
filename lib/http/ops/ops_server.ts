// Tests: tests/lib/http/server/server_test.ts
/** `GET /ready` and `GET /metrics` on a port of their own, without a token. */
import { isDoneWithin } from "../../base/delay.ts";
import type { Log } from "../../base/log.ts";
import type { Metrics } from "../../base/metrics.ts";
import { refuseInvalidHost, urlOf } from "../server/server.ts";

/** Shorter than the timeout of most probes. */
const READY_TIMEOUT_MS = 2_000;

/** Listens until it is shut down. @throws errors of `Deno.serve`, such as `AddrInUse` */
export function serveOps({ host, port, metrics, log, checkReady, refreshMetrics }: {
  host: string;
  /** 0 takes any free port. */
  port: number;
  metrics: Metrics;
  log: Log;
  /** Resolves when the database responds and its schema is right, otherwise rejects. */
  checkReady(): Promise<void>;
  /** Loads what the database knows; called whenever the metrics are read. */
  refreshMetrics?: (() => Promise<void>) | undefined;
}): { url: string; shutdown(): Promise<void> } {
  let wasReady = true;
  const readiness = async () => {
    let reason = "no answer in time";
    const isReady = await isDoneWithin(checkReady(), READY_TIMEOUT_MS).catch((error) => {
      reason = String(error);
      return false;
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
    const refused = refuseInvalidHost(request);
    if (refused) return refused;
    switch (new URL(request.url).pathname) {
      case "/ready":
        return await readiness();
      case "/metrics":
        // Without the database the others still count, and the last known value of these.
        if (refreshMetrics) {
          await isDoneWithin(refreshMetrics(), READY_TIMEOUT_MS).catch(() => false);
        }
        return new Response(metrics.text(), {
          headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
        });
      default:
        return new Response(null, { status: 404 });
    }
  });
  return { url: urlOf(server.addr), shutdown: () => server.shutdown() };
}
