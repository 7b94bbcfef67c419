/** The responses of the OpenAPI document, and the headers that they carry. */
import {
  ALLOWED_METHODS,
  CHALLENGES,
  ERRORS_SCHEMA,
  MESSAGE_SCHEMA,
  RETRY_AFTER_SECONDS,
} from "../request/errors.ts";
import { DEFAULT_CACHE_CONTROL, VARY } from "../request/responses.ts";
import type { Json, JsonObject, NamedSchemas } from "./schemas.ts";
import type { Route } from "../request/route.ts";

/** Headers of the document, by the name under which responses refer to them. */
export const HEADERS = {
  RequestId: {
    description: "The id of the request in the log: that of the request's own header when it has " +
      "1 to 128 letters, digits or any of _ . : / + = @ ~ -, else a new one",
    required: true,
    schema: { type: "string", pattern: "^[\\w.:/+=@~-]{1,128}$" },
    example: "0f9d8a52-6c1e-4b7a-9d43-2e58c70b1f36",
  },
  ContentTypeOptions: {
    description: "The media type is meant as it is said",
    required: true,
    schema: { type: "string", const: "nosniff" },
    example: "nosniff",
  },
  CacheControl: {
    description: "The client alone may keep the answer, and asks each time whether it still holds",
    required: true,
    schema: { type: "string", const: DEFAULT_CACHE_CONTROL },
    example: DEFAULT_CACHE_CONTROL,
  },
  SharedCacheControl: {
    description: "Whoever keeps the answer asks each time whether it still holds",
    required: true,
    schema: { type: "string", const: "no-cache" },
    example: "no-cache",
  },
  Vary: {
    description: "Request headers that the answer depends on",
    required: true,
    schema: { type: "string", const: VARY },
    example: VARY,
  },
  ETag: {
    description: "Tag of the answer, to be sent as If-None-Match; weak when the body is compressed",
    required: true,
    schema: { type: "string", pattern: '^(W/)?"[\\w-]{22}"$' },
    example: '"hT2bC0u9mY4fQ7sXn1kWzA"',
  },
  ContentEncoding: {
    description: "There when the body is compressed, for those who accept it",
    schema: { type: "string", const: "gzip" },
    example: "gzip",
  },
  Link: {
    description: "Where the next page is, relative to this one; absent on the last page",
    schema: { type: "string", pattern: '^<\\?[^<>]+>; rel="next"$' },
    example: '<?limit=10&after=b2Zmc2V0OjEw>; rel="next"',
  },
  Challenge: {
    description: "How to authenticate",
    required: true,
    schema: { type: "string", const: CHALLENGES.token },
    example: CHALLENGES.token,
  },
  BasicChallenge: {
    description: "How to authenticate: a browser then asks for a user name (any) and a password " +
      "(the token)",
    required: true,
    schema: { type: "string", const: CHALLENGES["token or basic"] },
    example: CHALLENGES["token or basic"],
  },
  Allow: {
    description: "The methods that there are",
    required: true,
    schema: { type: "string", const: ALLOWED_METHODS.join(", ") },
    example: ALLOWED_METHODS.join(", "),
  },
  RetryAfter: {
    description: "Seconds after which it is worth trying again: there when more requests came at " +
      "once than are worked on",
    schema: { type: "string", const: RETRY_AFTER_SECONDS },
    example: RETRY_AFTER_SECONDS,
  },
} as const satisfies Record<string, JsonObject>;

type HeaderName = keyof typeof HEADERS;

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

const WITHOUT_SUCCESS: readonly HeaderName[] = [...ALWAYS, "CacheControl"];

/** The responses that operations share, by the name under which they refer to them. */
export function sharedResponses({ schemaOf }: NamedSchemas): Record<string, JsonObject> {
  const message = (text: string) => jsonContent(schemaOf(MESSAGE_SCHEMA), { message: text });
  return {
    NotModified: notModified("CacheControl"),
    BadRequest: {
      description: "Parameters are wrong: every one of them is listed",
      headers: headers(...WITHOUT_SUCCESS),
      content: jsonContent(schemaOf(ERRORS_SCHEMA), {
        errors: { limit: ['"none" is no page size: expected a whole number from 1'] },
      }),
    },
    Unauthorized: {
      description: "No token, or one that is not valid, for whatever reason. There is no body",
      headers: headers(...WITHOUT_SUCCESS, "Challenge"),
    },
    UnauthorizedDocument: {
      description: "No token, or one that is not valid, for whatever reason. There is no body",
      headers: headers(...WITHOUT_SUCCESS, "BasicChallenge"),
    },
    NotFound: {
      description: "What is named does not exist, or belongs to another organization",
      headers: headers(...WITHOUT_SUCCESS),
      content: message("Not Found"),
    },
    MethodNotAllowed: {
      description: "Another method than GET and HEAD: nothing can be changed here",
      headers: headers(...WITHOUT_SUCCESS, "Allow"),
      content: message("Method Not Allowed"),
    },
    InternalServerError: {
      description:
        "Something went wrong inside; the log tells it under the request's id. There is " +
        "no body",
      headers: headers(...WITHOUT_SUCCESS, "RetryAfter"),
    },
  };
}

/** All responses of a route, by status. */
export function responsesOf(route: Route, { schemaOf }: NamedSchemas): Record<string, JsonObject> {
  const { access, resource, parameters, response: { status, description, ...response } } = route;
  const hasBody = status === 200;
  const isShared = response.cacheControl === "no-cache";
  const cacheControl = isShared ? "SharedCacheControl" : "CacheControl";
  const names: HeaderName[] = [...ALWAYS, cacheControl];
  if (hasBody) names.push("ETag", "ContentEncoding");
  if ("after" in parameters.query.entries) names.push("Link");
  const schema = response.schema ? schemaOf(response.schema) : { type: "string" };
  const responses: Record<string, JsonObject> = {
    [status]: {
      description,
      headers: { ...headers(...names), ...ownHeaders(response.headers) },
      ...(response.mediaType && {
        content: content(response.mediaType, { schema, example: response.example as Json }),
      }),
    },
    405: shared("MethodNotAllowed"),
    500: shared("InternalServerError"),
  };
  if (hasBody) responses[304] = isShared ? notModified(cacheControl) : shared("NotModified");
  if (access === "token") responses[401] = shared("Unauthorized");
  if (access === "token or basic") responses[401] = shared("UnauthorizedDocument");
  if (resource) responses[404] = shared("NotFound");
  // A test provokes every one of these, and so finds the first route whose parameters cannot be wrong.
  if (Object.keys(parameters.query.entries).length > 0) responses[400] = shared("BadRequest");
  return responses;
}

function notModified(cacheControl: HeaderName): JsonObject {
  return {
    description: "The client has this answer already: its If-None-Match says so. There is no body",
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

function ownHeaders(descriptions: Readonly<Record<string, string>> = {}): JsonObject {
  return Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => [
      name,
      { description, required: true, schema: { type: "string" } },
    ]),
  );
}

function jsonContent(schema: JsonObject, example: Json): JsonObject {
  return content("application/json", { schema, example });
}

/** Under the bare media type: a client that looks for its parameters as well may not find it. */
function content(mediaType: string, body: { schema: JsonObject; example: Json }): JsonObject {
  return { [mediaType.replace(/;.*/, "")]: body };
}
