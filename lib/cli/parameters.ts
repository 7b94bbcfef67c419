/** Arguments and options of commands, and the schemas of their values, whose messages quote them. */
import * as v from "valibot";
import { kebabCase } from "../base/config.ts";
import { parseTestId } from "../base/identity.ts";
import { readWith } from "../base/read_with.ts";
import { parseRepositoryName } from "../base/repository_name.ts";
import { parseTimestamp, SECONDS_PER_DAY } from "../base/time.ts";
import { parseTokenHash } from "../base/token.ts";

interface Parameter<Schema extends v.GenericSchema = v.GenericSchema> {
  kind: "argument" | "option";
  /** Placeholder of the value of an option, such as `<n>` or `<file...>`; `""` for a flag. */
  value: string;
  meaning: string;
  /** `v.optional`: an empty value counts as absent. `v.undefinedable`: absent, but not empty. */
  schema: Schema;
  /** Left out of `--help`: only for organizations that moved from the earlier service. */
  isHidden?: boolean;
}

/** Parameters by name: `buildUrl` is the option `--build-url`, or the argument BUILD-URL. */
export type Parameters = Readonly<Record<string, Parameter>>;

export type Values<Input extends Parameters> = {
  [Name in keyof Input]: v.InferOutput<Input[Name]["schema"]>;
};

/** Defines an argument; an array is one that takes all that follow. */
export function argument<Schema extends v.GenericSchema>(
  meaning: string,
  schema: Schema,
): Parameter<Schema> {
  return { kind: "argument", value: "", meaning, schema };
}

/** Defines an option. */
export function option<Schema extends v.GenericSchema>(
  value: string,
  meaning: string,
  schema: Schema,
): Parameter<Schema> {
  return { kind: "option", value, meaning, schema };
}

/** An option or argument that `--help` leaves out. */
export function hidden<Schema extends v.GenericSchema>(
  parameter: Parameter<Schema>,
): Parameter<Schema> {
  return { ...parameter, isHidden: true };
}

/** Defines an option without a value, which is false unless given. */
export function flag(meaning: string) {
  return option("", meaning, v.optional(v.boolean(), false));
}

/** Whether a parameter has to be given. */
export function isRequired({ type }: v.GenericSchema): boolean {
  return type !== "optional" && type !== "undefinedable";
}

/** Validates arguments and options. */
export function readInput<Input extends Parameters>(
  parameters: Input,
  { flags, given, problems }: {
    flags: Readonly<Record<string, unknown>>;
    /** The values of the arguments, in their order. */
    given: readonly unknown[];
    problems: string[];
  },
): Values<Input> {
  const values: Record<string, unknown> = {};
  const rest = [...given];
  for (const [name, { kind, value, schema }] of Object.entries(parameters)) {
    const shown = kind === "argument" ? kebabCase(name).toUpperCase() : `--${kebabCase(name)}`;
    let text = kind === "argument" ? rest.shift() : flags[name];
    if (schema.type === "optional" && [text].flat().every(isBlank)) text = undefined;
    if (kind === "option" && text === undefined && isRequired(schema)) {
      problems.push(`missing required option '${`${shown} ${value}`.trimEnd()}'`);
      continue;
    }
    const result = v.safeParse(schema, text);
    problems.push(...(result.issues ?? []).map(({ message }) => `${shown}: ${message}`));
    values[name] = result.output;
  }
  return values as Values<Input>;
}

/** Whether a value counts as absent where the schema is optional. */
export function isBlank(value: unknown): boolean {
  return value === undefined || typeof value === "string" && value.trim() === "";
}

const MAX_NAME_CHARACTERS = 200;
// PATH_MAX of Linux.
const MAX_LOCATION_CHARACTERS = 4_096;
// Longer input could be the token itself.
const MAX_PREFIX_CHARACTERS = 16;
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
      `"${text}" has surrounding white space or control characters: expected one line of text`,
    );
  }
  if (text.length > MAX_NAME_CHARACTERS) {
    throw new RangeError(
      `"${text}" has ${text.length} characters: expected at most ${MAX_NAME_CHARACTERS}`,
    );
  }
  return text;
});

/** A folder or an address. Errors do not quote it, because it may contain a password. */
export const location = readWith((text) => {
  if (text.trim() === "") throw new SyntaxError("found nothing, expected a folder or an address");
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

/** An integer in decimal digits. */
export function wholeNumber({ min, max }: { min: number; max: number }) {
  return readWith((text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) {
      throw new RangeError(`invalid number "${text}": expected an integer from ${min} to ${max}`);
    }
    return value;
  });
}

/** One of a list of words. */
export function oneOf<const Word extends string>(words: readonly Word[]) {
  const message = ({ received }: { received: string }) =>
    `invalid value ${received}: expected one of ${words.join(", ")}`;
  return v.picklist(words, message);
}

/** Purchase units of an organization: legacy tokens need more than 0. */
export const purchaseUnits = wholeNumber({ min: 0, max: 2_147_483_647 });

export const rowId = wholeNumber({ min: 1, max: 2_147_483_647 });

export const repositoryId = wholeNumber({ min: 1, max: Number.MAX_SAFE_INTEGER });

/** A TCP port; 0 means any free port. */
export const port = wholeNumber({ min: 0, max: 65_535 });

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
        `invalid duration "${text}": expected a number above 0 and a unit (s, m, h, d, w), such as 90d`,
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
export const expiry = v.lazy((text) =>
  /^\d+[a-z]$/i.test(String(text))
    ? v.pipe(
      duration({ max: MAX_LIFETIME_SECONDS }),
      v.transform((seconds) => (now: number) => now + seconds),
    )
    : v.pipe(timestamp, v.transform((seconds) => () => seconds))
);

export const testIdentifier = readWith((text) => {
  const parts = parseTestId(text);
  if (parts === null) throw new SyntaxError(`invalid test id "${text}": expected 24 hex digits`);
  return parts;
});

/** The hash of a token of the earlier service. */
export const tokenHash = readWith(parseTokenHash);

/** The first characters of a token, shown in lists. */
export const tokenPrefix = readWith((text) => {
  if (!/^[\x21-\x7e]+$/.test(text) || text.length > MAX_PREFIX_CHARACTERS) {
    throw new SyntaxError(
      `invalid prefix of ${text.length} characters: expected the first characters of the token, ` +
        `at most ${MAX_PREFIX_CHARACTERS}`,
    );
  }
  return text;
});

/** The key of a submission; object storage allows any text. */
export const submissionKey = v.pipe(v.string(), v.minLength(1, `"" is empty: expected a key`));
