/** Destinations of log lines: standard error, and telemetry when it is enabled. */
import type { LogLevel } from "../base/log.ts";
import type { Environment } from "../base/config.ts";

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
 * Sends log lines to the runtime's telemetry, by way of the console.
 *
 * @returns `null` unless telemetry replaces the console: it would print on standard output too
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
