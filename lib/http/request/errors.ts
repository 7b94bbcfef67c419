// Tests: tests/lib/http/request/list_export_test.ts tests/lib/http/request/parsed_url_test.ts
/** Error responses. No other module creates the body of an error. */
import { JSON_MEDIA_TYPE, jsonBody } from "./json_body.ts";

/** Messages by the name of the parameter. */
export type ParameterErrors = Record<string, string[]>;

/** Methods that a known path accepts. */
export const ALLOWED_METHODS: readonly string[] = ["GET", "HEAD"];

/** What is read for a request shows that it has to be refused. */
export class RefusedError extends Error {
  override name = "RefusedError";

  constructor(readonly response: Response) {
    super(`refused with ${response.status}`);
  }
}

/** 400 with all parameter errors; for an upload also 408 or 413. */
export function badRequest(errors: ParameterErrors, status = 400): Response {
  return jsonResponse(status, { errors });
}

/** 401: an empty body for every reason. */
export function unauthorized(scheme: "Basic" | "Bearer"): Response {
  const challenge = scheme === "Basic"
    ? 'Basic realm="Test Analytics Platform", charset="UTF-8"'
    : "Bearer";
  return new Response(null, { status: 401, headers: { "www-authenticate": challenge } });
}

/** 401 for an upload or an agent: unlike the API's it may say what is wrong with the header. */
export function unauthorizedClient(message: string): Response {
  const response = jsonResponse(401, { message });
  response.headers.set("www-authenticate", "Bearer");
  return response;
}

/** 403: the token is valid for another repository, or the request comes from the page of another site. */
export function forbidden(message: string): Response {
  return jsonResponse(403, { message });
}

/** 404: the resource does not exist, or belongs to another organization. */
export function notFound(message = "Not Found"): Response {
  return jsonResponse(404, { message });
}

/** 405: the path does not support the method. */
export function methodNotAllowed(allowed = ALLOWED_METHODS): Response {
  const response = jsonResponse(405, { message: "Method Not Allowed" });
  response.headers.set("allow", allowed.join(", "));
  return response;
}

/** 429: the caller has too much running. */
export function tooManyRequests(message: string, retryAfterSeconds: string): Response {
  const response = jsonResponse(429, { message });
  response.headers.set("retry-after", retryAfterSeconds);
  return response;
}

/** 500: an empty body; the details are logged, never sent to the client. */
export function internalServerError(headers?: Record<string, string>): Response {
  return new Response(null, { status: 500, headers });
}

/** A JSON response with its length, which the response to HEAD has without the body. */
export function jsonResponse(status: number, body: unknown): Response {
  const bytes = new TextEncoder().encode(jsonBody(body));
  const headers = { "content-type": JSON_MEDIA_TYPE, "content-length": String(bytes.length) };
  return new Response(bytes, { status, headers });
}
