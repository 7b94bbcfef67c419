/** Destinations of log lines: standard error, and telemetry when it is enabled. */
import type { Environment } from "../base/config.ts";
import { createLog, type Log, type LogLevel } from "../base/log.ts";
import type { CliIo } from "./command.ts";
import type { SettingValues } from "./settings.ts";

/** A destination of log lines. */
export interface LogOutput {
  /** Writes a line, given without its line end. */
  write(line: string, level: LogLevel): void;
  /** Writes buffered lines. */
  flush(): void;
}

// One write for each line costs a busy service a tenth of its throughput. A kill loses at most 50 ms.
const FLUSH_AFTER_MS = 50;
const FLUSH_AT_CHARACTERS = 32 * 1024;

/** Buffers lines; warnings and errors are written immediately. */
export function bufferedOutput(write: (text: string) => void): LogOutput {
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
    write(line, level) {
      text += `${line}\n`;
      if (level === "warn" || level === "error" || text.length > FLUSH_AT_CHARACTERS) flush();
      else timer ??= setTimeout(flush, FLUSH_AFTER_MS);
    },
    flush,
  };
}

/**
 * Sends log lines to the runtime's telemetry, by way of the console; `null` unless telemetry
 * replaces the console, which would print on standard output too.
 */
export function telemetryOutput(
  environment: Environment,
): ((line: string, level: LogLevel) => void) | null {
  if (!isTelemetryOn(environment) || environment.OTEL_DENO_CONSOLE !== "replace") return null;
  // deno-lint-ignore no-console -- the console goes to telemetry, nothing is printed
  return (line, level) => console[level](line);
}

/** Whether the runtime exports traces and metrics. */
export function isTelemetryOn(environment: Environment): boolean {
  return /^(true|1)$/i.test(environment.OTEL_DENO ?? "");
}

/** Runs `body` with a log, which is flushed at the end. */
export async function withLog(
  io: CliIo,
  { LOG_LEVEL, LOG_FORMAT }: SettingValues<"LOG_LEVEL" | "LOG_FORMAT">,
  body: (log: Log) => Promise<void>,
): Promise<void> {
  const output = bufferedOutput(io.stderr);
  const telemetry = telemetryOutput(io.environment);
  const log = createLog({
    write: (line, level) => {
      output.write(line, level);
      telemetry?.(line, level);
    },
    now: () => Date.now() / 1000,
    level: LOG_LEVEL,
    format: LOG_FORMAT === "auto" ? io.stderrIsTerminal ? "human" : "json" : LOG_FORMAT,
  });
  if (isTelemetryOn(io.environment) && telemetry === null) {
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
