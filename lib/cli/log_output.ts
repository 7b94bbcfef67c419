/** Destinations of log lines: standard error, and telemetry when it is enabled. */
import type { Environment } from "../base/config.ts";
import { createLog, type Log, type LogLevel } from "../base/log.ts";
import type { CliIo } from "./command.ts";
import type { SettingValues } from "./settings.ts";

// One write for each line costs a busy service a tenth of its throughput. A kill loses at most 50 ms.
const FLUSH_AFTER_MS = 50;
const FLUSH_AT_CHARACTERS = 32 * 1024;

/**
 * Buffers lines, which are given without their line ends, until `flush`; warnings and errors are written
 * immediately.
 */
export function bufferedOutput(write: (text: string) => void) {
  let text = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const all = text;
    text = "";
    if (all !== "") write(all);
  };
  return {
    write(line: string, level: LogLevel) {
      text += `${line}\n`;
      if (level === "warn" || level === "error" || text.length > FLUSH_AT_CHARACTERS) flush();
      else timer ??= setTimeout(flush, FLUSH_AFTER_MS);
    },
    flush,
  };
}

/** Whether the runtime exports traces and metrics. */
export function isTelemetryOn(environment: Environment): boolean {
  return /^(true|1)$/i.test(environment.OTEL_DENO ?? "");
}

/**
 * Runs `body` with a log, which is flushed at the end. Lines are exported through the console, but only
 * where telemetry replaces it: otherwise they would also appear on standard output.
 */
export async function withLog(
  io: CliIo,
  { LOG_LEVEL, LOG_FORMAT }: SettingValues<"LOG_LEVEL" | "LOG_FORMAT">,
  body: (log: Log) => Promise<void>,
): Promise<void> {
  const output = bufferedOutput(io.stderr);
  const isTelemetry = isTelemetryOn(io.environment);
  const isExported = isTelemetry && io.environment.OTEL_DENO_CONSOLE === "replace";
  const log = createLog({
    write: (line, level) => {
      output.write(line, level);
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
  // For an exit after the second signal.
  globalThis.addEventListener("unload", output.flush);
  try {
    await body(log);
  } finally {
    globalThis.removeEventListener("unload", output.flush);
    output.flush();
  }
}
