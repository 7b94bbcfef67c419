/** JSON Schemas of the bodies, as an OpenAPI document has them: what has a title stands once. */
import { toJsonSchema } from "@valibot/to-json-schema";
import { isDeepStrictEqual } from "node:util";
import type * as v from "valibot";

/** A value that JSON and YAML can say. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

/** An object that JSON and YAML can say. */
export interface JsonObject {
  readonly [name: string]: Json;
}

/** The named schemas of a document. */
export interface NamedSchemas {
  /** By title; it grows with every schema that is asked for. */
  readonly schemas: Readonly<Record<string, JsonObject>>;
  /**
   * The JSON Schema of a body; its parts with a title are references to `schemas`.
   *
   * @throws {Error} when two different schemas have the same title
   */
  schemaOf(schema: v.GenericSchema): JsonObject;
}

/** Starts an empty collection of named schemas. */
export function createNamedSchemas(): NamedSchemas {
  const schemas: Record<string, JsonObject> = {};

  function name(value: Json): Json {
    if (Array.isArray(value)) return value.map(name);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(([key, part]): [string, Json] => [key, name(part)]);
    const schema = tidy(Object.fromEntries(entries));
    // A property may be called title as well; then its value is a schema and no text.
    if (typeof schema.title !== "string") return schema;
    const { title, description, ...rest } = schema;
    const known = schemas[title] ??= rest;
    if (!isDeepStrictEqual(known, rest)) {
      throw new Error(`two schemas are called ${title}: expected different titles`);
    }
    // What it is stands where it is used: the same thing means something else elsewhere.
    const reference = { $ref: `#/components/schemas/${title}` };
    return description === undefined ? reference : { ...reference, description };
  }

  return {
    schemas,
    schemaOf(schema) {
      const { $schema: _, ...converted } = toJsonSchema(schema, { target: "draft-2020-12" });
      return name(converted as JsonObject) as JsonObject;
    },
  };
}

/** Says the same with fewer words: generated clients and pages show it better. */
function tidy(schema: JsonObject): JsonObject {
  const { propertyNames: _, ...rest } = schema;
  if (typeof rest.const === "string") return { type: "string", ...rest };
  const { anyOf, ...beside } = rest;
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || anyOf[1].type !== "null") return rest;
  const { type, enum: values, ...more } = anyOf[0];
  if (typeof type !== "string") return rest;
  return {
    type: [type, "null"],
    ...(values && { enum: [...values, null] }),
    ...more,
    ...beside,
  };
}
