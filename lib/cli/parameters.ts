// Tests: tests/lib/cli/commands/backup_test.ts tests/lib/cli/commands/comment_test.ts
/** Arguments and options of commands, and the schemas of their values, whose messages quote them. */
import * as v from "valibot";
import { kebabCase } from "../base/config.ts";
import { readWith } from "../base/read_with.ts";
import { parseRepositoryName } from "../base/repository_name.ts";
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

// PATH_MAX of Linux.
const MAX_LOCATION_CHARACTERS = 4_096;
// Longer input could be the token itself.
const MAX_PREFIX_CHARACTERS = 16;

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

/** The reports of a run of tests. */
export const REPORTS = argument(
  "report files (JUnit, CTRF, TRX, NUnit 3, go test -json), folders (all *.xml below them), or globs",
  v.array(v.string()),
);

/** Whether the reports are attempts. */
export const ATTEMPTS = flag(
  "the REPORTS are attempts of the same tests, given in their order",
);

/** The repository of a command that runs in a CI job. */
export const REPO_OF_JOB = option(
  "<owner/name>",
  "repository (default: from the CI job or checkout)",
  v.optional(repositoryName),
);

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
