/** Parameters and example requests of a route, for everything that documents it. */
import * as v from "valibot";
import type { ParameterMetadata } from "../request/parameters.ts";
import type { Route } from "../request/route.ts";

export interface DescribedParameter {
  name: string;
  place: "path" | "query";
  required: boolean;
  description: string;
  /** JSON Schema of the parsed value; an array is sent as one comma-separated value. */
  jsonSchema: Record<string, unknown>;
  /** As a client sends it, before percent-encoding. */
  example?: string;
}

/** The parameters of a route, path parameters first. @throws {Error} without a description */
export function describedParameters({ path, parameters }: Route): DescribedParameter[] {
  return (["path", "query"] as const).flatMap((place) =>
    Object.entries(parameters[place].entries).map(([name, entry]) => {
      const description = v.getDescription(entry);
      const { jsonSchema, example, required = false } = v.getMetadata(entry) as Partial<
        ParameterMetadata
      >;
      if (!description || !jsonSchema) {
        throw new Error(`parameter ${name} of ${path} has no description or schema`);
      }
      return { name, place, required, description, jsonSchema, ...(example && { example }) };
    })
  );
}

/** The type of a parameter in words, such as `integer` or `comma-separated list`. */
export function parameterType({ jsonSchema: { type, enum: values } }: DescribedParameter): string {
  if (Array.isArray(values)) return values.map((value) => `\`${value}\``).join(" or ");
  return type === "array" ? "comma-separated list" : String(type);
}

/** The path of a route with `{name}` for its parameters, as OpenAPI writes it. */
export function pathTemplate(path: string): string {
  return path.replace(/:(\w+)/g, "{$1}");
}

/** The `curl` line whose response the route shows as its example. */
export function exampleRequest(route: Route): string {
  const query = new URLSearchParams();
  let path = pathTemplate(route.path);
  for (const { name, place, required, example = "" } of describedParameters(route)) {
    if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(example));
    else if (required) query.set(name, example);
  }
  for (const [name, value] of Object.entries(route.response.exampleQuery ?? {})) {
    query.set(name, value);
  }
  // Slashes and commas are legal in a query and easier to read unescaped.
  const search = String(query).replaceAll("%2F", "/").replaceAll("%2C", ",");
  const authorization = route.access === "public" ? "" : '-H "Authorization: Bearer $TOKEN" ';
  const output = route.response.status === 204 ? '-o /dev/null -w "%{http_code}\\n" ' : "";
  return `curl -sS ${output}${authorization}"$BASE_URL${path}${search && `?${search}`}"`;
}

/** The example response as text; `undefined` for a response without a body. */
export function exampleResponse({ response: { example } }: Route): string | undefined {
  if (example === undefined || typeof example === "string") return example?.trim();
  return JSON.stringify(example, null, 2);
}
