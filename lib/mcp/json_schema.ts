// Tests: tests/lib/mcp/server_test.ts
import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import type * as v from "valibot";

/** A schema that is shown to clients as a JSON Schema of `schemas.json`, which `deno task fix` writes. */
export function withJsonSchema<Output>(
  schema: v.GenericSchema,
  shown: object,
): StandardSchemaWithJSON<Output> {
  const json = () => shown as Record<string, unknown>;
  const { version, vendor, validate } = schema["~standard"];
  // Sound: the JSON Schema was made of this schema.
  return {
    "~standard": { version, vendor, validate, jsonSchema: { input: json, output: json } },
  } as StandardSchemaWithJSON<Output>;
}
