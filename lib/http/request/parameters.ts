/**
 * The query parameters that routes share: each turns the text of a request into a value, or says
 * what is wrong with it. An absent parameter and an empty one are the same unless said otherwise.
 */
import * as v from "valibot";
import { TEST_ORDERS, type TestOrder } from "../../analysis/order.ts";
import { decodeKeysetCursor, decodeOffsetCursor, MAX_OFFSET } from "../../base/cursor.ts";
import { MAX_QUERY_CHARACTERS, parseQuery, type Query } from "../../query/mod.ts";
import { quote } from "../../base/quote.ts";
import type { ParameterErrors } from "./errors.ts";
import type { ParametersSchema, RawParameters } from "./route.ts";

/** Items on a page at most. */
export const MAX_LIMIT = 100;

/** What the machine-readable contract says of a parameter beside its description. */
export interface ParameterMetadata {
  /** JSON Schema of the text as a client thinks of it. */
  jsonSchema: Record<string, unknown>;
  example?: string;
  required?: true;
}

const NO_PARAMETERS = {};

/** For routes that take none. */
export const noParameters: ParametersSchema = v.object(NO_PARAMETERS);

/** Parameters of the path of a repository's resources. */
export const repositoryPathParameters = v.object({
  owner: pathParameter(
    "Owner of the repository, in any case. A slash in it (GitLab groups) is written %2F",
    { jsonSchema: { type: "string" }, example: "acme" },
  ),
  name: pathParameter("Name of the repository, in any case", {
    jsonSchema: { type: "string" },
    example: "shop",
  }),
});

/** Parameters of the path of a test's resources. */
export const testPathParameters = v.object({
  id: pathParameter("Id of the test, as the lists of tests give it, in any case", {
    jsonSchema: { type: "string", pattern: "^[0-9a-fA-F]{24}$" },
    example: "5f3a9c0e7b12d4a86f01c2e3",
  }),
});

/** `limit`: how many items a page has. */
export function limitParameter(defaultLimit: number) {
  return optionalParameter(
    (text) => {
      if (text === "") return defaultLimit;
      const limit = /^\d+$/.test(text) ? Number(text) : 0;
      if (limit === 0) {
        throw new RangeError(`${quote(text)} is no page size: expected a whole number from 1`);
      }
      return Math.min(limit, MAX_LIMIT);
    },
    `Items on a page, ${defaultLimit} unless given. More than ${MAX_LIMIT} means ${MAX_LIMIT}`,
    { jsonSchema: { type: "integer", minimum: 1, default: defaultLimit }, example: "50" },
  );
}

/** `after` of the list of submissions: the submission before the page, `null` for the first one. */
export const keysetCursorParameter = optionalParameter(
  (text) => text === "" ? null : decodeKeysetCursor(text),
  "Where the page begins: metadata.after of the page before",
  { jsonSchema: { type: "string" }, example: btoa("id:65f1c0a0d4a86f01c2e35f3a") },
);

/** `after` of lists of tests: how many tests come before the page. */
export const offsetCursorParameter = optionalParameter(
  (text) => text === "" ? 0 : decodeOffsetCursor(text),
  `Where the page begins: metadata.after of the page before, at most offset ${MAX_OFFSET}`,
  { jsonSchema: { type: "string" }, example: btoa("offset:10") },
);

/** `sort` of lists of tests. */
export const sortParameter = optionalParameter(
  (text): TestOrder => {
    const order = text === "" ? TEST_ORDERS[0] : TEST_ORDERS.find((one) => one === text);
    if (!order) {
      throw new TypeError(`${quote(text)} is no order: expected ${TEST_ORDERS.join(" or ")}`);
    }
    return order;
  },
  "disruptivenessRatio: greatest ratio first; recency: latest disruption first. Ties go to the " +
    "latest disruption, then to the smaller id",
  {
    jsonSchema: { type: "string", enum: TEST_ORDERS, default: TEST_ORDERS[0] },
    example: TEST_ORDERS[1],
  },
);

/** `q` of lists of tests. */
export const searchParameter = v.pipe(
  v.optional(v.string(), ""),
  v.rawTransform<string, Query>(({ dataset, addIssue, NEVER }) => {
    const { query, errors } = parseQuery(dataset.value);
    if (query) return query;
    for (const message of errors) addIssue({ message });
    return NEVER;
  }),
  v.description(
    "Terms with white space between them, which must all match: first-seen:DAY and last-seen:DAY " +
      "with none or one of <, <=, >, >= before the day (UTC, YYYY-MM-DD) of the first and the " +
      "latest disruption ever; tags:TAG,TAG for tests with at least one of the tags; any other " +
      "text must occur in suite, name, file or class, in any case",
  ),
  v.metadata(
    {
      jsonSchema: { type: "string", maxLength: MAX_QUERY_CHARACTERS },
      example: "checkout last-seen:>=2026-01-31",
    } satisfies ParameterMetadata,
  ),
);

const REPOSITORY_MEANING =
  "Repository as name or owner/name, in any case. A name that several repositories share is an error";

/** `repository` where it may be left out: an unset variable of a script must not select all. */
export const repositoryParameter = v.pipe(
  v.optional(v.pipe(v.string(), v.check((text) => text !== "", emptyRepository))),
  v.description(`${REPOSITORY_MEANING}. Without it: all repositories of the organization`),
  v.metadata(
    {
      jsonSchema: { type: "string", minLength: 1 },
      example: "acme/shop",
    } satisfies ParameterMetadata,
  ),
);

/** `repository` where it must be given. */
export const requiredRepositoryParameter = v.pipe(
  v.optional(v.string(), ""),
  v.check((text) => text !== "", emptyRepository),
  v.description(REPOSITORY_MEANING),
  v.metadata(
    {
      jsonSchema: { type: "string", minLength: 1 },
      example: "acme/shop",
      required: true,
    } satisfies ParameterMetadata,
  ),
);

/** `repository_id`: the number that a repository got on creation. */
export const repositoryIdParameter = v.pipe(
  v.optional(v.pipe(v.string(), v.regex(/^\d+$/, (issue) => wrongRepositoryId(issue.input)))),
  v.description("Numeric identifier of the repository. With `repository`, both must name the same"),
  v.metadata(
    {
      jsonSchema: { type: "integer", minimum: 1 },
      example: "7",
    } satisfies ParameterMetadata,
  ),
);

/** A parameter of any text; a missing one is `undefined`, an empty one `""`. */
export function textParameter(description: string, metadata: ParameterMetadata) {
  return v.pipe(v.optional(v.string()), v.description(description), v.metadata({ ...metadata }));
}

/** A parameter that `read` makes a value of; it throws what is wrong, and `""` is an absent one. */
export function optionalParameter<T>(
  read: (text: string) => T,
  description: string,
  metadata: ParameterMetadata,
) {
  return v.pipe(
    v.optional(v.string(), ""),
    v.rawTransform<string, T>(({ dataset, addIssue, NEVER }) => {
      try {
        return read(dataset.value);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        addIssue({ message: error.message });
        return NEVER;
      }
    }),
    v.description(description),
    v.metadata({ ...metadata }),
  );
}

/** The parameters that a schema knows: the first value of each, others are left out. */
export function rawParameters(search: URLSearchParams, schema: ParametersSchema): RawParameters {
  const raw: Record<string, string> = {};
  for (const name of Object.keys(schema.entries)) {
    const value = search.get(name);
    if (value !== null) raw[name] = value;
  }
  return raw;
}

/** Reads all parameters, or tells everything that is wrong with them. */
export function readParameters(
  raw: RawParameters,
  schema: ParametersSchema,
): { value: unknown; errors?: undefined } | { value?: undefined; errors: ParameterErrors } {
  const result = v.safeParse(schema, raw);
  if (result.success) return { value: result.output };
  const errors: ParameterErrors = {};
  for (const issue of result.issues) {
    const name = String(issue.path?.[0].key);
    (errors[name] ??= []).push(issue.message);
  }
  return { errors };
}

function pathParameter(description: string, metadata: ParameterMetadata) {
  return v.pipe(
    v.optional(v.string(), ""),
    v.description(description),
    v.metadata({ ...metadata, required: true }),
  );
}

function emptyRepository(): string {
  return '"" is no repository: expected its name, or owner/name';
}

function wrongRepositoryId(text: string): string {
  return `${quote(text)} is no identifier: expected decimal digits`;
}
