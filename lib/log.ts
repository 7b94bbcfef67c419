/**
 * The log: one line per event, for people and for programs that split lines at `key=value`.
 *
 * Nothing secret is ever passed here: no token, no header, no value of a query.
 */

export type LogLevel = "debug" | "info" | "warn" | "error";

/** What an event is about; `undefined` fields are left out. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Where events go. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export interface LogOptions {
  /** Takes one line, without its end. */
  write(line: string): void;
  /** Whole seconds since 1970. */
  now(): number;
  /** Events below it are dropped; `info` unless given. */
  level?: LogLevel;
}

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** A log that writes lines such as `2026-01-31T08:00:00Z info answered status=200`. */
export function createLog({ write, now, level = "info" }: LogOptions): Log {
  const at = (lineLevel: LogLevel) => {
    if (LEVELS.indexOf(lineLevel) < LEVELS.indexOf(level)) return () => {};
    return (message: string, fields: LogFields = {}) => {
      const time = new Date(now() * 1000).toISOString().slice(0, 19) + "Z";
      write(`${time} ${lineLevel} ${message}${formatFields(fields)}`);
    };
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A log that keeps silent. */
export const silentLog: Log = createLog({ write: () => {}, now: () => 0 });

/** The fields that tell what went wrong: kind, message, code and stack of an error and its causes. */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: String(error) };
  const code = "code" in error ? String(error.code) : undefined;
  const cause = error.cause === undefined ? undefined : stackOf(error.cause);
  return { error: `${error.name}: ${error.message}`, code, stack: stackOf(error), cause };
}

function stackOf(error: unknown): string {
  return error instanceof Error ? error.stack ?? `${error.name}: ${error.message}` : String(error);
}

function formatFields(fields: LogFields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${formatValue(value)}`)
    .join("");
}

// Quoted where a reader could take it for something else; a line end would begin a line of its own.
function formatValue(value: unknown): string {
  const text = redactTokens(String(value));
  return /^[\w.:/+@%,~-]+$/.test(text) ? text : JSON.stringify(text);
}

// Somebody will put a token into a path one day. A commit id looks like a legacy token and goes too.
function redactTokens(text: string): string {
  return text.replace(/tk_[0-9a-f]{16,}|\b[0-9a-f]{40}\b/gi, "[redacted]");
}
