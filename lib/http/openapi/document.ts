/** The OpenAPI 3.1 document, generated from the route table. */
import { stringify } from "yaml";
import { VERSION } from "../../base/version.ts";
import { API_DESCRIPTION, API_SUMMARY, API_TITLE } from "./texts.ts";
import { HEADERS, responsesOf, sharedResponses } from "./responses.ts";
import { type Json, type JsonObject, NamedSchemas } from "./schemas.ts";
import { type DescribedParameter, describedParameters, pathTemplate } from "./parameters.ts";
import { type Access, type Route, TAGS } from "../request/route.ts";

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
    description:
      "`Authorization: token API_TOKEN`. The word `token` and a space are part of the value",
  },
  basic: {
    type: "http",
    scheme: "basic",
    description:
      "The API token as the password, with any user name, so that browsers can open the " +
      "documentation",
  },
  badge: {
    type: "apiKey",
    in: "query",
    name: "token",
    description:
      "A badge token (`token create --badge`), which opens the badges of one repository, for a " +
      "README whose readers have no token",
  },
} satisfies Record<string, JsonObject>;

const SECURITY: Record<Access, JsonObject[]> = {
  "public": [],
  "token": [{ bearer: [] }, { token: [] }],
  "token or basic": [{ bearer: [] }, { token: [] }, { basic: [] }],
  "token or badge token": [{ bearer: [] }, { token: [] }, { badge: [] }],
};

/** Generates the OpenAPI document of a route table. @throws {Error} when it is inconsistent */
export function openapiDocument(routes: readonly Route[]): JsonObject {
  const named = new NamedSchemas();
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) paths[pathTemplate(route.path)] = { get: operation(route, named) };
  const responses = sharedResponses(named);
  return {
    openapi: "3.1.1",
    info: {
      title: API_TITLE,
      summary: API_SUMMARY,
      description: API_DESCRIPTION,
      version: VERSION,
      license: { name: "MIT", identifier: "MIT" },
    },
    // Relative, for services behind a path prefix.
    servers: [{ url: ".", description: "The service that serves this document" }],
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

/** Formats a document as YAML, keeping the order of its fields. */
export function openapiYaml(document: JsonObject): string {
  return stringify(document, {
    lineWidth: 100,
    blockQuote: "literal",
    aliasDuplicateObjects: false,
    // Quotes what YAML 1.1 parsers would read as a date or boolean.
    compat: "yaml-1.1",
  });
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
    // One comma-separated parameter, not one for each element.
    ...(jsonSchema.type === "array" && { style: "form", explode: false }),
    schema: jsonSchema as JsonObject,
    ...(example !== undefined && { example: exampleOf(example, jsonSchema.type) }),
  };
}

/** Converts an example from the text that a client sends. */
function exampleOf(text: string, type: unknown): Json {
  if (type === "integer") return Number(text);
  return type === "array" ? text.split(",") : text;
}
