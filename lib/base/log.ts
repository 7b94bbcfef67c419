/**
 * The log: one line per event, `key=value` for people or JSON for programs.
 *
 * Nothing secret is ever passed here: no token, no header, no value of a query.
 */

/** From the least to the most urgent. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = typeof LOG_LEVELS[number];

/** `human`: a time, a level, a message and `key=value`; `json`: one object a line. */
export const LOG_FORMATS = ["human", "json"] as const;
export type LogFormat = typeof LOG_FORMATS[number];

/** Fields of an event; `undefined` ones are left out. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Where events go. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

interface LogOptions {
  /** Receives one line, without a line feed. */
  write(line: string, level: LogLevel): void;
  /** Seconds since 1970; fractions are shown in JSON only. */
  now(): number;
  /** Events below it are dropped. */
  level?: LogLevel;
  format?: LogFormat;
}

/**
 * A log that writes lines such as `2026-01-31T08:00:00Z info answered status=200`, or
 * `{"time":"2026-01-31T08:00:00.000Z","level":"info","message":"answered","status":200}`.
 */
export function createLog({ write, now, level = "info", format = "human" }: LogOptions): Log {
  const line = format === "json" ? jsonLine : humanLine;
  const at = (lineLevel: LogLevel) => {
    if (LOG_LEVELS.indexOf(lineLevel) < LOG_LEVELS.indexOf(level)) return () => {};
    return (message: string, fields: LogFields = {}) => {
      const time = new Date(now() * 1000).toISOString();
      write(line(time, lineLevel, message, fields), lineLevel);
    };
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A log that drops everything. */
export const silentLog: Log = createLog({ write: () => {}, now: () => 0 });

/** Fields of an error: name, message, code, stack and cause. */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: String(error) };
  const code = "code" in error ? String(error.code) : undefined;
  const cause = error.cause === undefined ? undefined : stackOf(error.cause);
  return { error: `${error.name}: ${error.message}`, code, stack: stackOf(error), cause };
}

function stackOf(error: unknown): string {
  return error instanceof Error ? error.stack ?? `${error.name}: ${error.message}` : String(error);
}

function humanLine(time: string, level: LogLevel, message: string, fields: LogFields): string {
  let line = `${time.slice(0, 19)}Z ${level} ${message}`;
  for (const [key, value] of Object.entries(fields)) {
    if (value !== undefined) line += ` ${key}=${humanValue(value)}`;
  }
  return line;
}

// Quoted where it is ambiguous; a line feed would start another line.
function humanValue(value: string | number | boolean | null): string {
  if (typeof value !== "string") return String(value);
  const text = redactTokens(value);
  return /^[\w.:/+@%,~-]+$/.test(text) ? text : JSON.stringify(text);
}

function jsonLine(time: string, level: LogLevel, message: string, fields: LogFields): string {
  const line: Record<string, LogFields[string]> = { time, level, message };
  for (const [key, value] of Object.entries(fields)) {
    line[key] = typeof value === "string" ? redactTokens(value) : value;
  }
  return JSON.stringify(line);
}

// A token may end up where only names belong. A commit id looks like a legacy token and is redacted
// too.
function redactTokens(text: string): string {
  return text.length < SHORTEST_TOKEN ? text : text.replaceAll(TOKEN, "[redacted]");
}

const SHORTEST_TOKEN = 19;
const TOKEN = /(?:tk|up|bd)_[0-9a-f]{16,}|(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])/gi;
