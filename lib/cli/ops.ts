/** The port for operators of a service. */
import type { Database } from "../../db/connection/connect.ts";
import { checkSchema } from "../../db/schema/migrate.ts";
import type { Log } from "../base/log.ts";
import { Metrics } from "../base/metrics.ts";
import { serveOps } from "../http/ops/ops_server.ts";
import { listenOrFail } from "./listen.ts";
import type { SettingValues } from "./settings.ts";

/** Metrics that are served until `close`. */
export interface Ops {
  metrics: Metrics;
  close(): Promise<void>;
}

/** Serves readiness and metrics; `null` without a port. @throws {Failure} when it cannot listen */
export function startOps(
  database: Database,
  settings: SettingValues<"OPS_HOST" | "OPS_PORT">,
  log: Log,
): Ops | null {
  const { OPS_HOST: host, OPS_PORT: port } = settings;
  if (port === null) return null;
  const metrics = new Metrics();
  database.observe(({ waitedMs, totalMs }) => {
    metrics.observe("database_statement_seconds", totalMs / 1000);
    if (waitedMs !== null) metrics.observe("database_wait_seconds", waitedMs / 1000);
  });
  const server = listenOrFail(
    { host, port, portOption: "--ops-port" },
    () => serveOps({ host, port, metrics, log, checkReady: () => checkReady(database) }),
  );
  log.info("readiness and metrics", { url: server.url });
  return { metrics, close: () => server.shutdown() };
}

async function checkReady({ sql }: Database): Promise<void> {
  const { state, problem } = await checkSchema(sql);
  if (state !== "current") throw new Error(problem ?? `the database schema is ${state}`);
}
