/** Client of the HTTP API: timeout, one retry of transient failures, errors that a model can act on. */
import * as v from "valibot";
import { pause } from "../base/delay.ts";
import { type ApiSettings, TOKEN_VARIABLE, URL_VARIABLE } from "./settings.ts";
import { NotFoundError, ToolError } from "./tool_error.ts";

/** The requests that the tools make. */
export interface Api {
  /**
   * Gets a text below the base address.
   *
   * @throws {ToolError}
   */
  getText(request: ApiRequest): Promise<string>;
  /** Gets JSON of a shape; fields that the schema does not name are dropped. */
  getJson<Schema extends v.GenericSchema>(
    request: ApiRequest,
    schema: Schema,
  ): Promise<v.InferOutput<Schema>>;
}

/** One GET request. */
export interface ApiRequest {
  /** Parts of the path, not encoded. */
  path: readonly string[];
  /** Query parameters; `undefined` ones are left out. */
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Message of the error for status 404. */
  notFound: string;
  /** Names of the tool's arguments by query parameter, where they differ. */
  argumentNames?: Readonly<Record<string, string>>;
  /** Aborted when the client cancels the call. */
  signal?: AbortSignal;
}

/** Settings of the client; tests shorten the times. */
export interface ApiClientOptions extends ApiSettings {
  userAgent: string;
  /** For one attempt, including the body. Agents give up a call after about a minute. */
  timeoutMs?: number;
  /** Delay before the retry: long enough for a restarted service to listen again. */
  retryPauseMs?: number;
}

const TIMEOUT_MS = 15_000;
const RETRY_PAUSE_MS = 300;
const TRANSIENT_STATUSES: readonly number[] = [502, 503, 504];
const REDIRECT_STATUSES: readonly number[] = [301, 302, 303, 307, 308];
const MAX_REDIRECTS = 5;
const MAX_REASON_CHARACTERS = 200;

const ERRORS = jsonOf(v.object({ errors: v.record(v.string(), v.array(v.string())) }));

/** A failure that is worth a retry. */
class TransientError extends ToolError {}

/** Creates a client of the service. */
export function createApiClient(options: ApiClientOptions): Api {
  const { baseUrl, retryPauseMs = RETRY_PAUSE_MS } = options;
  const getText = async (request: ApiRequest) => {
    try {
      return await get(request, options);
    } catch (error) {
      if (!(error instanceof TransientError)) throw error;
    }
    await pause(retryPauseMs, request.signal);
    return await get(request, options);
  };
  return {
    getText,
    async getJson(request, schema) {
      const result = v.safeParse(jsonOf(schema), await getText(request));
      if (result.success) return result.output;
      // Only the place: the message of an issue quotes the body.
      throw unexpectedAnswer(baseUrl, `unexpected ${v.getDotPath(result.issues[0]) ?? "body"}`);
    },
  };
}

function jsonOf<Schema extends v.GenericSchema>(schema: Schema) {
  return v.pipe(v.string(), v.parseJson(), schema);
}

/** The URL of a request: the base URL, with its path prefix, and the path. */
function requestUrl({ path, query = {}, notFound }: ApiRequest, baseUrl: string): string {
  // URL parsing removes these two, encoded or not.
  if (path.some((part) => part === "." || part === "..")) throw new NotFoundError(notFound);
  const parts = path.map((part) => encodeURIComponent(part.toWellFormed()));
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const search = parameters.size === 0 ? "" : `?${parameters}`;
  return `${baseUrl}/${parts.join("/")}${search}`;
}

/** Sends one request and reads the whole body. */
async function get(request: ApiRequest, options: ApiClientOptions): Promise<string> {
  const { baseUrl, token, timeoutMs = TIMEOUT_MS } = options;
  const url = requestUrl(request, baseUrl);
  const timeout = new AbortController();
  // AbortSignal.timeout would keep its timer after the response.
  const timer = setTimeout(() => timeout.abort(timeoutError(baseUrl, timeoutMs)), timeoutMs);
  const signal = request.signal
    ? AbortSignal.any([request.signal, timeout.signal])
    : timeout.signal;
  try {
    signal.throwIfAborted();
    const response = await followRedirects(url, options, signal);
    const body = await response.text();
    if (response.status === 200) return body;
    // The service may echo the request, token included.
    throw errorOf(response.status, body.replaceAll(token, "[token]"), request, baseUrl);
  } catch (error) {
    if (error instanceof ToolError) throw error;
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    throw new TransientError(
      `The service at ${baseUrl} cannot be reached (${shorten(reason)}). Ask the user to check ` +
        `that it is running and that ${URL_VARIABLE} holds its address.`,
    );
  } finally {
    clearTimeout(timer);
  }
}

// fetch itself would follow to any host.
async function followRedirects(
  url: string,
  { token, userAgent, baseUrl }: ApiClientOptions,
  signal: AbortSignal,
): Promise<Response> {
  let current = new URL(url);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const response = await fetch(current, {
      headers: { authorization: `Bearer ${token}`, "user-agent": userAgent },
      redirect: "manual",
      signal,
    });
    if (!REDIRECT_STATUSES.includes(response.status)) return response;
    await response.body?.cancel();
    const target = URL.parse(response.headers.get("location") ?? "", current);
    if (target?.origin !== current.origin) {
      throw new ToolError(
        `The service at ${baseUrl} redirects to another host, ${
          target?.origin ?? "unknown"
        }. The ` +
          `token is not sent there. If that address is right, ask the user to set ` +
          `${URL_VARIABLE} to it.`,
      );
    }
    current = target;
  }
  throw new ToolError(
    `The service at ${baseUrl} redirects in circles. Ask the user to check ${URL_VARIABLE}.`,
  );
}

/** The error for any status but 200. */
function errorOf(status: number, body: string, request: ApiRequest, baseUrl: string): ToolError {
  if (TRANSIENT_STATUSES.includes(status)) {
    return new TransientError(
      `The service at ${baseUrl} is not available right now (status ${status}). Try again in a ` +
        `minute.`,
    );
  }
  if (status === 401) {
    return new ToolError(
      `The service at ${baseUrl} rejected the API token (status 401). Ask the user to put a valid ` +
        `token of their organization into ${TOKEN_VARIABLE} in the configuration of this tool ` +
        `server, and to restart it. Calling again before that does not help.`,
    );
  }
  // A 404 without JSON comes from another program.
  if (status === 404 && v.is(jsonOf(v.unknown()), body)) return new NotFoundError(request.notFound);
  if (status === 400) {
    const result = v.safeParse(ERRORS, body);
    if (result.success) return argumentError(result.output.errors, request.argumentNames);
  }
  if (status >= 500) {
    return new ToolError(
      `The service at ${baseUrl} failed (status ${status}); its log has the details. Try once ` +
        `more later, and tell the user if it keeps failing.`,
    );
  }
  return unexpectedAnswer(baseUrl, `status ${status}`);
}

/** The error for invalid parameters, with the names that the tool has for them. */
function argumentError(
  errors: Readonly<Record<string, string[]>>,
  names: Readonly<Record<string, string>> = {},
): ToolError {
  const lines = Object.entries(errors).map(([parameter, messages]) =>
    `${names[parameter] ?? parameter}: ${messages.join("; ")}`
  ).join(" | ").replaceAll("metadata.after", "next_cursor");
  return new ToolError(`Invalid arguments: ${lines}. Correct them and call again.`);
}

/** The error for a response of something other than this service. */
export function unexpectedAnswer(baseUrl: string, reason: string): ToolError {
  return new ToolError(
    `The response from ${baseUrl} does not look like this service (${reason}). Ask the user to ` +
      `check ${URL_VARIABLE}.`,
  );
}

function timeoutError(baseUrl: string, timeoutMs: number): ToolError {
  return new ToolError(
    `The service at ${baseUrl} did not answer within ${timeoutMs / 1000} seconds. Try again with ` +
      `a smaller limit, and tell the user if it keeps timing out.`,
  );
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  const { length } = line;
  return length <= MAX_REASON_CHARACTERS ? line : `${line.slice(0, MAX_REASON_CHARACTERS)}...`;
}
