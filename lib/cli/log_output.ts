// Tests: tests/lib/cli/commands/serve_test.ts tests/lib/cli/commands/watch_test.ts
/** Destinations of log lines: standard error, and telemetry when it is enabled. */
import type { Environment } from "../base/config.ts";
import { createLog, type Log } from "../base/log.ts";
import type { Metrics } from "../base/metrics.ts";
import type { CliIo } from "./io.ts";
import type { SettingValues } from "./settings.ts";

/** Whether the runtime exports traces and metrics. */
export function isTelemetryOn(environment: Environment): boolean {
  return /^(true|1)$/i.test(environment.OTEL_DENO ?? "");
}

/**
 * Runs `body` with a log. Lines that do not fit into its queue are counted, and the count is logged when
 * there is room again. Lines are exported through the console, but only where telemetry replaces it:
 * otherwise they would also appear on standard output.
 */
export async function withLog(
  io: Pick<CliIo, "environment" | "queueStderr" | "stderrIsTerminal">,
  { LOG_LEVEL, LOG_FORMAT }: SettingValues<"LOG_LEVEL" | "LOG_FORMAT">,
  body: (log: Log) => Promise<void>,
  metrics?: Metrics,
): Promise<void> {
  metrics?.count("log_lines_dropped_total", {}, 0);
  const queue = io.queueStderr({
    onDrop: (count) => metrics?.count("log_lines_dropped_total", {}, count),
    onRoom: (count) => log.warn("log lines dropped", { count }),
  });
  const isTelemetry = isTelemetryOn(io.environment);
  const isExported = isTelemetry && io.environment.OTEL_DENO_CONSOLE === "replace";
  const log = createLog({
    write: (line, level) => {
      queue.add(`${line}\n`, level !== "info");
      // deno-lint-ignore no-console -- the console goes to telemetry, nothing is printed
      if (isExported) console[level](line);
    },
    now: () => Date.now() / 1000,
    level: LOG_LEVEL,
    format: LOG_FORMAT === "auto" ? io.stderrIsTerminal ? "human" : "json" : LOG_FORMAT,
  });
  if (isTelemetry && !isExported) {
    log.warn(
      "log lines are not exported: expected OTEL_DENO_CONSOLE=replace in addition to OTEL_DENO",
    );
  }
  if (isTelemetry && !io.environment.OTEL_EXPORTER_OTLP_TIMEOUT) {
    log.warn(
      "each last export may take 10 s, and an end that takes longer is one by SIGALRM: expected " +
        "OTEL_EXPORTER_OTLP_TIMEOUT=1000 in addition to OTEL_DENO",
    );
  }
  await body(log);
}
