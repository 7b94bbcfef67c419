// Tests: tests/lib/mcp/tools/find_flaky_tests_test.ts tests/lib/mcp/tools/find_slow_tests_test.ts
/** The type of a tool, and schemas that several tools share. */
import * as v from "valibot";
import { ownersOf } from "../../analysis/test_tags.ts";
import type { GetRequest } from "../../api_client/client.ts";

/** Gets a resource of the API for one call of a tool. */
export type Get = <Schema extends v.GenericSchema>(
  request: GetRequest,
  schema: Schema,
) => Promise<v.InferOutput<Schema>>;

export interface Tool {
  name: string;
  /** Written for a model that does not know this product. */
  description: string;
  input: v.GenericSchema;
  output: v.GenericSchema;
  /**
   * @param place.webUrl address of the pages, without a trailing slash
   * @throws {ApiError}
   */
  run(input: unknown, get: Get, place: { webUrl: string }): Promise<object>;
  /** The parts of the path of the page that shows what a call is about. */
  page(input: unknown): readonly string[];
  /** The parameters of that page. */
  pageQuery?(input: unknown): Record<string, string | undefined>;
}

export function defineTool<Input extends v.ObjectEntries, Output extends v.ObjectEntries>(
  { input, output, ...tool }: Pick<Tool, "name" | "description"> & {
    input: Input;
    output: Output;
    run(
      input: v.InferOutput<v.StrictObjectSchema<Input, undefined>>,
      get: Get,
      place: { webUrl: string },
    ): Promise<v.InferOutput<v.ObjectSchema<Output, undefined>>>;
    page(input: v.InferOutput<v.StrictObjectSchema<Input, undefined>>): readonly string[];
    pageQuery?(
      input: v.InferOutput<v.StrictObjectSchema<Input, undefined>>,
    ): Record<string, string | undefined>;
  },
): Tool {
  // Unknown arguments are rejected: a misspelt filter must not be ignored.
  const schema = v.strictObject(
    input,
    ({ expected, received }) =>
      expected === "never"
        ? `unknown argument ${received}: expected ${Object.keys(input).join(", ")}`
        : `missing argument ${expected}`,
  );
  const shown = v.object({ ...output, web_url: v.string() });
  return { ...tool, input: schema, output: shown } as unknown as Tool;
}

/** It also accepts `owner` and `name`, which earlier versions took instead of `repository`. */
export function acceptedInput({ input }: Tool): v.GenericSchema {
  return v.pipe(v.unknown(), v.transform(withRepository), input);
}

function withRepository(input: unknown): unknown {
  if (typeof input !== "object" || input === null) return input;
  if (!("owner" in input) || !("name" in input)) return input;
  const { owner, name, ...rest } = input;
  const repository = `${owner}/${name}`;
  return "repository" in rest && rest.repository !== repository ? input : { ...rest, repository };
}

/**
 * What `acceptedInput` accepts, as clients see it. No argument for the repository is marked as required: either
 * `repository` or `owner` and `name` would take `anyOf`, which model providers reject in the input of a tool.
 */
export function shownInput({ input }: Tool): v.GenericSchema {
  const { entries } = input as v.StrictObjectSchema<v.ObjectEntries, undefined>;
  const { repository, ...rest } = entries;
  if (!repository) return input;
  const part = v.optional(v.pipe(v.string(), v.minLength(1)));
  const shown = v.optional(repository as v.GenericSchema);
  return v.strictObject({ repository: shown, owner: part, name: part, ...rest });
}

/** A schema with the description that agents read. */
export function described<Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return v.pipe(schema, v.description(description));
}

export function integer(description: string) {
  return v.pipe(v.number(), v.integer(), v.description(description));
}

/** An argument that narrows the answer. An empty one, as of an unset variable, must not widen it. */
export function narrowingArgument(name: string, description = "") {
  const message = `invalid ${name} "": give a value or leave it out`;
  const text = v.pipe(
    v.string(),
    v.minLength(1, message),
    v.description(description),
    // A transformation ends what the JSON Schema says.
    v.transform((given) => given.trim()),
    v.minLength(1, message),
  );
  return v.optional(text);
}

/** An argument from 1 to a maximum. */
export function numberArgument(defaultNumber: number, max: number, description: string) {
  const range = v.pipe(integer(description), v.minValue(1), v.maxValue(max));
  return v.optional(range, defaultNumber);
}

/** A repository, as name or owner/name. */
export function repositoryArgument(description: string) {
  const schema = v.pipe(v.string(), v.minLength(1, 'invalid repository "": expected owner/name'));
  return described(schema, description);
}

/** The id of something that another tool lists. */
export function idArgument(source: string) {
  return v.pipe(
    v.string(),
    v.regex(
      /^[0-9a-fA-F]{24}$/,
      ({ received }) => `invalid id ${received}: expected 24 hex digits, ${source}`,
    ),
    v.description(source),
  );
}

/** `owner/name` of a repository, split at the last slash. */
export const repositoryPath = v.pipe(
  v.string(),
  v.regex(
    /^[^/].*\/[^/]+$/,
    ({ received }) =>
      `invalid repository ${received}: expected owner/name, as list_repositories has it`,
  ),
  v.description("Required, or owner and name"),
  v.transform((text) => ({
    owner: text.slice(0, text.lastIndexOf("/")),
    name: text.slice(text.lastIndexOf("/") + 1),
  })),
);

/** `limit` and `after` of a list. */
export function pageArguments(defaultLimit: number) {
  const after = described(v.string(), "next_cursor");
  return { limit: numberArgument(defaultLimit, 100, ""), after: v.optional(after) };
}

/** `null`: last page. */
export const nextCursor = v.nullable(v.string());

/** A page of the API: the count of all, these fields, and `next_cursor` for its `metadata`. */
export function page<Entries extends v.ObjectEntries>(entries: Entries) {
  const metadata = v.object({ after: v.nullable(v.string()) });
  return v.pipe(
    v.object({ count: v.number(), ...entries, metadata }),
    v.transform(({ metadata, ...found }) => ({ ...found, next_cursor: metadata!.after })),
  );
}

/** UTC, `YYYY-MM-DDTHH:MM:SSZ`: the instructions of the server say so. */
export const timestamp = v.string();

/** Fields that identify a test in its repository. */
export const testEntries = {
  name: v.string(),
  suite: v.string(),
  class: v.string(),
  file: v.string(),
};

export const body = described(
  v.string(),
  "Stack trace, quoted",
);

/** The path of the page of a repository: of `owner/name`, or of all with a `name`. */
export function pageOfRepository(repository: string): string[] {
  const slash = repository.lastIndexOf("/");
  const name = repository.slice(slash + 1);
  return slash < 0 ? ["repos", name] : ["repos", repository.slice(0, slash), name];
}

/** The owners of a test. */
export async function loadOwners(get: Get, testId: string): Promise<string[]> {
  const { tags } = await get({ path: ["api", "tests", testId] }, testDetails);
  return ownersOf(tags);
}

const testDetails = v.object({ tags: v.array(v.string()) });

export const DELETED_RUN = "A CI run was deleted while it was read. Call again.";

/** The message for a repository that the API does not know. */
export function unknownRepository(name: string): string {
  return `No repository ${
    JSON.stringify(name)
  } is known to the organization of this token. Name it ` +
    "as owner/name, as in the address of its git remote, or ask list_repositories. If the spelling " +
    "is right, no results were uploaded yet: tell the user.";
}
