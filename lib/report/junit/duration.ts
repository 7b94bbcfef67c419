// Groups of three digits, separated as any locale does it; the decimal sign is a point. A leading zero
// is not a group: "0,123" has a decimal comma and is not 123 seconds.
const GROUPED = /^\+?[1-9]\d{0,2}(?:[,' \u00a0\u202f]\d{3})+(?:\.\d*)?(?:e[+-]?\d+)?$/i;
const SEPARATORS = /[,' \u00a0\u202f]/g;
// Hexadecimal, octal and binary numbers of JavaScript.
const OTHER_BASE = /[xob]/i;

/** Whole microseconds of a `time` in seconds: 0 when it is missing, unreadable or negative. */
export function parseDuration(time: string | undefined): number {
  if (time === undefined) return 0;
  let seconds = Number(time);
  if (Number.isNaN(seconds) && GROUPED.test(time.trim())) {
    seconds = Number(time.trim().replace(SEPARATORS, ""));
  }
  if (!(seconds > 0 && seconds < Infinity) || OTHER_BASE.test(time)) return 0;
  return Math.min(Math.round(seconds * 1e6), Number.MAX_SAFE_INTEGER);
}
