/** Responses of the OpenAPI document, and their headers. */
import {
  ALLOWED_METHODS,
  CHALLENGES,
  ERRORS_SCHEMA,
  MESSAGE_SCHEMA,
  RETRY_AFTER_SECONDS,
} from "../request/errors.ts";
import { DEFAULT_CACHE_CONTROL, VARY } from "../request/responses.ts";
import { type Json, type JsonObject, NamedSchemas } from "./schemas.ts";
import type { Route } from "../request/route.ts";
import * as v from "valibot";

/** The header components of the document, by name. */
export const HEADERS = {
  RequestId: {
    description:
      "Id of the request in the log. The request's own header is used if it has 1 to 128 " +
      "letters, digits or any of _ . : / + = @ ~ -, otherwise an id is generated",
    required: true,
    schema: { type: "string", pattern: "^[\\w.:/+=@~-]{1,128}$" },
    example: "0f9d8a52-6c1e-4b7a-9d43-2e58c70b1f36",
  },
  ContentTypeOptions: constantHeader("nosniff", "Browsers must not guess another media type"),
  CacheControl: constantHeader(
    DEFAULT_CACHE_CONTROL,
    "Only the client may store the response, and revalidates it each time",
  ),
  SharedCacheControl: constantHeader("no-cache", "Every cache revalidates the response each time"),
  Vary: constantHeader(VARY, "Request headers that the response depends on"),
  ETag: {
    description: "Tag of the response, for If-None-Match; weak when the body is compressed",
    required: true,
    schema: { type: "string", pattern: '^(W/)?"[\\w-]{22}"$' },
    example: '"hT2bC0u9mY4fQ7sXn1kWzA"',
  },
  ContentEncoding: {
    description: "Present when the body is compressed, for clients that accept it",
    schema: { type: "string", const: "gzip" },
    example: "gzip",
  },
  Link: {
    description: "Relative address of the next page; absent on the last page",
    schema: { type: "string", pattern: '^<\\?[^<>]+>; rel="next"$' },
    example: '<?limit=10&after=b2Zmc2V0OjEw>; rel="next"',
  },
  Challenge: constantHeader(CHALLENGES.token, "How to authenticate"),
  BasicChallenge: constantHeader(
    CHALLENGES["token or basic"],
    "How to authenticate: browsers ask for a user name (any) and a password (the token)",
  ),
  Allow: constantHeader(ALLOWED_METHODS.join(", "), "The supported methods"),
  RetryAfter: {
    description: "Seconds to wait before another attempt; present when the service is overloaded",
    schema: { type: "string", const: RETRY_AFTER_SECONDS },
    example: RETRY_AFTER_SECONDS,
  },
} as const satisfies Record<string, JsonObject>;

type HeaderName = keyof typeof HEADERS;

/** A header that is always present with the same value. */
function constantHeader(value: string, description: string): JsonObject {
  return { description, required: true, schema: { type: "string", const: value }, example: value };
}

const HTTP_NAMES: Record<HeaderName, string> = {
  RequestId: "X-Request-Id",
  ContentTypeOptions: "X-Content-Type-Options",
  CacheControl: "Cache-Control",
  SharedCacheControl: "Cache-Control",
  Vary: "Vary",
  ETag: "ETag",
  ContentEncoding: "Content-Encoding",
  Link: "Link",
  Challenge: "WWW-Authenticate",
  BasicChallenge: "WWW-Authenticate",
  Allow: "Allow",
  RetryAfter: "Retry-After",
};

const ALWAYS: readonly HeaderName[] = ["RequestId", "ContentTypeOptions", "Vary"];

/** The response components of the document, by name. */
export function sharedResponses(named: NamedSchemas): Record<string, JsonObject> {
  const error = (description: string, names: HeaderName[] = [], content?: JsonObject) => ({
    description,
    headers: headers(...ALWAYS, "CacheControl", ...names),
    ...(content && { content }),
  });
  const json = (schema: v.GenericSchema, example: Json) =>
    content("application/json", { schema: named.schemaOf(schema), example });
  const unauthorized = "No valid token. The body is empty";
  return {
    NotModified: notModified("CacheControl"),
    BadRequest: error(
      "Invalid parameters; all of them are listed",
      [],
      json(ERRORS_SCHEMA, {
        errors: { limit: ['invalid limit "none": expected an integer from 1 to 100'] },
      }),
    ),
    Unauthorized: error(unauthorized, ["Challenge"]),
    UnauthorizedDocument: error(unauthorized, ["BasicChallenge"]),
    NotFound: error(
      "The resource does not exist, or belongs to another organization",
      [],
      json(MESSAGE_SCHEMA, { message: "Not Found" }),
    ),
    MethodNotAllowed: error(
      "A method other than GET and HEAD",
      ["Allow"],
      json(MESSAGE_SCHEMA, { message: "Method Not Allowed" }),
    ),
    InternalServerError: error(
      "Internal error; details are in the log under the request id. The body is empty",
      ["RetryAfter"],
    ),
  };
}

/** All responses of a route, by status. */
export function responsesOf(route: Route, named: NamedSchemas): Record<string, JsonObject> {
  const { access, resource, parameters, response: { status, description, ...response } } = route;
  const hasBody = status === 200;
  const isShared = response.cacheControl === "no-cache";
  const cacheControl = isShared ? "SharedCacheControl" : "CacheControl";
  const names: HeaderName[] = [...ALWAYS, cacheControl];
  if (hasBody) names.push("ETag", "ContentEncoding");
  if ("after" in parameters.query.entries) names.push("Link");
  const ownHeaders = Object.fromEntries(
    Object.entries(response.headers ?? {}).map(([name, description]) => [
      name,
      { description, required: true, schema: { type: "string" } },
    ]),
  );
  const schema = response.schema ? named.schemaOf(response.schema) : { type: "string" };
  const responses: Record<string, JsonObject> = {
    [status]: {
      description,
      headers: { ...headers(...names), ...ownHeaders },
      ...(response.mediaType && {
        content: content(response.mediaType, { schema, example: response.example as Json }),
      }),
    },
    405: shared("MethodNotAllowed"),
    500: shared("InternalServerError"),
  };
  if (hasBody) responses[304] = isShared ? notModified(cacheControl) : shared("NotModified");
  if (access === "token or basic") responses[401] = shared("UnauthorizedDocument");
  else if (access !== "public") responses[401] = shared("Unauthorized");
  if (resource) responses[404] = shared("NotFound");
  const canBeInvalid = Object.values(parameters.query.entries).some((entry) =>
    !v.getMetadata(entry).acceptsAnyText
  );
  if (canBeInvalid) responses[400] = shared("BadRequest");
  return responses;
}

/** The responses of a route as text: status and description. */
export function responseTexts(route: Route): [status: string, description: string][] {
  const named = new NamedSchemas();
  const shared = sharedResponses(named);
  return Object.entries(responsesOf(route, named)).map(([status, response]) => {
    const name = String(response.$ref ?? "").replace("#/components/responses/", "");
    return [status, String((shared[name] ?? response).description)];
  });
}

function notModified(cacheControl: HeaderName): JsonObject {
  return {
    description: "Not modified: the client's If-None-Match is current. The body is empty",
    headers: headers(...ALWAYS, cacheControl, "ETag"),
  };
}

function shared(name: string): JsonObject {
  return { $ref: `#/components/responses/${name}` };
}

function headers(...names: HeaderName[]): JsonObject {
  return Object.fromEntries(
    names.map((name) => [HTTP_NAMES[name], { $ref: `#/components/headers/${name}` }]),
  );
}

/** Keyed by the media type without parameters, which every client finds. */
function content(mediaType: string, body: { schema: JsonObject; example: Json }): JsonObject {
  return { [mediaType.replace(/;.*/, "")]: body };
}
