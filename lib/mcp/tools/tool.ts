/** What a tool is made of, and what several tools share. */
import * as v from "valibot";
import type { Api } from "../api_client.ts";
import { BadRequestError, NotFoundError } from "../tool_error.ts";

/** What a tool is given to work with. */
export interface ToolContext {
  api: Api;
  /** Base address of the service, for messages. */
  baseUrl: string;
  /** Aborted when nobody waits for the answer any more. */
  signal: AbortSignal;
}

/** A tool as its file describes it. */
export interface Tool<Input extends v.GenericSchema, Output extends v.GenericSchema> {
  name: string;
  title: string;
  /** For a model that has never seen this product. */
  description: string;
  input: Input;
  output: Output;
  /** @throws {ToolError} */
  run(input: v.InferOutput<Input>, context: ToolContext): Promise<v.InferOutput<Output>>;
  /** The answer for clients that show text: everything that the structured one says. */
  text(output: v.InferOutput<Output>, input: v.InferOutput<Input>): string;
}

/** Gives a tool its types. */
export function defineTool<Input extends v.GenericSchema, Output extends v.GenericSchema>(
  tool: Tool<Input, Output>,
): Tool<Input, Output> {
  return tool;
}

/** The arguments of a tool. One that is not known is refused: a misspelt filter would be none. */
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

/** A repository as the HTTP API's parameter `repository` takes it. */
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

/** A time stamp of the API. */
export const timestamp = v.pipe(v.string(), v.description("UTC, YYYY-MM-DDTHH:MM:SSZ"));

/** Names of a tool's arguments by the HTTP parameters that they become. */
export type ArgumentNames = Readonly<Record<string, string>>;

/**
 * Runs a call and says what a failure is about.
 *
 * @param missing what to say when the service does not know what was named
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

/** What to say when a repository is not known. */
export function unknownRepository(repository: string): string {
  return `No repository ${
    JSON.stringify(repository)
  } is known to the organization of this token. ` +
    `Name it as owner/name, as in the address of its git remote (for https://host/acme/web.git: ` +
    `acme/web), in any case; the bare name works where only one repository has it. If it is ` +
    `spelt right, no results of it were uploaded yet: tell the user.`;
}
