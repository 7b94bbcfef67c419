/**
 * The machine-readable contract: an OpenAPI 3.1 document made from the route table, so that it
 * cannot say anything else than what is served.
 */
import { stringify } from "yaml";
import { VERSION } from "../../base/version.ts";
import { API_DESCRIPTION, API_SUMMARY, API_TITLE } from "./texts.ts";
import { HEADERS, responsesOf, sharedResponses } from "./responses.ts";
import { createNamedSchemas, type Json, type JsonObject, type NamedSchemas } from "./schemas.ts";
import { type DescribedParameter, describedParameters } from "./parameters.ts";
import { type Access, type Route, TAGS } from "../request/route.ts";

const OPENAPI_VERSION = "3.1.1";

const LINE_WIDTH = 100;

/** Either of these; that of Basic is for a person in front of a browser. */
const SECURITY_SCHEMES = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "`Authorization: Bearer API_TOKEN`",
  },
  token: {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description: "`Authorization: token API_TOKEN`. The word `token` and a blank are part of the " +
      "value",
  },
  basic: {
    type: "http",
    scheme: "basic",
    description: "The API token as the password, with any user name; for the documents only, so " +
      "that a browser can open them",
  },
} satisfies Record<string, JsonObject>;

const SECURITY: Record<Access, JsonObject[]> = {
  "public": [],
  "token": [{ bearer: [] }, { token: [] }],
  "token or basic": [{ bearer: [] }, { token: [] }, { basic: [] }],
};

/**
 * Makes the OpenAPI document of a route table.
 *
 * @throws {Error} when two different schemas have the same title, or a parameter is not described
 */
export function openapiDocument(routes: readonly Route[]): JsonObject {
  const named = createNamedSchemas();
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) paths[templateOf(route.path)] = { get: operation(route, named) };
  const responses = sharedResponses(named);
  return {
    openapi: OPENAPI_VERSION,
    info: {
      title: API_TITLE,
      summary: API_SUMMARY,
      description: API_DESCRIPTION,
      version: VERSION,
      license: { name: "MIT", identifier: "MIT" },
    },
    // Relative, so that it holds behind any path prefix.
    servers: [{ url: ".", description: "The service that this document was loaded from" }],
    security: SECURITY.token,
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: named.schemas,
      responses,
      headers: HEADERS,
    },
  };
}

/** Writes a document as YAML, in the order of its fields. */
export function openapiYaml(document: JsonObject): string {
  return stringify(document, {
    lineWidth: LINE_WIDTH,
    blockQuote: "literal",
    aliasDuplicateObjects: false,
    // Quotes what older readers would take for a date or a truth value.
    compat: "yaml-1.1",
  });
}

/** The path of a route as OpenAPI writes it: `{name}` for a part that varies. */
export function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, "{$1}");
}

function operation(route: Route, named: NamedSchemas): JsonObject {
  const { operationId, tag, summary, description, access } = route;
  const parameters = describedParameters(route).map(parameterObject);
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    ...(access !== "token" && { security: SECURITY[access] }),
    ...(parameters.length > 0 && { parameters }),
    responses: responsesOf(route, named),
  };
}

function parameterObject(parameter: DescribedParameter): JsonObject {
  const { name, place, required, description, jsonSchema, example } = parameter;
  return {
    name,
    in: place,
    required,
    description,
    // One parameter with commas, not one for each element.
    ...(jsonSchema.type === "array" && { style: "form", explode: false }),
    schema: jsonSchema as JsonObject,
    ...(example !== undefined && { example: exampleOf(example, jsonSchema.type) }),
  };
}

/** An example stands in the table as a client writes it. */
function exampleOf(text: string, type: unknown): Json {
  if (type === "integer") return Number(text);
  return type === "array" ? text.split(",") : text;
}
