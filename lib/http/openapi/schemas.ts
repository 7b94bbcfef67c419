/** JSON Schemas of the bodies; schemas with a title become components of the document. */
import { toJsonSchema } from "@valibot/to-json-schema";
import { isDeepStrictEqual } from "node:util";
import type * as v from "valibot";

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: Json;
}

/** The schema components of a document. */
export class NamedSchemas {
  /** By title; filled by `schemaOf`. */
  readonly schemas: Record<string, JsonObject> = {};

  /** The JSON Schema of a body, with references for titled parts. @throws {Error} */
  schemaOf(schema: v.GenericSchema): JsonObject {
    const { $schema: _, ...converted } = toJsonSchema(schema, { target: "draft-2020-12" });
    return this.#name(converted as JsonObject) as JsonObject;
  }

  #name(value: Json): Json {
    if (Array.isArray(value)) return value.map((part) => this.#name(part));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(([key, part]) => [key, this.#name(part)]);
    const schema = tidy(Object.fromEntries(entries));
    // A property named "title" has a schema as its value, not a string.
    if (typeof schema.title !== "string") return schema;
    const { title, description, ...rest } = schema;
    const known = this.schemas[title] ??= rest;
    if (!isDeepStrictEqual(known, rest)) {
      throw new Error(`two different schemas have the title ${title}`);
    }
    // The description stays at the reference, because it differs from use to use.
    const reference = { $ref: `#/components/schemas/${title}` };
    return description === undefined ? reference : { ...reference, description };
  }
}

/** Shortens a schema to the form that client generators handle best. */
function tidy(schema: JsonObject): JsonObject {
  const { propertyNames: _, ...rest } = schema;
  if (typeof rest.const === "string") return { type: "string", ...rest };
  const { anyOf, ...others } = rest;
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || anyOf[1].type !== "null") return rest;
  const { type, enum: values, ...more } = anyOf[0];
  if (typeof type !== "string") return rest;
  return {
    type: [type, "null"],
    ...(values && { enum: [...values, null] }),
    ...more,
    ...others,
  };
}
