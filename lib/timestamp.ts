/**
 * Time inside the program is a whole number of seconds since 1970 (UTC); outside it is text. This
 * is the only place where one becomes the other.
 */

/** Seconds in the least time that every list looks back: the rolling window of 14 days. */
export const WINDOW_SECONDS = 14 * 24 * 60 * 60;

/**
 * Formats seconds since 1970 as `YYYY-MM-DDTHH:MM:SSZ`.
 *
 * @throws {RangeError} when the seconds are no time that ISO 8601 can write
 */
export function formatTimestamp(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 19) + "Z";
}

/** The day (UTC) of a moment, as `YYYY-MM-DD`. */
export function dayOf(seconds: number): string {
  return formatTimestamp(seconds).slice(0, 10);
}

const RFC_3339 = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(Z|z|[+-]\d{2}:\d{2})$/;

/**
 * Reads an RFC 3339 time stamp with a zone, such as `2026-01-31T08:00:00+01:00`, as seconds since
 * 1970. A fraction of a second is cut.
 *
 * @throws {SyntaxError} when the text has another form or names no moment of the calendar
 */
export function parseTimestamp(text: string): number {
  const match = RFC_3339.exec(text);
  if (!match) {
    throw new SyntaxError(
      `"${text}" is no time stamp: expected RFC 3339 with a zone, such as 2026-01-31T08:00:00Z`,
    );
  }
  const [, day = "", hours = "", minutes = "", seconds = "", zone = ""] = match;
  const midnight = Date.parse(`${day}T00:00:00Z`);
  const impossible = Number.isNaN(midnight) ||
    new Date(midnight).toISOString().slice(0, 10) !== day ||
    Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 60 ||
    (zone.length === 6 && (Number(zone.slice(1, 3)) > 23 || Number(zone.slice(4)) > 59));
  if (impossible) throw new SyntaxError(`"${text}" is no moment of the calendar`);
  const offsetMinutes = zone.length === 1
    ? 0
    : Number(`${zone[0]}1`) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4)));
  // A leap second counts as the last second of its minute.
  const secondOfMinute = Math.min(Number(seconds), 59);
  return midnight / 1000 + Number(hours) * 3600 + (Number(minutes) - offsetMinutes) * 60 +
    secondOfMinute;
}
