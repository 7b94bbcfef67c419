/** The answers to what went wrong. No other module makes the body of an error. */
import * as v from "valibot";
import { JSON_MEDIA_TYPE, jsonBody } from "./json.ts";
import type { Access } from "./route.ts";

/** Messages by the name of the parameter that they are about. */
export type ParameterErrors = Record<string, string[]>;

/** Schema of the body of 404 and 405. */
export const MESSAGE_SCHEMA = v.pipe(
  v.strictObject({
    message: v.pipe(v.string(), v.description("What is wrong, in words that never change")),
  }),
  v.title("ErrorMessage"),
);

/** Schema of the body of 400. */
export const ERRORS_SCHEMA = v.pipe(
  v.strictObject({
    errors: v.pipe(
      v.record(v.string(), v.array(v.string())),
      v.description("Messages by the name of the parameter that they are about"),
    ),
  }),
  v.title("ParameterErrors"),
);

/** Methods that a known path takes. */
export const ALLOWED_METHODS: readonly string[] = ["GET", "HEAD"];

/** What a 401 says about how to authenticate. */
export const CHALLENGES: Readonly<Record<Access, string>> = {
  public: "Bearer",
  token: "Bearer",
  "token or basic": 'Basic realm="Test Analytics Platform", charset="UTF-8"',
};

/** When to come back after too many requests came at once: most are answered within milliseconds. */
export const RETRY_AFTER_SECONDS = "1";

/** 400: all that is wrong with the parameters. */
export function badRequest(errors: ParameterErrors): Response {
  return errorResponse(400, { errors });
}

/** 401: without a word, whatever was wrong with the token. */
export function unauthorized(access: Access): Response {
  return new Response(null, { status: 401, headers: { "www-authenticate": CHALLENGES[access] } });
}

/** 404: for what does not exist and for what belongs to somebody else. */
export function notFound(): Response {
  return errorResponse(404, { message: "Not Found" });
}

/** 405: a known path, but nothing here can be changed. */
export function methodNotAllowed(): Response {
  const response = errorResponse(405, { message: "Method Not Allowed" });
  response.headers.set("allow", ALLOWED_METHODS.join(", "));
  return response;
}

/** 500: without a word; the story belongs into the log. */
export function internalServerError(): Response {
  return new Response(null, { status: 500 });
}

/**
 * 500: more requests at once than can be worked on. Without a word as well, but for when to come
 * back: clients know no other status for "not now".
 */
export function overloaded(): Response {
  return new Response(null, { status: 500, headers: { "retry-after": RETRY_AFTER_SECONDS } });
}

function errorResponse(status: number, body: unknown): Response {
  const bytes = new TextEncoder().encode(jsonBody(body));
  // Said here, because an answer to HEAD has the length and not the body.
  const headers = { "content-type": JSON_MEDIA_TYPE, "content-length": String(bytes.length) };
  return new Response(bytes, { status, headers });
}
