/** The type of a tool, and what several tools share. */
import * as v from "valibot";
import type { Api } from "../api_client.ts";
import { onOneLine } from "../message.ts";

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
  return v.strictObject(entries, ({ expected, received }) => {
    if (expected === "never") return `unknown argument ${received}: expected one of ${names}`;
    return expected?.startsWith('"')
      ? `missing argument ${expected}`
      : `invalid arguments ${received}: expected an object`;
  });
}

/** A repository, as name or owner/name. */
export function repositoryArgument(description: string) {
  return v.pipe(
    v.string(),
    v.minLength(1, 'invalid repository "": expected owner/name'),
    v.description(description),
  );
}

/** `limit` of a list. */
export function limitArgument(defaultLimit: number) {
  const limit = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100));
  return v.optional(limit, defaultLimit);
}

/** `after` of a list. */
export const afterArgument = v.optional(
  v.pipe(v.string(), v.description("next_cursor of the previous page; keep the other arguments")),
);

/** `next_cursor` of a list. */
export const nextCursor = v.pipe(
  v.nullable(v.string()),
  v.description("Pass as after; null: last page"),
);

/** `metadata` of a page of the API. */
export const pageMetadata = v.object({ after: v.nullable(v.string()) });

/** A timestamp of the API. */
export const timestamp = v.pipe(v.string(), v.description("UTC, YYYY-MM-DDTHH:MM:SSZ"));

/** Schema of an integer. */
export function integer(description: string) {
  return v.pipe(v.number(), v.integer(), v.description(description));
}

/** Facts about one item on one line, without empty ones. */
export function listFacts(facts: readonly (string | false | null)[]): string {
  return onOneLine(facts.filter(Boolean).join("; "));
}

/** A page of a list as text. */
export function listText(head: string, items: readonly string[], cursor: string | null): string {
  const next = cursor === null ? [] : [`next_cursor: ${cursor}`];
  return [head, ...items.map((item) => `- ${item}`), ...next].join("\n");
}

/** Message for an unknown repository. */
export function unknownRepository(repository: string): string {
  const name = JSON.stringify(repository);
  return `No repository ${name} is known to the organization of this token. Name it as owner/name, ` +
    `as in the address of its git remote (for https://host/acme/web.git: acme/web), in any case; ` +
    `the bare name works if it is unambiguous. If the spelling is right, no results were uploaded ` +
    `yet: tell the user.`;
}
