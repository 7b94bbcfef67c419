// Tests: tests/lib/cli/commands/digest_test.ts tests/lib/cli/commands/evidence_test.ts
/** Schemas of values that commands and uploads take as text; their messages quote it. */
import * as v from "valibot";
import { parseTestId } from "./identity.ts";
import { quote } from "./quote.ts";
import { readWith } from "./read_with.ts";
import { parseTimestamp, SECONDS_PER_DAY } from "./time.ts";

const MAX_NAME_CHARACTERS = 200;
// 9999-12-31T23:59:59Z, the last second of RFC 3339.
const LAST_SECOND = 253_402_300_799;
/** A century, which keeps an expiry in the years of four digits. */
export const MAX_LIFETIME_SECONDS = 36_500 * SECONDS_PER_DAY;
const SECONDS_PER_UNIT = { s: 1, m: 60, h: 3600, d: SECONDS_PER_DAY, w: 604_800 };

/** A name: one line without surrounding white space. */
export const lineOfText = readWith((text) => {
  if (text.trim() === "") throw new SyntaxError(`"${text}" is empty: expected text`);
  if (text !== text.trim() || /\p{Cc}/u.test(text)) {
    throw new SyntaxError(
      `${quote(text)} has surrounding white space or control characters: expected one line of text`,
    );
  }
  if (text.length > MAX_NAME_CHARACTERS) {
    throw new RangeError(
      `${quote(text)} has ${text.length} characters: expected at most ${MAX_NAME_CHARACTERS}`,
    );
  }
  return text;
});

/** RFC 3339 with a zone, as seconds since 1970. */
export const timestamp = readWith((text) => {
  const seconds = parseTimestamp(text);
  if (seconds > LAST_SECOND) throw new RangeError(`"${text}" is after the year 9999`);
  return seconds;
});

/** A duration such as `90d`, in seconds. Units: s, m, h, d, w. */
export function duration({ min = 1, max = Infinity }: { min?: number; max?: number } = {}) {
  return readWith((text) => {
    const [, number, unit] = /^(\d{1,9})([smhdw])$/.exec(text) ?? [];
    const seconds = Number(number) * SECONDS_PER_UNIT[unit as keyof typeof SECONDS_PER_UNIT];
    if (!(seconds >= 1)) {
      throw new SyntaxError(
        `invalid duration "${text}": expected a whole number above 0 and a unit (s, m, h, d, w), such as 90d`,
      );
    }
    if (seconds > max) {
      throw new RangeError(`"${text}" is too long: expected at most ${max / SECONDS_PER_UNIT.d}d`);
    }
    if (seconds < min) {
      throw new RangeError(
        `"${text}" is too short: expected at least ${min / SECONDS_PER_UNIT.d}d`,
      );
    }
    return seconds;
  });
}

/** The end of something: a duration from now on, or a timestamp. Returns it for a given `now`. */
export const expiry = v.lazy((text) => {
  if (/^\d+[a-z]$/i.test(String(text))) {
    return v.pipe(
      duration({ max: MAX_LIFETIME_SECONDS }),
      v.transform((seconds) => (now: number) => now + seconds),
    );
  }
  const end = /^\d{4}-/.test(String(text)) ? timestamp : neitherDurationNorTime;
  return v.pipe(end, v.transform((seconds) => () => seconds));
});

const neitherDurationNorTime = readWith<number>((text) => {
  throw new SyntaxError(
    `invalid end ${quote(text)}: expected a duration, such as 14d, or a time, such as ` +
      "2026-01-31T08:00:00Z",
  );
});

export const testIdentifier = readWith((text) => {
  const parts = parseTestId(text);
  if (parts === null) throw new SyntaxError(`invalid test id "${text}": expected 24 hex digits`);
  return parts;
});
