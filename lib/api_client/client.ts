/** Client of the HTTP API: timeout, one retry of transient failures, errors that one can act on. */
import * as v from "valibot";
import { pause } from "../base/delay.ts";
import { quote } from "../base/quote.ts";
import { formatRepositoryName, type RepositoryName } from "../base/repository_name.ts";
import { type ApiSettings, TOKEN_VARIABLE, URL_VARIABLE } from "./api_settings.ts";
import { errorMessage, valueOr } from "../base/error.ts";

/** A failed call: what is wrong, and what an agent or a person can do about it. */
export class ApiError extends Error {
  override name = "ApiError";

  /** @param problem a sentence; the message adds the advice */
  constructor(readonly problem: string, advice = "") {
    super(`${problem} ${advice}`.trimEnd());
  }
}

/** The problem of a repository that the service does not know. */
export function repositoryNotFound(repository: RepositoryName): string {
  return `Repository ${
    formatRepositoryName(repository)
  } is unknown to the service: check --repo, ` +
    "or upload a report of it.";
}

/** A failure that is worth a retry. */
class TransientError extends ApiError {}

export interface GetRequest {
  /** Parts of the path, not encoded. */
  path: readonly string[];
  /** Query parameters; `undefined` ones are left out. */
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Message of the error for status 404, where it is possible. */
  notFound?: string;
}

/**
 * Gets a resource below the base address; the schema parses its body, JSON or text. Fields that the
 * schema does not name are dropped.
 *
 * @param signal cancels the call, which throws its reason
 * @throws {ApiError}
 */
export type ApiClient = <Schema extends v.GenericSchema>(
  request: GetRequest,
  schema: Schema,
  signal?: AbortSignal,
) => Promise<v.InferOutput<Schema>>;

export interface ApiClientOptions extends ApiSettings {
  userAgent: string;
  /** For one attempt, including the body. Agents give up a call after about a minute. */
  timeoutMs?: number;
  /** Sends the requests; the network's unless given. */
  fetch?(url: string, init: RequestInit): Promise<Response>;
}

const TIMEOUT_MS = 15_000;
// Long enough for a restarted service to listen again.
const RETRY_PAUSE_MS = 300;
const TRANSIENT_STATUSES: readonly number[] = [502, 503, 504];

const ERRORS = v.object({ errors: v.record(v.string(), v.array(v.string())) });

const MESSAGE = v.object({ message: v.string() });

/** Creates a client of one service. Its requests throw an {@linkcode ApiError}. */
export function createApiClient(options: ApiClientOptions): ApiClient {
  return async (request, schema, signal) => {
    const body = await get(request, options, signal).catch(async (error) => {
      if (!(error instanceof TransientError)) throw error;
      await pause(RETRY_PAUSE_MS, signal);
      return await get(request, options, signal);
    });
    const result = v.safeParse(schema, body);
    if (result.success) return result.output;
    // Only the place: the message of an issue quotes the body.
    const place = v.getDotPath(result.issues[0]) ?? "body";
    throw unexpectedResponse(options.baseUrl, `unexpected ${place}`);
  };
}

async function get(
  request: GetRequest,
  { baseUrl, token, userAgent, timeoutMs = TIMEOUT_MS, fetch = globalThis.fetch }: ApiClientOptions,
  cancelled?: AbortSignal,
): Promise<unknown> {
  const url = requestUrl(request, baseUrl);
  const timeout = new AbortController();
  const timeoutError = new ApiError(
    `The service at ${baseUrl} did not answer within ${timeoutMs / 1000} seconds.`,
    "Try again with a smaller limit, and tell the user if it keeps timing out.",
  );
  // AbortSignal.timeout would keep its timer after the response.
  const timer = setTimeout(() => timeout.abort(timeoutError), timeoutMs);
  const signal = cancelled ? AbortSignal.any([cancelled, timeout.signal]) : timeout.signal;
  try {
    signal.throwIfAborted();
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${token}`, "user-agent": userAgent },
      redirect: "manual",
      signal,
    });
    const body = await response.text();
    if (response.status === 200) return valueOf(body);
    // The service may echo the request, token included.
    throw errorOf(response, valueOf(body.replaceAll(token, "[token]")), request, baseUrl);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    signal.throwIfAborted();
    const reason = errorMessage(error);
    throw new TransientError(
      `The service at ${baseUrl} cannot be reached (${reason}).`,
      `Ask the user to check that it is running and that ${URL_VARIABLE} holds its address.`,
    );
  } finally {
    clearTimeout(timer);
  }
}

/** The URL of a request: the base URL, with its path prefix, and the path. */
function requestUrl({ path, query = {}, notFound }: GetRequest, baseUrl: string): string {
  // URL parsing removes these two, encoded or not.
  if (path.some((part) => part === "." || part === "..")) throw new ApiError(notFound ?? "");
  const parts = path.map((part) => encodeURIComponent(part.toWellFormed()));
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const search = parameters.size === 0 ? "" : `?${parameters}`;
  return `${baseUrl}/${parts.join("/")}${search}`;
}

/** The value of a body of JSON, otherwise its text. */
function valueOf(body: string): unknown {
  return valueOr(() => JSON.parse(body), body);
}

function errorOf(
  { status, headers }: Response,
  body: unknown,
  { notFound }: GetRequest,
  baseUrl: string,
): ApiError {
  if (status >= 500) {
    const Kind = TRANSIENT_STATUSES.includes(status) ? TransientError : ApiError;
    return new Kind(
      `The service at ${baseUrl} failed (status ${status}); its log has the details.`,
      "Try again in a minute, and tell the user if it keeps failing.",
    );
  }
  if (status === 401 && v.is(MESSAGE, body)) {
    // The API's has no body, so it comes from `receive` or a proxy.
    return new ApiError(
      `${baseUrl} is not the API (status 401: ${quote(body.message)}).`,
      `Ask the user to check ${URL_VARIABLE}.`,
    );
  }
  if (status === 401) {
    return new ApiError(
      `The service at ${baseUrl} rejected the API token (status 401): ${TOKEN_VARIABLE} needs a valid one.`,
      `Ask the user to put a valid token of their organization into ${TOKEN_VARIABLE} in the ` +
        "configuration of this tool server, and to restart it. Calling again before that does not " +
        "help.",
    );
  }
  // A 404 without JSON comes from another program.
  if (status === 404 && notFound && typeof body !== "string") return new ApiError(notFound);
  if (status === 400 && v.is(ERRORS, body)) {
    const lines = Object.entries(body.errors).map(([name, messages]) =>
      `${name}: ${messages.join("; ")}`
    );
    return new ApiError(`Invalid arguments: ${lines.join(" | ")}.`, "Correct them and call again.");
  }
  // Redirects are not followed, so that the token is not sent elsewhere.
  const location = headers.get("location");
  const redirect = location === null ? "" : `, redirects to ${quote(location)}`;
  return unexpectedResponse(baseUrl, `status ${status}${redirect}`);
}

function unexpectedResponse(baseUrl: string, reason: string): ApiError {
  return new ApiError(
    `The response from ${baseUrl} does not look like this service (${reason}).`,
    `Ask the user to check ${URL_VARIABLE}.`,
  );
}
