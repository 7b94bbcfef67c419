// Groups of three digits may be separated as any locale does it; the decimal sign is a point. A
// leading zero makes no group: "0,123" is a decimal comma, and not 123 seconds.
const SECONDS = /^\+?(?:[1-9]\d{0,2}(?:[,' \u00a0\u202f]\d{3})+|\d*)(?:\.\d*)?(?:e[+-]?\d+)?$/i;
const SEPARATORS = /[,' \u00a0\u202f]/g;

/**
 * Microseconds, whole, of a `time` attribute, which is in seconds: 0 when it is missing, unreadable
 * or negative, and never more than the greatest safe integer.
 */
export function parseDuration(time: string | undefined): number {
  const text = time?.trim();
  if (!text || !SECONDS.test(text)) return 0;
  const seconds = Number(text.replace(SEPARATORS, ""));
  // A lone point or exponent passes the pattern and is no number, and neither is what overflows.
  if (!Number.isFinite(seconds)) return 0;
  return Math.min(Math.round(seconds * 1e6), Number.MAX_SAFE_INTEGER);
}
