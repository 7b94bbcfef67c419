/** Where the log of a service goes: standard error, and telemetry when it is on. */
import type { LogLevel } from "../base/log.ts";
import type { Environment } from "../base/config.ts";

/** Takes the lines of a log. */
export interface LogOutput {
  /** Takes one line, without its end. */
  write(line: string, level: LogLevel): void;
  /** Writes what was taken and is not written yet. */
  flush(): void;
}

// A write of its own for every line would cost a busy service a tenth of its requests. A person who
// watches does not notice the pause, and less than this is lost when the process is killed.
const FLUSH_AFTER_MS = 50;
const FLUSH_AT_CHARACTERS = 32 * 1024;

/** Collects lines and writes many at once; warnings and errors are written at once. */
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
 * Also hands lines to the runtime's telemetry, which takes what is written to the console. Only
 * where the console leads nowhere else, because it would write to standard output too.
 *
 * @returns `null` when telemetry is off, or takes no log lines
 */
export function telemetryOutput(
  environment: Environment,
): ((line: string, level: LogLevel) => void) | null {
  if (!isTelemetryOn(environment) || environment.OTEL_DENO_CONSOLE !== "replace") return null;
  // deno-lint-ignore no-console -- it is the runtime's way into telemetry, and nothing is printed
  return (line, level) => console[level](line);
}

/** Whether the runtime exports traces and metrics. */
export function isTelemetryOn(environment: Environment): boolean {
  return /^(true|1)$/i.test(environment.OTEL_DENO ?? "");
}
