// Tests: tests/lib/cli/commands/serve_test.ts tests/lib/cli/commands/watch_test.ts
/** Shared setup of `serve`, `receive`, `watch` and `up`: log, database, operators' port, uses of tokens. */
import { isWriterRefused } from "../../db/admin/diagnostics.ts";
import type { Database } from "../../db/connection/connect.ts";
import { checkSchema } from "../../db/schema/migrate.ts";
import type { SettingName } from "../base/config.ts";
import type { Log, LogFields } from "../base/log.ts";
import { Metrics } from "../base/metrics.ts";
import { VERSION } from "../base/version.ts";
import { COMMIT } from "../system/build.ts";
import { serveOps } from "../http/ops/ops_server.ts";
import type { Context } from "../http/request/context.ts";
import type { CommandContext } from "./command.ts";
import { openMode } from "./data_folder.ts";
import { waitForDatabase } from "./database.ts";
import { listenOrFail } from "../http/server/listen_or_fail.ts";
import { withLog } from "./log_output.ts";
import type { SettingValues } from "./settings.ts";
import { recordTokenUsesLater } from "./token_uses.ts";

export const SERVICE_SETTINGS = [
  "OPS_HOST",
  "OPS_PORT",
  "LOG_LEVEL",
  "LOG_FORMAT",
  "DATABASE_WAIT_SECONDS",
] as const satisfies readonly SettingName[];

/** What a service runs with. */
export interface Service extends Pick<Context, "log" | "metrics" | "onTokenUse"> {
  database: Database;
  /** Logs that it is ready. */
  logStarted(fields?: LogFields): void;
}

/** Runs a service on the database that `open` returns, which is waited for, and closes everything. */
export async function runService(
  { io, database: location }: CommandContext,
  settings: SettingValues<typeof SERVICE_SETTINGS[number]>,
  { open, body, checkReady = checkCurrentSchema, refreshMetrics }: {
    open(): Promise<Database>;
    /** Throws when it is not ready. */
    checkReady?(database: Database): Promise<void>;
    /** Sets the metrics that are in the database, whenever the metrics are read. */
    refreshMetrics?(database: Database, metrics: Metrics): Promise<void>;
    body(service: Service): Promise<void>;
  },
): Promise<void> {
  const metrics = settings.OPS_PORT === undefined ? undefined : new Metrics();
  await withLog(io, settings, async (log) => {
    const database = await waitForDatabase(open, {
      seconds: settings.DATABASE_WAIT_SECONDS,
      stop: io.stop,
      note: (text) => log.warn("database unavailable", { error: text }),
    });
    if (database === null) return;
    const mode = await openMode(location.dataDir);
    if (mode !== null) {
      log.warn("the data folder is open to other users", {
        folder: location.dataDir,
        mode,
        expected: "700",
      });
    }
    const uses = recordTokenUsesLater(location, log);
    const ops = startOps(database, {
      settings,
      metrics,
      log,
      checkReady: () => checkReady(database),
      refreshMetrics: metrics && refreshMetrics && (() => refreshMetrics(database, metrics)),
    });
    try {
      await body({
        database,
        log,
        ...metrics && { metrics },
        onTokenUse: uses.record,
        logStarted: (fields) =>
          log.info("started", {
            version: VERSION,
            commit: COMMIT.slice(0, 12) || undefined,
            ...fields,
          }),
      });
    } finally {
      await ops?.close();
      await uses.close();
      await database.close();
    }
  }, metrics);
}

/** Serves readiness and metrics; `null` without a port. @throws {Failure} when it cannot listen */
function startOps(
  database: Database,
  { settings: { OPS_HOST: host, OPS_PORT: port }, metrics, log, checkReady, refreshMetrics }: {
    settings: SettingValues<"OPS_HOST" | "OPS_PORT">;
    metrics: Metrics | undefined;
    log: Log;
    checkReady(): Promise<void>;
    refreshMetrics?: (() => Promise<void>) | undefined;
  },
) {
  if (port === undefined || !metrics) return null;
  database.observe(({ waitedMs, totalMs }) => {
    metrics.observe("database_statement_seconds", totalMs / 1000);
    if (waitedMs !== null) metrics.observe("database_wait_seconds", waitedMs / 1000);
  });
  const server = listenOrFail(
    { host, port, portOption: "--ops-port" },
    () => serveOps({ host, port, metrics, log, checkReady, refreshMetrics }),
  );
  log.info("serving readiness and metrics", { url: server.url });
  return { close: () => server.shutdown() };
}

/** Throws unless the database has the schema of this program. */
export async function checkCurrentSchema({ sql }: Database): Promise<void> {
  const { state, problem } = await checkSchema(sql);
  if (state !== "current") throw new Error(problem ?? `the database schema is ${state}`);
}

/** Throws unless the database can store uploads; it may have become read-only, by a failover or by hand. */
export async function checkWritable({ sql }: Database): Promise<void> {
  if (await isWriterRefused(sql)) throw new Error("the database is read-only");
}

/** Runs tasks until the signal. When one fails, stops the others before throwing its error. */
export async function runTogether(
  signal: AbortSignal,
  start: (stop: AbortSignal) => Promise<unknown>[],
): Promise<void> {
  const failure = new AbortController();
  const tasks = start(AbortSignal.any([signal, failure.signal]));
  try {
    await Promise.all(tasks);
  } catch (error) {
    failure.abort();
    await Promise.allSettled(tasks);
    throw error;
  }
}
