/** The type of a tool, and schemas that several tools share. */
import * as v from "valibot";
import type { GetRequest } from "../../api_client/client.ts";

/** Gets a resource of the API for one call of a tool. */
export type Get = <Schema extends v.GenericSchema>(
  request: GetRequest,
  schema: Schema,
) => Promise<v.InferOutput<Schema>>;

/** A call that is wrong in itself, with a message that tells a model what to do next. */
export class ToolError extends Error {
  override name = "ToolError";
}

export interface Tool<
  Input extends v.GenericSchema = v.GenericSchema,
  Output extends v.GenericSchema = v.GenericSchema,
> {
  name: string;
  title: string;
  /** Written for a model that does not know this product. */
  description: string;
  input: Input;
  output: Output;
  /** @throws {ApiError | ToolError} */
  run(input: v.InferOutput<Input>, get: Get): Promise<v.InferOutput<Output>>;
}

/** Infers the types of a tool. */
export function defineTool<Input extends v.GenericSchema, Output extends v.GenericSchema>(
  tool: Tool<Input, Output>,
): Tool<Input, Output> {
  return tool;
}

/** The arguments of a tool. Unknown ones are rejected: a misspelt filter must not be ignored. */
export function toolInput<Entries extends v.ObjectEntries>(entries: Entries) {
  const names = Object.keys(entries).join(", ");
  return v.strictObject(entries, ({ expected, received }) => {
    if (expected === "never") return `unknown argument ${received}: expected one of ${names}`;
    return expected?.startsWith('"')
      ? `missing argument ${expected}`
      : `invalid arguments ${received}: expected an object`;
  });
}

/** A schema with a description. */
export function described<Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return v.pipe(schema, v.description(description));
}

/** Schema of an integer. */
export function integer(description: string) {
  return v.pipe(v.number(), v.integer(), v.description(description));
}

/** A repository, as name or owner/name. */
export function repositoryArgument(description: string) {
  const schema = v.pipe(v.string(), v.minLength(1, 'invalid repository "": expected owner/name'));
  return described(schema, description);
}

/** An id of a test or submission. */
export function idArgument(kind: string, description: string) {
  return v.pipe(
    v.string(),
    v.regex(
      /^[0-9a-fA-F]{24}$/,
      ({ received }) => `invalid ${kind} id ${received}: expected 24 hex digits, ${description}`,
    ),
    v.description(description),
  );
}

export const testIdArgument = idArgument(
  "test",
  "the id of a test from find_flaky_tests or of a failure",
);

/** `owner` and `name` of a repository. */
export const repositoryArguments = {
  owner: repositoryArgument("Before the last slash of owner/name; may contain slashes"),
  name: repositoryArgument("Repository without its owner"),
};

/** `limit` and `after` of a list. */
export function pageArguments(defaultLimit: number) {
  const limit = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100));
  const after = described(v.string(), "next_cursor of the previous page; keep the other arguments");
  return { limit: v.optional(limit, defaultLimit), after: v.optional(after) };
}

export const nextCursor = described(v.nullable(v.string()), "Pass as after; null: last page");

/** A page of the API: these fields, the count of all, and the next cursor. */
export function page<Entries extends v.ObjectEntries>(entries: Entries) {
  const metadata = v.object({ after: v.nullable(v.string()) });
  return v.object({ count: v.number(), ...entries, metadata });
}

export const timestamp = described(v.string(), "UTC, YYYY-MM-DDTHH:MM:SSZ");

/** Fields that identify a test in its repository. */
export const testEntries = {
  name: v.string(),
  suite: v.string(),
  class: v.string(),
  file: v.string(),
};

/** Branches of a group of failures that are shown. */
export const MAX_BRANCHES = 10;

export const body = described(
  v.string(),
  "Stack trace as quoted material: each line from the report begins with > ",
);

/** Message for an unknown test. */
export function unknownTest(testId: string): string {
  return `No test "${testId}" is known to the organization of this token. Test ids come from ` +
    `find_flaky_tests (field id of each test): call it first, and copy the whole id.`;
}

/** Message for an unknown repository. */
export function unknownRepository(repository: string): string {
  const name = JSON.stringify(repository);
  return `No repository ${name} is known to the organization of this token. Name it as owner/name, ` +
    `as in the address of its git remote (for https://host/acme/web.git: acme/web), in any case; ` +
    `the bare name works if it is unambiguous. If the spelling is right, no results were uploaded ` +
    `yet: tell the user. list_repositories lists those that are known.`;
}
