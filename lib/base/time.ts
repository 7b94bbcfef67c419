/** Conversions between seconds since 1970 (UTC), which the program uses, and text. */

export const SECONDS_PER_DAY = 24 * 60 * 60;

export const SECONDS_PER_WEEK = 7 * SECONDS_PER_DAY;

/** Length of the rolling window of 14 days. */
export const WINDOW_SECONDS = 14 * SECONDS_PER_DAY;

/** The first second of year 0000 and the last of year 9999, which have four digits. */
export const MIN_SECONDS = -62_167_219_200;
export const MAX_SECONDS = 253_402_300_799;

/** Formats seconds since 1970 as `YYYY-MM-DDTHH:MM:SSZ`. @throws {RangeError} after year 9999 */
export function formatTimestamp(seconds: number): string {
  if (isWritable(seconds)) return new Date(seconds * 1000).toISOString().slice(0, 19) + "Z";
  throw new RangeError(`invalid time ${seconds}: expected seconds within the years 0000 to 9999`);
}

/**
 * The week of a day, counted back from today: 0 for the last seven days, and for later ones, because `recorded_at` may
 * be 24 hours ahead. Days are since 1970.
 */
export function weeksAgo(day: number, today: number): number {
  return Math.max(0, Math.floor((today - day) / 7));
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Formats days since 1970: `22 Nov`. */
export function formatDay(day: number): string {
  const date = new Date(day * SECONDS_PER_DAY * 1000);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;
}

/** A timestamp, `null` when there is none. */
export function timestampOrNull(seconds: number | null): string | null {
  return seconds === null ? null : formatTimestamp(seconds);
}

/** Whether the year has four digits. */
function isWritable(seconds: number): boolean {
  return seconds >= MIN_SECONDS && seconds <= MAX_SECONDS;
}

/** The day `YYYY-MM-DD` in days since 1970; `null` when the calendar has no such day. */
export function parseDay(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const seconds = instantOf(`${text}T00:00:00Z`);
  return seconds === null ? null : seconds / SECONDS_PER_DAY;
}

const RFC_3339 = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.\d+)?(Z|z|[+-]\d{2}:\d{2})$/;

/**
 * Reads an RFC 3339 timestamp with a zone as seconds since 1970; fractions are cut, and a leap second
 * counts as the last second of its minute.
 * @throws {SyntaxError} for another form, a day or time that does not exist, or a year outside of 0000
 * to 9999 in UTC
 */
export function parseTimestamp(text: string): number {
  const [, day, time, zone] = RFC_3339.exec(text) ?? [];
  const seconds = instantOf(`${day}T${time}${zone}`);
  // The zone can carry the first and last day over the edge.
  if (seconds !== null && isWritable(seconds)) return seconds;
  throw new SyntaxError(
    `invalid timestamp "${text}": expected a day and time that exist, in RFC 3339 with a zone, such ` +
      "as 2026-01-31T08:00:00Z",
  );
}

/** Seconds since 1970; `null` for a day or time that does not exist. `Date` would carry it over. */
function instantOf(text: string): number | null {
  try {
    return Temporal.Instant.from(text).epochMilliseconds / 1000;
  } catch {
    return null;
  }
}
