/** The fields of a JSON body as a flat list, for the documentation page and llms-full.txt. */
import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";

/** One field of a JSON body. */
export interface Field {
  /** Full path, such as `tests[].id`. */
  path: string;
  /** Such as `array of strings or null`. */
  type: string;
  /** Whether the field is always there; others appear with `include`. */
  isRequired: boolean;
  description: string;
}

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
}

/** Lists every field of a body, nested ones included. */
export function fieldsOf(schema: v.GenericSchema): Field[] {
  return listFields(toJsonSchema(schema, { target: "draft-2020-12" }) as Schema, "");
}

function listFields({ properties = {}, required = [] }: Schema, prefix: string): Field[] {
  return Object.entries(properties).flatMap(([name, property]) => {
    const path = prefix + name;
    const { value, isNullable } = withoutNull(property);
    const isArray = value.type === "array";
    const nested = isArray ? withoutNull(value.items ?? {}).value : value;
    return [
      {
        path,
        type: typeOf(value) + (isNullable ? " or null" : ""),
        isRequired: required.includes(name),
        description: property.description ?? value.description ?? "",
      },
      ...listFields(nested, `${path}${isArray ? "[]" : ""}.`),
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
