/**
 * What a value on the command line may be: one valibot schema for each kind. They run before
 * anything is opened or written, and their messages quote the value.
 */
import * as v from "valibot";
import { parseTestId } from "../base/identity.ts";
import { parseRepositoryName } from "../base/repository_name.ts";
import { parseTimestamp } from "../base/time.ts";
import { parseTokenHash } from "../base/token.ts";

const MAX_NAME_CHARACTERS = 200;
// As long as a path may be on Linux.
const MAX_LOCATION_CHARACTERS = 4_096;
// A prefix is for telling tokens apart; anything longer could be the token itself.
const MAX_PREFIX_CHARACTERS = 16;
// 9999-12-31T23:59:59Z, the last second that RFC 3339 can write.
const LAST_SECOND = 253_402_300_799;
const SECONDS_PER_UNIT = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Text that is read by a function which throws a SyntaxError or RangeError when it is wrong. */
export function readWith<T>(read: (text: string) => T) {
  return v.pipe(
    v.string(),
    v.rawTransform<string, T>(({ dataset, addIssue, NEVER }) => {
      try {
        return read(dataset.value);
      } catch (error) {
        if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
        addIssue({ message: error.message });
        return NEVER;
      }
    }),
  );
}

/** A name of something: one line, no white space around it. */
export const lineOfText = readWith((text) => {
  if (text.trim() === "") throw new SyntaxError(`"${text}" is empty: expected a text`);
  if (text !== text.trim() || /\p{Cc}/u.test(text)) {
    throw new SyntaxError(
      `"${text}" has white space around it or control characters: expected one line of text`,
    );
  }
  if (text.length > MAX_NAME_CHARACTERS) {
    throw new RangeError(
      `"${text}" has ${text.length} characters: expected at most ${MAX_NAME_CHARACTERS}`,
    );
  }
  return text;
});

/** A folder or an address. Its errors do not quote it: it may hold a password. */
export const location = readWith((text) => {
  if (text.trim() === "") throw new SyntaxError("expected a folder or an address, found nothing");
  if (/\p{Cc}/u.test(text)) throw new SyntaxError("expected one line of text");
  if (text.length > MAX_LOCATION_CHARACTERS) {
    throw new RangeError(
      `${text.length} characters: expected at most ${MAX_LOCATION_CHARACTERS}`,
    );
  }
  return text;
});

/** `OWNER/NAME`, split at the last slash. */
export const repositoryName = readWith(parseRepositoryName);

/** A whole number in decimal digits. */
export function wholeNumber({ min, max }: { min: number; max: number }) {
  return readWith((text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) {
      throw new RangeError(`"${text}" is out of range: expected a whole number, ${min} to ${max}`);
    }
    return value;
  });
}

/** One of some words. */
export function oneOf<const Word extends string>(words: readonly Word[]) {
  return readWith((text): Word => {
    const word = words.find((each) => each === text);
    if (word === undefined) throw new RangeError(`"${text}" is none of ${words.join(", ")}`);
    return word;
  });
}

/** `true` or `false`; an option that takes no value is `true` when it is given. */
export const yesOrNo = v.lazy((given) =>
  given === true ? v.literal(true) : v.pipe(
    oneOf(["true", "false"]),
    v.transform((word) => word === "true"),
  )
);

/** Purchase units: what the plan gate of legacy tokens looks at. */
export const purchaseUnits = wholeNumber({ min: 0, max: 2_147_483_647 });

/** A number that PostgreSQL gave a row. */
export const rowId = wholeNumber({ min: 1, max: 2_147_483_647 });

/** The numeric identifier of a repository. */
export const repositoryId = wholeNumber({ min: 1, max: Number.MAX_SAFE_INTEGER });

/** A TCP port, 0 for any that is free. */
export const port = wholeNumber({ min: 0, max: 65_535 });

/** RFC 3339 with a zone, as seconds since 1970. */
export const timestamp = readWith((text) => {
  const seconds = parseTimestamp(text);
  if (seconds > LAST_SECOND) throw new RangeError(`"${text}" is after the year 9999`);
  return seconds;
});

/** A length of time such as `90d`, in seconds. Units: s, m, h, d, w. */
export const duration = readWith(parseDuration);

/** A length of time of at most `max` seconds. */
export function durationUpTo(max: number) {
  return readWith((text) => {
    const seconds = parseDuration(text);
    if (seconds > max) throw new RangeError(`"${text}" is too long: expected at most ${max}s`);
    return seconds;
  });
}

/**
 * A length of time of at least some days.
 *
 * @param options.what what lasts so long, for the error
 */
export function durationOfDays({ min, what }: { min: number; what: string }) {
  return readWith((text) => {
    const seconds = parseDuration(text);
    if (seconds < min * SECONDS_PER_UNIT.d) {
      throw new RangeError(`"${text}" is shorter than ${what}: expected at least ${min}d`);
    }
    return seconds;
  });
}

function parseDuration(text: string): number {
  const match = /^(\d{1,9})([smhdw])$/.exec(text);
  const seconds = Number(match?.[1]) *
    SECONDS_PER_UNIT[match?.[2] as keyof typeof SECONDS_PER_UNIT];
  if (!match || seconds < 1) {
    throw new SyntaxError(
      `"${text}" is no length of time: expected a number and a unit, such as 90d (s, m, h, d, w)`,
    );
  }
  return seconds;
}

/**
 * The moment that lies a length of time after another, in seconds since 1970.
 *
 * @throws {RangeError} when it is after the year 9999
 */
export function momentAfter(now: number, seconds: number): number {
  if (now + seconds > LAST_SECOND) throw new RangeError("expected a moment before the year 10000");
  return now + seconds;
}

/** The id of a test, split into its two parts. */
export const testIdentifier = readWith((text) => {
  const parts = parseTestId(text);
  if (parts === null) throw new SyntaxError(`"${text}" is no test id: expected 24 hex digits`);
  return parts;
});

/** The hash of a token of the earlier service. */
export const tokenHash = readWith(parseTokenHash);

/** The first characters of a token, to tell it from others in lists. */
export const tokenPrefix = readWith((text) => {
  if (!/^[\x21-\x7e]+$/.test(text) || text.length > MAX_PREFIX_CHARACTERS) {
    throw new SyntaxError(
      `${text.length} characters that are no prefix: expected the first characters of the token, ` +
        `at most ${MAX_PREFIX_CHARACTERS}`,
    );
  }
  return text;
});

/** The key of a submission: whatever its object storage allows, so only emptiness is wrong. */
export const submissionKey = v.pipe(v.string(), v.minLength(1, `"" is empty: expected a key`));
