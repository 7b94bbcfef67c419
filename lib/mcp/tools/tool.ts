/** The type of a tool, and schemas that several tools share. */
import * as v from "valibot";
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
  /** @throws {ApiError} */
  run(input: unknown, get: Get): Promise<unknown>;
}

/** Declares a tool by the entries of its input and output. */
export function defineTool<Input extends v.ObjectEntries, Output extends v.ObjectEntries>(
  { input, output, ...tool }: Pick<Tool, "name" | "description"> & {
    input: Input;
    output: Output;
    run(
      input: v.InferOutput<v.StrictObjectSchema<Input, undefined>>,
      get: Get,
    ): Promise<v.InferOutput<v.ObjectSchema<Output, undefined>>>;
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
  return { ...tool, input: schema, output: v.object(output) } as unknown as Tool;
}

/** A schema with the description that agents read. */
export function described<Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return v.pipe(schema, v.description(description));
}

/** An integer with a description. */
export function integer(description: string) {
  return v.pipe(v.number(), v.integer(), v.description(description));
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

/** `owner` and `name` of a repository. */
export const repositoryArguments = {
  owner: repositoryArgument("Before the last slash of owner/name; may contain slashes"),
  name: repositoryArgument("Repository without its owner"),
};

/** `limit` and `after` of a list. */
export function pageArguments(defaultLimit: number) {
  const after = described(v.string(), "next_cursor of the previous page; keep the other arguments");
  return { limit: numberArgument(defaultLimit, 100, "Items"), after: v.optional(after) };
}

export const nextCursor = described(v.nullable(v.string()), "Pass as after; null: last page");

/** A page of the API: the count of all, these fields, and `next_cursor` for its `metadata`. */
export function page<Entries extends v.ObjectEntries>(entries: Entries) {
  const metadata = v.object({ after: v.nullable(v.string()) });
  return v.pipe(
    v.object({ count: v.number(), ...entries, metadata }),
    v.transform(({ metadata, ...found }) => ({ ...found, next_cursor: metadata!.after })),
  );
}

export const timestamp = described(v.string(), "UTC, YYYY-MM-DDTHH:MM:SSZ");

/** Fields that identify a test in its repository. */
export const testEntries = {
  name: v.string(),
  suite: v.string(),
  class: v.string(),
  file: v.string(),
};

export const body = described(
  v.string(),
  "Stack trace as quoted material: each line from the report begins with > ",
);

/** The message for a repository that the API does not know. */
export function unknownRepository(name: string): string {
  return `No repository ${
    JSON.stringify(name)
  } is known to the organization of this token. Name it ` +
    "as owner/name, as in the address of its git remote, or ask list_repositories. If the spelling " +
    "is right, no results were uploaded yet: tell the user.";
}
