// Tests: tests/lib/http/request/parsed_url_test.ts tests/lib/http/request/responses_test.ts
/**
 * The parameters that routes share: schemas that turn the text of a request into a value, or say why
 * it is invalid. An empty parameter is the same as an absent one unless noted.
 */
import * as v from "valibot";
import { ATTEMPT_STATUSES } from "../../analysis/attempts.ts";
import { DURATION_UNITS } from "../../analysis/durations.ts";
import { SLOW_ORDERS } from "../../analysis/slow_downs.ts";
import { TEST_ORDERS } from "../../analysis/order.ts";
import {
  decodeKeysetCursor,
  decodeOffsetCursor,
  decodeRunCursor,
  type RunPosition,
} from "../../base/cursor.ts";
import { organizationUuid } from "../../base/identity.ts";
import {
  MAX_FILTER_CHARACTERS,
  MAX_FILTER_PATTERNS,
  parsePatterns,
  type Patterns,
  type SubmissionFilter,
} from "../../query/submission_filter.ts";
import { MAX_QUERY_CHARACTERS, parseQuery, type Term } from "../../query/parse.ts";
import { quote } from "../../base/quote.ts";
import { readWith } from "../../base/read_with.ts";
import { parseTimestamp } from "../../base/time.ts";
import { parseTimeZone } from "../../base/time_zone.ts";
import type { ParameterErrors } from "./errors.ts";

export const MAX_LIMIT = 100;

/** Parameters as they were sent: the first value of each. */
export type RawParameters = Readonly<Record<string, string>>;

/** Schemas of parameters by name; each turns text into a value. */
export type Entries = Record<string, v.GenericSchema<string | undefined, unknown>>;

export type ParametersSchema = v.ObjectSchema<Entries, undefined>;

/** OpenAPI fields of a parameter in addition to its description. */
export interface ParameterMetadata {
  /** JSON Schema of the value as a client sees it. */
  jsonSchema: Record<string, unknown>;
  example?: string;
  required?: true;
  /** No value is invalid: a 400 does not occur. */
  acceptsAnyText?: true;
}

const TEXT = { type: "string" };

/** `tz`: the time zone of the times on a page; `null` for the service's. */
export const timeZone = parsed(
  (text) => text === "" ? null : parseTimeZone(text),
  "Time zone of the times, as the IANA database names it",
  { jsonSchema: TEXT, example: "Europe/Berlin" },
);

/** `limit`: the page size, at most {@linkcode MAX_LIMIT} unless given. */
export function limit(defaultLimit: number, maxLimit = MAX_LIMIT) {
  return parsed(
    (text) => {
      if (text === "") return defaultLimit;
      const size = /^\d+$/.test(text) ? Number(text) : 0;
      if (size === 0) {
        throw new RangeError(
          `invalid limit ${quote(text)}: expected an integer from 1 to ${maxLimit}`,
        );
      }
      return Math.min(size, maxLimit);
    },
    `Items on a page, ${defaultLimit} by default. More than ${maxLimit} means ${maxLimit}`,
    { jsonSchema: { type: "integer", minimum: 1, default: defaultLimit }, example: "50" },
  );
}

const EXAMPLE_ID = "65f1c0a0d4a86f01c2e35f3a";

/** `after`: `decode` reads the position before the page; `first` is the position of the first page. */
function cursor<T>(decode: (cursor: string) => T, first: T, example: string) {
  return parsed(
    (text) => text === "" ? first : decode(text),
    "Cursor of the page: metadata.after of the page before",
    { jsonSchema: TEXT, example: btoa(example) },
  );
}

/** `after` of submissions: the id of the one before the page. */
export const keysetCursor = cursor<string | null>(decodeKeysetCursor, null, `id:${EXAMPLE_ID}`);

/** `after` of the attempts of a test: the one before the page. */
export const runCursor = cursor<RunPosition | null>(decodeRunCursor, null, `run:${EXAMPLE_ID}:1`);

/** `after` of lists with an offset: the number of items before the page. */
export const offsetCursor = cursor(decodeOffsetCursor, 0, "offset:10");

/** `status` or `conclusion`: the attempts that are listed. */
export function attemptStatus(name: string) {
  return choice(name, ATTEMPT_STATUSES, "Attempts to list; failed: those with failure or error");
}

export const sort = choice(
  "sort",
  TEST_ORDERS,
  "disruptivenessRatio: highest ratio first; recency: latest disruption first. Ties go to the " +
    "latest disruption, then to the smaller id",
);

/** `by`: what durations are of. */
export const durationsBy = choice(
  "by",
  DURATION_UNITS,
  "What is listed: file and class add up the tests of one name in a submission, and leave out tests " +
    "without one",
);

/** `sort` of slow tests. */
export const slowSort = choice(
  "sort",
  SLOW_ORDERS,
  "total: most time in all runs first; median: longest median run first; slower: only tests that " +
    "became slower, the largest increase first. Ties go to the smaller id",
);

/** `as_of`: seconds since 1970; `null` for now. */
export const asOf = parsed(
  (text) => text === "" ? null : parseTimestamp(text),
  "Moment, in RFC 3339 with a zone: only submissions that were recorded and uploaded until then, and in " +
    "the 14 days before, count. The response stays the same while the submissions of that time do",
  {
    jsonSchema: { type: "string", format: "date-time" },
    example: "2026-01-31T08:00:00Z",
  },
);

/** An enumeration: the first word is the default and may be repeated, the second the example. */
export function choice<const Word extends string>(
  name: string,
  words: readonly [Word, Word, ...Word[]],
  description: string,
) {
  const [standard, example] = words;
  const expected = [...new Set(words)];
  return parsed(
    (text) => {
      const chosen = text === "" ? standard : words.find((word) => word === text);
      if (chosen !== undefined) return chosen;
      throw new RangeError(
        `invalid ${name} ${quote(text)}: expected one of ${expected.join(", ")}`,
      );
    },
    description,
    { jsonSchema: { type: "string", enum: expected, default: standard }, example },
  );
}

export const search = described(
  v.pipe(
    v.optional(v.string(), ""),
    v.rawTransform<string, Term[]>(({ dataset, addIssue, NEVER }) => {
      const { terms, errors } = parseQuery(dataset.value);
      for (const message of errors) addIssue({ message });
      return errors.length > 0 ? NEVER : terms;
    }),
  ),
  "Terms separated by white space, which must all match: first-seen:DAY and last-seen:DAY, " +
    "optionally with <, <=, > or >= before the day (UTC, YYYY-MM-DD), for the first and the " +
    "latest disruption ever; tags:TAG,TAG for tests with at least one of the tags; any other " +
    "text must occur in suite, name, file or class, case-insensitively",
  {
    jsonSchema: { type: "string", maxLength: MAX_QUERY_CHARACTERS },
    example: "checkout last-seen:>=2026-01-31",
  },
);

/** Each word is searched in all rows. */
const MAX_WORDS = 10;

/** `q` of pages: words that must all be found, in lower case. */
export function words(description: string, example: string) {
  return parsed(
    (text) => {
      const found = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
      if (text.length > MAX_QUERY_CHARACTERS || found.length > MAX_WORDS) {
        throw new RangeError(
          `expected at most ${MAX_WORDS} words and ${MAX_QUERY_CHARACTERS} characters`,
        );
      }
      // No stored text contains them.
      return found.map((word) => word.replaceAll("\0", "\ufffd").toWellFormed());
    },
    description,
    { jsonSchema: { type: "string", maxLength: MAX_QUERY_CHARACTERS }, example },
  );
}

/** `branch`: the submissions that count. */
export const branch = parsed(
  (text) => parsePatterns(text),
  "Comma-separated branches, in which * stands for any characters: only submissions of these " +
    `branches count. At most ${MAX_FILTER_PATTERNS}`,
  {
    jsonSchema: { type: "string", maxLength: MAX_FILTER_CHARACTERS },
    example: "main,release/*",
  },
);

/** `environment`: the submissions that count. */
export const environment = parsed(
  (text) => parsePatterns(text, "environment"),
  "Comma-separated environments, in which * stands for any characters: only submissions of these " +
    `environments count. At most ${MAX_FILTER_PATTERNS}`,
  {
    jsonSchema: { type: "string", maxLength: MAX_FILTER_CHARACTERS },
    example: "Linux-X64,Windows*",
  },
);

/** `job`: the submissions that count. */
export const job = parsed(
  (text) => parsePatterns(text, "job"),
  "Comma-separated jobs of CI, in which * stands for any characters: only submissions of these jobs " +
    `count. At most ${MAX_FILTER_PATTERNS}`,
  {
    jsonSchema: { type: "string", maxLength: MAX_FILTER_CHARACTERS },
    example: "unit,integration*",
  },
);

/** The parameters that select the submissions that count. */
export const submissionFilter = { branch, environment };

/** The filter of {@linkcode submissionFilter}. */
export function filterOf(
  { branch, environment }: { branch: Patterns; environment: Patterns },
): SubmissionFilter {
  return { branches: branch, environments: environment };
}

const REPOSITORY_MEANING =
  "Repository as name or owner/name, case-insensitive. A name that fits several repositories is an error";

const REPOSITORY_METADATA = {
  jsonSchema: { type: "string", minLength: 1 },
  example: "acme/shop",
};

/** Optional `repository`. Empty is an error: an unset shell variable must not select all. */
export const repository = described(
  v.optional(v.pipe(v.string(), v.nonEmpty("empty repository: expected name or owner/name"))),
  `${REPOSITORY_MEANING}. Without it: all repositories of the organization`,
  REPOSITORY_METADATA,
);

export const requiredRepository = described(
  v.optional(v.pipe(v.string(), v.nonEmpty("missing repository: expected name or owner/name")), ""),
  REPOSITORY_MEANING,
  { ...REPOSITORY_METADATA, required: true },
);

export const repositoryId = described(
  v.optional(v.pipe(
    v.string(),
    v.regex(
      /^\d+$/,
      ({ input }) => `invalid repository_id ${quote(input)}: expected decimal digits`,
    ),
  )),
  "Numeric identifier of the repository. With `repository`, both must name the same one; where " +
    "its name fits several, the identifier decides",
  { jsonSchema: { type: "integer", minimum: 1 }, example: "7" },
);

/** `organization_id`: the dispatcher compares it with the caller's organization. */
export const organizationId = text(
  "Optional; must be the id of the token's own organization, otherwise 404",
  {
    jsonSchema: { type: "string", format: "uuid" },
    example: organizationUuid(1),
  },
);

/** A parameter with any text: `undefined` when absent, `""` when empty. */
export function text(description: string, metadata: ParameterMetadata) {
  return described(v.optional(v.string()), description, { ...metadata, acceptsAnyText: true });
}

/** A parameter that `read` parses, `""` when absent; the message of a SyntaxError or RangeError is shown. */
export function parsed<T>(
  read: (text: string) => T,
  description: string,
  metadata: ParameterMetadata,
) {
  return described(v.optional(readWith(read), ""), description, metadata);
}

/** Adds to a schema what documents the parameter. */
function described<Schema extends v.GenericSchema<string | undefined, unknown>>(
  schema: Schema,
  description: string,
  metadata: ParameterMetadata,
) {
  return v.pipe(schema, v.description(description), v.metadata({ ...metadata }));
}

/** Parses all parameters, or returns all that is wrong with them. */
export function readParameters(raw: RawParameters, schema: ParametersSchema) {
  const result = v.safeParse(schema, raw);
  if (result.success) return { value: result.output };
  return { errors: v.flatten<ParametersSchema>(result.issues).nested as ParameterErrors };
}

/** A variable part of a path, as a parameter. */
export function inPath(description: string, metadata: ParameterMetadata) {
  return described(v.optional(v.string(), ""), description, { ...metadata, required: true });
}
