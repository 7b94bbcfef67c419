/** The JSON Schemas that the agent tools and prompts show to clients: `lib/mcp/schemas.json`. */
import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";
import { PROMPTS } from "../../lib/mcp/prompts.ts";
import { TOOLS } from "../../lib/mcp/server.ts";
import { shownInput } from "../../lib/mcp/tools/tool.ts";

type JsonSchema = Record<string, unknown>;

/** Schemas of all tools and prompts, by their names. */
export function toolSchemas(): { tools: JsonSchema; prompts: JsonSchema } {
  const tools = TOOLS.map((tool) => [
    tool.name,
    {
      input: shortInput(jsonSchema(shownInput(tool), "input")),
      output: shortOutput(jsonSchema(tool.output, "output")),
    },
  ]);
  const prompts = Object.entries(PROMPTS).map((
    [name, { args }],
  ) => [name, jsonSchema(args, "input")]);
  return { tools: Object.fromEntries(tools), prompts: Object.fromEntries(prompts) };
}

function jsonSchema(schema: v.GenericSchema, typeMode: "input" | "output"): JsonSchema {
  return toJsonSchema(schema, { target: "draft-2020-12", typeMode }) as JsonSchema;
}

/**
 * The output of a tool as clients see it: its fields are always there unless their description says so. Of
 * lists and objects, the description names the fields.
 */
function shortOutput({ properties }: JsonSchema): JsonSchema {
  const said = new Map<string, string>();
  return {
    type: "object",
    properties: mapped(properties, (one, name) => describedOutput(one, name, said)),
  };
}

/**
 * The input of a tool, without the dialect, which is the protocol's default: the list of tools is part of
 * every conversation.
 */
function shortInput({ $schema: _, properties, required, ...schema }: JsonSchema): JsonSchema {
  const short = ({ description, ...shown }: JsonSchema) => ({
    ...shown,
    ...description !== "" && { description },
  });
  const isEmpty = Array.isArray(required) && required.length === 0;
  return { ...schema, properties: mapped(properties, short), ...!isEmpty && { required } };
}

function mapped(properties: unknown, map: (schema: JsonSchema, name: string) => JsonSchema) {
  return Object.fromEntries(
    Object.entries(properties as Record<string, JsonSchema>)
      .map(([name, one]) => [name, map(one, name)]),
  );
}

/** @param said the field by its fields: equal ones are named once */
function describedOutput(schema: JsonSchema, name: string, said: Map<string, string>): JsonSchema {
  const { isNullable, value } = withoutNull(schema);
  const fields = fieldsOf(value, name, said);
  const description = [schema.description, fields].filter(Boolean).join(": ");
  return {
    type: isNullable ? [value.type, "null"] : value.type,
    ...description && { description },
  };
}

/** The names of the fields of an object or of the items of a list, with what is to be said of them. */
function fieldsOf(schema: JsonSchema, owner: string, said: Map<string, string>): string {
  const { items, properties } = withoutNull(schema).value;
  if (items) return fieldsOf(items as JsonSchema, owner, said);
  if (!properties) return "";
  const key = JSON.stringify(properties);
  const earlier = said.get(key);
  if (earlier !== undefined) return `as ${earlier}`;
  said.set(key, owner);
  return Object.entries(properties).map(([name, one]) => {
    const { description } = one as JsonSchema;
    const fields = fieldsOf(one as JsonSchema, name, said);
    const note = [description, fields].filter(Boolean).join(": ");
    return note ? `${name} (${note})` : name;
  }).join(", ");
}

function withoutNull(schema: JsonSchema): { isNullable: boolean; value: JsonSchema } {
  const [value, empty] = (schema.anyOf ?? []) as JsonSchema[];
  return empty?.type === "null"
    ? { isNullable: true, value: value! }
    : { isNullable: false, value: schema };
}
