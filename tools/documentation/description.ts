/** What documents the API: its title and rules, and the parameters, fields and examples of a route. */
import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { type Entries, inPath, type ParameterMetadata } from "../../lib/http/request/parameters.ts";
import type { Endpoint, Route, Tag } from "../../lib/http/request/route.ts";
import { routes } from "../../routes/mod.ts";
import examples from "./examples.json" with { type: "json" };
import rules from "./conventions.md" with { type: "text" };

export const API_TITLE = "Test Analytics Platform";

export const API_SUMMARY = "Read-only analytics of CI test results";

/** The rules that all endpoints share, as Markdown with headings of level 2. */
export const GENERAL_RULES: string = rules.trimEnd();

/** Markdown with headings of level 3, for the OpenAPI document and the page. */
export const API_DESCRIPTION: string =
  "Which tests are flaky, since when, and how often, counted from the results that CI runs upload.\n\n" +
  rules.replaceAll(/^## /gm, "### ");

/** The groups of routes in the documentation, with their descriptions. */
export const TAGS: Readonly<Record<Tag, string>> = {
  Account: "What the token can read: its organization and the repositories of it.",
  Repositories: "What one repository, named by owner and name, uploaded and which tests are flaky.",
  Tests: "The inventory of flaky tests across repositories, and the history of one test.",
  Badges: "SVG pictures of a percentage, for a README or a dashboard.",
  Service: "Whether the service answers, whether a token is valid, and what describes the API.",
};

/** The routes of the API with examples of their responses, by operation. */
export const documentedRoutes: readonly Route[] = routes.map(({ response, ...route }) => ({
  ...route,
  response: { example: (examples as Record<string, unknown>)[route.operationId], ...response },
}));

const OBJECT_ID = { type: "string", pattern: "^[0-9a-fA-F]{24}$" };

const REPOSITORY_PATH = {
  owner: inPath(
    "Owner of the repository, case-insensitive. A slash in it (GitLab groups) is written %2F",
    { jsonSchema: { type: "string" }, example: "acme" },
  ),
  name: inPath("Name of the repository, case-insensitive", {
    jsonSchema: { type: "string" },
    example: "shop",
  }),
};

/** The parameters of the path, by the resource of the route. */
const PATH_PARAMETERS: Readonly<Record<string, Entries | undefined>> = {
  "repository in path": REPOSITORY_PATH,
  "submission in path": {
    ...REPOSITORY_PATH,
    id: inPath(
      "Id of the submission from the list of submissions, case-insensitive",
      { jsonSchema: OBJECT_ID, example: "697dc80c14b6e07a92d3f58c" },
    ),
  },
  owner: {
    owner: inPath("Owner of tests, as in a CODEOWNERS file", {
      jsonSchema: { type: "string" },
      example: "@acme/web",
    }),
  },
  "test in path": {
    id: inPath(
      "Id of the test from a list of tests, case-insensitive",
      { jsonSchema: OBJECT_ID, example: "5f3a9c0e7b12d4a86f01c2e3" },
    ),
  },
};

export interface DescribedParameter extends ParameterMetadata {
  name: string;
  place: "path" | "query";
  description: string;
}

/** The path parameters of a route, which its resource has, and its query parameters. */
export function describedParameters({ resource, query }: Endpoint): DescribedParameter[] {
  const places = { path: PATH_PARAMETERS[resource ?? ""] ?? {}, query: query.entries };
  return (["path", "query"] as const).flatMap((place) =>
    Object.entries(places[place]).map(([name, entry]) => {
      // Sound: every parameter is made by a function that adds them.
      const metadata = v.getMetadata(entry) as unknown as ParameterMetadata;
      return { name, place, description: v.getDescription(entry) ?? "", ...metadata };
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
  return path.replace(/:(\w+)\+?/g, "{$1}");
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

/** A field of a body. */
export interface DescribedField {
  name: string;
  /** Where it is, such as `tests[].name`. */
  path: string;
  /** Its type and description, as Markdown. */
  meaning: string;
}

/** Every field of a body, nested ones included. */
export function describedFields(schema: v.GenericSchema): DescribedField[] {
  return listFields(toJsonSchema(schema, { target: "draft-2020-12" }) as Schema, "");
}

function listFields(
  { properties = {}, required = [], ...schema }: Schema,
  parent: string,
): DescribedField[] {
  const fields = Object.entries(properties).flatMap(([name, property]) => {
    const path = parent === "" ? name : `${parent}.${name}`;
    const condition = required.includes(name) ? "" : ", with `include`";
    const { description } = property;
    const meaning = `(${typeOf(property)}${condition})` + (description ? `: ${description}` : "");
    return [{ name, path, meaning }, ...listFields(property, path)];
  });
  const inItems = schema.items ? listFields(schema.items, `${parent}[]`) : [];
  return [...fields, ...inItems, ...(schema.anyOf ?? []).flatMap((one) => listFields(one, parent))];
}

function typeOf({ type, const: constant, enum: values, items, anyOf }: Schema): string {
  if (anyOf) return anyOf.map(typeOf).join(" or ");
  if (constant !== undefined) return JSON.stringify(constant);
  if (values) return values.map((value) => JSON.stringify(value)).join(", ");
  if (type === "array") return `array of ${typeOf(items ?? {})}s`;
  return type ?? "any";
}
