/** The fields of a JSON body as Markdown, one line each. */
import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";

/** The parts of a JSON Schema that are read. */
interface Schema {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
}

/** Lists every field of a body, nested ones by their full path such as `tests[].id`. */
export function fieldLines(schema: v.GenericSchema): string[] {
  return linesOf(toJsonSchema(schema, { target: "draft-2020-12" }) as Schema, "");
}

function linesOf({ properties = {}, required = [] }: Schema, prefix: string): string[] {
  return Object.entries(properties).flatMap(([name, property]) => {
    const path = prefix + name;
    const { value, isNullable } = withoutNull(property);
    const isArray = value.type === "array";
    const type = typeOf(value) + (isNullable ? " or null" : "");
    const description = property.description ?? value.description;
    const nested = isArray ? withoutNull(value.items ?? {}).value : value;
    return [
      `- \`${path}\` (${type}${required.includes(name) ? "" : ", with `include`"})` +
      (description ? `: ${description}` : ""),
      ...linesOf(nested, `${path}${isArray ? "[]" : ""}.`),
    ];
  });
}

/** The schema without its `null` alternative. */
function withoutNull(schema: Schema): { value: Schema; isNullable: boolean } {
  const others = schema.anyOf?.filter(({ type }) => type !== "null");
  const [value] = others ?? [];
  return value && others?.length === 1
    ? { value, isNullable: true }
    : { value: schema, isNullable: false };
}

function typeOf({ type, const: constant, enum: values, items }: Schema): string {
  if (constant !== undefined) return JSON.stringify(constant);
  if (values) return values.map((value) => JSON.stringify(value)).join(", ");
  if (type === "array") return `array of ${typeOf(items ?? {})}s`;
  return type ?? "any";
}
