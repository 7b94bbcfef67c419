/** The OpenAPI 3.1 document, generated from the route table. */
import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { stringify } from "yaml";
import { VERSION } from "../../lib/base/version.ts";
import { LIST_MEDIA_TYPES } from "../../lib/http/request/list_format.ts";
import type { Access, Route } from "../../lib/http/request/route.ts";
import {
  API_DESCRIPTION,
  API_SUMMARY,
  API_TITLE,
  type DescribedParameter,
  describedParameters,
  pathTemplate,
  TAGS,
} from "./description.ts";

const MESSAGE_SCHEMA = v.pipe(v.strictObject({ message: v.string() }), v.title("ErrorMessage"));

const ERRORS_SCHEMA = v.pipe(
  v.strictObject({ errors: v.record(v.string(), v.array(v.string())) }),
  v.title("ParameterErrors"),
);

type JsonObject = Readonly<Record<string, unknown>>;

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
};

const SECURITY: Record<Access, JsonObject[]> = {
  "public": [],
  "token": [{ bearer: [] }, { token: [] }],
  "token or basic": [{ bearer: [] }, { token: [] }, { basic: [] }],
  "token or badge token": [{ bearer: [] }, { token: [] }, { badge: [] }],
};

const INVALID_LIMIT = { limit: ['invalid limit "none": expected an integer from 1 to 100'] };

const ERROR_RESPONSES = {
  NotModified: {
    description: "Not modified: the client's If-None-Match is current. The body is empty",
  },
  BadRequest: {
    description: "Invalid parameters; all of them are listed",
    content: jsonContent(ERRORS_SCHEMA, { errors: INVALID_LIMIT }),
  },
  Unauthorized: { description: "No valid token. The body is empty" },
  NotFound: {
    description: "The resource does not exist, or belongs to another organization",
    content: jsonContent(MESSAGE_SCHEMA, { message: "Not Found" }),
  },
  MethodNotAllowed: {
    description: "A method other than GET and HEAD",
    content: jsonContent(MESSAGE_SCHEMA, { message: "Method Not Allowed" }),
  },
  InternalServerError: {
    description: "Internal error; details are in the log under the request id. The body is empty",
  },
};

/** Creates the OpenAPI 3.1 document of the routes. */
export function openapiDocument(routes: readonly Route[]): JsonObject {
  const schemas: Record<string, JsonObject> = {};
  /** Moves the parts of JSON Schemas that have a title to `schemas`, and refers to them. */
  const withReferences = (value: JsonObject): JsonObject =>
    JSON.parse(JSON.stringify(value), (_name, part) => {
      // A property named "title" has a schema as its value, not a string.
      if (typeof part?.title !== "string") return part;
      const { title, description, ...rest } = part;
      schemas[title] = rest;
      // The description stays at the reference, because it differs from use to use.
      return { $ref: `#/components/schemas/${title}`, description };
    });
  const responses = withReferences(ERROR_RESPONSES);
  const paths = routes.map((route) => [pathTemplate(route.path), { get: operation(route) }]);
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
    paths: withReferences(Object.fromEntries(paths)),
    components: { securitySchemes: SECURITY_SCHEMES, schemas, responses },
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

function operation(route: Route): JsonObject {
  const { operationId, tag, summary, description, access } = route;
  const parameters = describedParameters(route).map(parameterObject);
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    ...(access !== "token" && { security: SECURITY[access] }),
    ...(parameters.length > 0 && { parameters }),
    responses: responsesOf(route),
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
    schema: jsonSchema,
    ...(example !== undefined && { example: exampleOf(example, jsonSchema.type) }),
  };
}

/** Converts an example from the text that a client sends. */
function exampleOf(text: string, type: unknown): unknown {
  if (type === "integer") return Number(text);
  return type === "array" ? text.split(",") : text;
}

/** All responses of a route, by status. */
function responsesOf({ access, resource, summary, query, response, list }: Route): JsonObject {
  const { status, mediaType, schema, example } = response;
  // Without the charset: generated clients look up the bare media type.
  const type = mediaType?.replace(/;.*/, "");
  const text = type && { [type]: { schema: { type: "string" }, example } };
  const content = schema ? jsonContent(schema, example) : text;
  // In words: of further media types generated clients make `{...} | string`.
  const files = list ? `. As a file: ${Object.values(LIST_MEDIA_TYPES).join(" or ")}` : "";
  const canBeInvalid = Object.values(query.entries).some((entry) =>
    !v.getMetadata(entry).acceptsAnyText
  );
  return {
    [status]: { description: summary + files, ...(content && { content }) },
    ...(status === 200 && { 304: shared("NotModified") }),
    ...(canBeInvalid && { 400: shared("BadRequest") }),
    ...(access !== "public" && { 401: shared("Unauthorized") }),
    ...(resource && { 404: shared("NotFound") }),
    405: shared("MethodNotAllowed"),
    500: shared("InternalServerError"),
  };
}

function shared(name: string): JsonObject {
  return { $ref: `#/components/responses/${name}` };
}

function jsonContent(schema: v.GenericSchema, example: unknown): JsonObject {
  const { $schema: _, ...converted } = toJsonSchema(schema, { target: "draft-2020-12" });
  return { "application/json": { schema: converted, example } };
}
