/** Time zones, for times that people read. The program itself calculates in UTC. */
import { valueOr } from "./error.ts";
import { quote } from "./quote.ts";
import {
  formatTimestamp,
  MAX_SECONDS,
  MIN_SECONDS,
  parseTimestamp,
  SECONDS_PER_DAY,
} from "./time.ts";

/** A time zone of the IANA database. */
export interface TimeZone {
  /** As the database spells it, such as `Europe/Berlin`. */
  name: string;
  /** Seconds by which its clocks are ahead of UTC at a moment, in seconds since 1970. */
  offsetAt(seconds: number): number;
}

export const UTC: TimeZone = { name: "UTC", offsetAt: () => 0 };

// The longest name of the database has 32 characters. Temporal would take whole timestamps too.
const NAME = /^(?=.{1,64}$)[a-z][a-z0-9_+-]*(\/[a-z0-9_+-]+)*$/i;

/** Reads the name of a time zone (case-insensitive). @throws {RangeError} when it does not exist */
export function parseTimeZone(text: string): TimeZone {
  if (/^utc$/i.test(text)) return UTC;
  const name = nameOf(text);
  if (name === null) {
    throw new RangeError(
      `invalid time zone ${
        quote(text)
      }: expected a name of the IANA database, such as Europe/Berlin`,
    );
  }
  return { name, offsetAt: (seconds) => zoned(seconds, name).offsetNanoseconds / 1e9 };
}

function nameOf(text: string): string | null {
  return NAME.test(text) ? valueOr(() => zoned(0, text).timeZoneId, null) : null;
}

function zoned(seconds: number, name: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(seconds * 1000).toZonedDateTimeISO(name);
}

/** Seconds since 1970 of what a clock in the zone shows, read as UTC; within the years 0000 to 9999. */
export function localSeconds(seconds: number, { offsetAt }: TimeZone): number {
  return Math.max(MIN_SECONDS, Math.min(MAX_SECONDS, seconds + offsetAt(seconds)));
}

/** The day in a zone, in days since 1970. */
export function localDay(seconds: number, zone: TimeZone): number {
  return Math.floor(localSeconds(seconds, zone) / SECONDS_PER_DAY);
}

/** The day of a timestamp in a zone: `2026-11-22`. */
export function localDate(timestamp: string, zone: TimeZone): string {
  return formatTimestamp(localSeconds(parseTimestamp(timestamp), zone)).slice(0, 10);
}

/** `UTC`, or the difference from it at a moment: `UTC+1`, `UTC−3:30`. */
export function formatOffset(seconds: number, { offsetAt }: TimeZone): string {
  const minutes = Math.round(offsetAt(seconds) / 60);
  if (minutes === 0) return "UTC";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  const detail = rest === 0 ? "" : `:${String(rest).padStart(2, "0")}`;
  return `UTC${minutes > 0 ? "+" : "\u2212"}${hours}${detail}`;
}
