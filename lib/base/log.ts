/**
 * The log: one line per event, `key=value` for people or JSON for programs.
 *
 * Nothing secret is ever passed here: no token, no header, no value of a query.
 */
import { errorCode } from "./error.ts";

/** From the least to the most urgent. */
export const LOG_LEVELS = ["info", "warn", "error"] as const;
export type LogLevel = typeof LOG_LEVELS[number];

/** `human`: a time, a level, a message and `key=value`; `json`: one object a line. */
export const LOG_FORMATS = ["human", "json"] as const;

type LogValue = string | number | boolean | null | undefined;

/** Fields of an event; `undefined` ones are left out. */
export type LogFields = Readonly<Record<string, LogValue>>;

/** Where events go. */
export type Log = Readonly<Record<LogLevel, (message: string, fields?: LogFields) => void>>;

interface LogOptions {
  /** Receives one line, without a line feed. */
  write(line: string, level: LogLevel): void;
  /** Seconds since 1970; fractions are shown in JSON only. */
  now(): number;
  /** Events below it are dropped. */
  level?: LogLevel;
  format?: typeof LOG_FORMATS[number];
}

/**
 * A log that writes lines such as `2026-01-31T08:00:00Z info request status=200`, or
 * `{"time":"2026-01-31T08:00:00.000Z","level":"info","message":"request","status":200}`.
 */
export function createLog({ write, now, level = "info", format = "human" }: LogOptions): Log {
  const at = (lineLevel: LogLevel) => (message: string, fields: LogFields = {}) => {
    if (LOG_LEVELS.indexOf(lineLevel) < LOG_LEVELS.indexOf(level)) return;
    const time = new Date(now() * 1000).toISOString();
    const line: Record<string, LogValue> = { time, level: lineLevel, message };
    for (const [name, value] of Object.entries(fields)) {
      line[name] = typeof value === "string" ? redactTokens(value) : value;
    }
    write(format === "json" ? JSON.stringify(line) : humanLine(line), lineLevel);
  };
  return { info: at("info"), warn: at("warn"), error: at("error") };
}

/** Fields of an error: name, message, code, stack and cause. */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: String(error) };
  const code = errorCode(error) || undefined;
  const cause = error.cause === undefined ? undefined : stackOf(error.cause);
  return { error: `${error.name}: ${error.message}`, code, stack: stackOf(error), cause };
}

function stackOf(error: unknown): string {
  return error instanceof Error && error.stack || String(error);
}

function humanLine({ time, level, message, ...fields }: Record<string, LogValue>): string {
  let line = `${String(time).slice(0, 19)}Z ${level} ${message}`;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    // Quoted where it is ambiguous; a line feed would start another line.
    const isPlain = typeof value !== "string" || /^[\w.:/+@%,~-]+$/.test(value);
    line += ` ${name}=${isPlain ? value : JSON.stringify(value)}`;
  }
  return line;
}

// A token may end up where only names belong. A commit id looks like a legacy token and is redacted
// too.
function redactTokens(text: string): string {
  return text.length < SHORTEST_TOKEN ? text : text.replaceAll(TOKEN, "[redacted]");
}

const SHORTEST_TOKEN = 19;
const TOKEN =
  /(?:tk|up|bd|qt)_[0-9a-f]{16,}|whsec_[A-Za-z0-9+/]{16,}=*|(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])/gi;
