/** The type of a tool, and what several tools share. */
import * as v from "valibot";
import type { Api } from "../api_client.ts";
import { BadRequestError, NotFoundError } from "../tool_error.ts";

/** Passed to every call of a tool. */
export interface ToolContext {
  api: Api;
  /** Base address of the service, for messages. */
  baseUrl: string;
  /** Aborted when the client cancels the call. */
  signal: AbortSignal;
}

/** A tool. */
export interface Tool<Input extends v.GenericSchema, Output extends v.GenericSchema> {
  name: string;
  title: string;
  /** Written for a model that does not know this product. */
  description: string;
  input: Input;
  output: Output;
  /** @throws {ToolError} */
  run(input: v.InferOutput<Input>, context: ToolContext): Promise<v.InferOutput<Output>>;
  /** The whole output as text, for clients that do not read structured output. */
  text(output: v.InferOutput<Output>, input: v.InferOutput<Input>): string;
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
  return v.strictObject(entries, (issue) => {
    if (issue.expected === "never") {
      return `${issue.received} is no argument of this tool: expected some of ${names}`;
    }
    return issue.kind === "schema" && issue.expected?.startsWith('"')
      ? `${issue.expected} is missing: expected a value`
      : `${issue.received} is no set of arguments: expected an object`;
  });
}

/** A repository, as name or owner/name. */
export function repositoryArgument(description: string) {
  return v.pipe(
    v.string(),
    v.minLength(1, '"" is no repository: expected owner/name'),
    v.description(description),
  );
}

/** `limit` of a list. */
export function limitArgument(defaultLimit: number) {
  return v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)),
    defaultLimit,
  );
}

/** `after` of a list. */
export const afterArgument = v.optional(
  v.pipe(v.string(), v.description("next_cursor of the answer before; other arguments as there")),
);

/** `next_cursor` of a list. */
export const nextCursor = v.pipe(
  v.nullable(v.string()),
  v.description("Pass as after; null: last page"),
);

/** A timestamp of the API. */
export const timestamp = v.pipe(v.string(), v.description("UTC, YYYY-MM-DDTHH:MM:SSZ"));

/** Names of a tool's arguments by the HTTP parameters that they become. */
export type ArgumentNames = Readonly<Record<string, string>>;

/**
 * Awaits a call and turns 404 and 400 into errors of the tool.
 *
 * @param missing message for 404
 */
export async function explain<T>(
  call: Promise<T>,
  { missing, names = {} }: { missing: string; names?: ArgumentNames },
): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof NotFoundError) throw new NotFoundError(missing);
    if (error instanceof BadRequestError) throw error.renamed(names);
    throw error;
  }
}

/** Message for an unknown repository. */
export function unknownRepository(repository: string): string {
  return `No repository ${
    JSON.stringify(repository)
  } is known to the organization of this token. ` +
    `Name it as owner/name, as in the address of its git remote (for https://host/acme/web.git: ` +
    `acme/web), in any case; the bare name works where only one repository has it. If it is ` +
    `spelt right, no results of it were uploaded yet: tell the user.`;
}
