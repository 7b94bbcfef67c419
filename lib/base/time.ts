/** Conversions between seconds since 1970 (UTC), which the program uses, and text. */

/** Seconds in a day of UTC. */
export const SECONDS_PER_DAY = 24 * 60 * 60;

/** Length of the rolling window of 14 days. */
export const WINDOW_SECONDS = 14 * SECONDS_PER_DAY;

// Outside of these a year does not have four digits.
const FIRST_SECOND = Date.parse("0000-01-01T00:00:00Z") / 1000;
const LAST_SECOND = Date.parse("9999-12-31T23:59:59Z") / 1000;

/** Formats seconds since 1970 as `YYYY-MM-DDTHH:MM:SSZ`. @throws {RangeError} after year 9999 */
export function formatTimestamp(seconds: number): string {
  if (!isWritable(seconds)) {
    throw new RangeError(`invalid time ${seconds}: expected seconds within the years 0000 to 9999`);
  }
  return new Date(seconds * 1000).toISOString().slice(0, 19) + "Z";
}

function isWritable(seconds: number): boolean {
  return seconds >= FIRST_SECOND && seconds <= LAST_SECOND;
}

const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;
const DAYS_OF_MONTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The day `YYYY-MM-DD` in days since 1970; `null` when the calendar has no such day. */
export function parseDay(text: string): number | null {
  const match = DAY.exec(text);
  if (!match) return null;
  const year = Number(match[1]);
  const month = Number(match[2]);
  const day = Number(match[3]);
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const lastDay = (DAYS_OF_MONTHS[month - 1] ?? 0) + (isLeap && month === 2 ? 1 : 0);
  if (day < 1 || day > lastDay) return null;
  // Leap years repeat after 400 years, and `Date.UTC` takes years below 100 for those of 1900.
  return Date.UTC(year + 400, month - 1, day) / 1000 / SECONDS_PER_DAY - DAYS_OF_400_YEARS;
}

const DAYS_OF_400_YEARS = 146_097;

const RFC_3339 = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(Z|z|[+-]\d{2}:\d{2})$/;

/**
 * Reads an RFC 3339 timestamp with a zone as seconds since 1970; fractions are cut. @throws
 * {SyntaxError} for another form, a day or time that does not exist, or one outside the years 0000
 * to 9999 in UTC
 */
export function parseTimestamp(text: string): number {
  const match = RFC_3339.exec(text);
  if (!match) {
    throw new SyntaxError(
      `invalid timestamp "${text}": expected RFC 3339 with a zone, such as 2026-01-31T08:00:00Z`,
    );
  }
  const [, day = "", hours = "", minutes = "", seconds = "", zone = ""] = match;
  const dayNumber = parseDay(day);
  const impossible = dayNumber === null ||
    Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 60 ||
    (zone.length === 6 && (Number(zone.slice(1, 3)) > 23 || Number(zone.slice(4)) > 59));
  if (impossible) {
    throw new SyntaxError(`invalid timestamp "${text}": expected a day and time that exist`);
  }
  const offsetMinutes = zone.length === 1
    ? 0
    : Number(`${zone[0]}1`) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4)));
  // A leap second counts as the last second of its minute.
  const secondOfMinute = Math.min(Number(seconds), 59);
  const moment = dayNumber * SECONDS_PER_DAY + Number(hours) * 3600 +
    (Number(minutes) - offsetMinutes) * 60 + secondOfMinute;
  // The zone can carry the first and last day over the edge.
  if (!isWritable(moment)) {
    throw new SyntaxError(`invalid timestamp "${text}": expected the years 0000 to 9999 in UTC`);
  }
  return moment;
}
