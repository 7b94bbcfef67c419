// Groups of three digits may be separated as any locale does it; the decimal sign is a point. A
// leading zero makes no group: "0,123" is a decimal comma, and not 123 seconds.
const SECONDS = /^\+?(?:[1-9]\d{0,2}(?:[,' \u00a0\u202f]\d{3})+|\d*)(?:\.\d*)?(?:e[+-]?\d+)?$/i;
const SEPARATORS = /[,' \u00a0\u202f]/g;

const ZERO = 0x30;
const NINE = 0x39;
const POINT = 0x2e;

/** Characters of a number that stays exact when it is multiplied by a million. */
const PLAIN_CHARACTERS = 9;
/** Microseconds in the last digit, by how many digits stand behind the point. */
const DIGIT_MICROSECONDS = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1] as const;

/**
 * Microseconds, whole, of a `time` attribute, which is in seconds: 0 when it is missing, unreadable
 * or negative, and never more than the greatest safe integer.
 */
export function parseDuration(time: string | undefined): number {
  if (time === undefined) return 0;
  const plain = plainMicroseconds(time);
  if (plain !== -1) return plain;
  const text = time.trim();
  if (!text || !SECONDS.test(text)) return 0;
  const seconds = Number(text.replace(SEPARATORS, ""));
  // A lone point or exponent passes the pattern and is no number, and neither is what overflows.
  if (!Number.isFinite(seconds)) return 0;
  return Math.min(Math.round(seconds * 1e6), Number.MAX_SAFE_INTEGER);
}

/** The same for what nearly all times are, a few digits and a point; -1 for any other. */
function plainMicroseconds(time: string): number {
  const { length } = time;
  if (length === 0 || length > PLAIN_CHARACTERS) return -1;
  let digits = 0;
  let pointAt = -1;
  for (let at = 0; at < length; at++) {
    const code = time.charCodeAt(at);
    if (code >= ZERO && code <= NINE) digits = digits * 10 + code - ZERO;
    else if (code === POINT && pointAt === -1 && length > 1) pointAt = at;
    else return -1;
  }
  const decimals = pointAt === -1 ? 0 : length - 1 - pointAt;
  const microseconds = DIGIT_MICROSECONDS[decimals];
  return microseconds === undefined ? -1 : digits * microseconds;
}
