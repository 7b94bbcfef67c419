/** Client of the HTTP API: timeout, one retry of transient failures, errors that a model can act on. */
import * as v from "valibot";
import { pause } from "../base/delay.ts";
import { type ApiSettings, TOKEN_VARIABLE, URL_VARIABLE } from "./settings.ts";
import { BadRequestError, NotFoundError, ToolError } from "./tool_error.ts";

/** The requests that the tools make. */
export interface Api {
  /**
   * Gets a text below the base address.
   *
   * @throws {NotFoundError | BadRequestError | ToolError}
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
const REASON_CHARACTERS = 200;

const ERRORS = v.object({ errors: v.record(v.string(), v.array(v.string())) });

/** A failure that is worth a retry. */
class TransientError extends ToolError {}

type Options = ApiClientOptions & { signal: AbortSignal | undefined };

/** Creates a client of the service. */
export function createApiClient(options: ApiClientOptions): Api {
  const getText = async (request: ApiRequest) => {
    const { signal } = request;
    const url = requestUrl(options.baseUrl, request);
    try {
      return await get(url, { ...options, signal });
    } catch (error) {
      if (!(error instanceof TransientError)) throw error;
    }
    await pause(options.retryPauseMs ?? RETRY_PAUSE_MS, signal);
    return await get(url, { ...options, signal });
  };
  /** Removes the token from error messages, in case a server echoes the request. */
  const withoutToken = (error: unknown): never => {
    if (error instanceof Error && error.message.includes(options.token)) {
      error.message = error.message.replaceAll(options.token, "[token]");
    }
    throw error;
  };
  return {
    getText: (request) => getText(request).catch(withoutToken),
    getJson: (request, schema) =>
      getText(request).then((body) => {
        const result = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), body);
        if (result.success) return result.output;
        const [issue] = result.issues;
        const reason = `${v.getDotPath(issue) ?? "body"}: ${issue.message}`;
        throw unexpectedAnswer(options.baseUrl, reason);
      }).catch(withoutToken),
  };
}

/** The URL of a request: the base URL, with its path prefix, and the path. */
function requestUrl(baseUrl: string, { path, query = {} }: ApiRequest): string {
  const parts = path.map((part) => {
    // URL parsing removes these two, encoded or not.
    if (part === "." || part === "..") throw new NotFoundError(`Nothing is called "${part}".`);
    return encodeURIComponent(part.toWellFormed());
  });
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return `${baseUrl}/${parts.join("/")}${parameters.size === 0 ? "" : `?${parameters}`}`;
}

/** Sends one request and reads the whole body. */
async function get(url: string, options: Options): Promise<string> {
  const { baseUrl, signal, timeoutMs = TIMEOUT_MS } = options;
  signal?.throwIfAborted();
  // AbortSignal.any would stay registered with a long-lived signal.
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    controller.abort();
  }, timeoutMs);
  try {
    const response = await followRedirects(url, options, controller.signal);
    const body = await response.text();
    if (response.status === 200) return body;
    throw failureOf(response.status, body, baseUrl);
  } catch (error) {
    if (error instanceof ToolError) throw error;
    signal?.throwIfAborted();
    if (timedOut) {
      throw new ToolError(
        `The service at ${baseUrl} did not answer within ${timeoutMs / 1000} seconds. Try again ` +
          "with a smaller limit, and tell the user if it goes on.",
      );
    }
    const reason = shorten(error instanceof Error ? error.message : String(error));
    throw new TransientError(
      `The service at ${baseUrl} cannot be reached (${reason}). Ask the user to check that it is ` +
        `running and that ${URL_VARIABLE} holds its address.`,
    );
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

// fetch itself would follow to any host, with the token.
async function followRedirects(
  url: string,
  { token, userAgent, baseUrl }: Options,
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
        `The service at ${baseUrl} redirects to ${target?.origin ?? "nowhere"}, which was not ` +
          `followed, so that the token stays with the host it was meant for. If that is the right ` +
          `address, ask the user to set ${URL_VARIABLE} to it.`,
      );
    }
    current = target;
  }
  throw new ToolError(
    `The service at ${baseUrl} redirects in circles. Ask the user to check ${URL_VARIABLE}.`,
  );
}

function failureOf(status: number, body: string, baseUrl: string): ToolError {
  if (TRANSIENT_STATUSES.includes(status)) {
    return new TransientError(
      `The service at ${baseUrl} is not available right now (status ${status}). Try again in a ` +
        "minute.",
    );
  }
  if (status === 401) {
    return new ToolError(
      `The service at ${baseUrl} refused the API token (status 401). Ask the user to put a valid ` +
        `token of their organization into ${TOKEN_VARIABLE} in the configuration of this tool ` +
        `server, and to restart it. Calling again before that does not help.`,
    );
  }
  const json = v.safeParse(v.pipe(v.string(), v.parseJson()), body);
  if (status === 404 && json.success) return new NotFoundError("The service does not know that.");
  if (status === 400 && v.is(ERRORS, json.output)) return new BadRequestError(json.output.errors);
  if (status >= 500) {
    return new ToolError(
      `The service at ${baseUrl} failed (status ${status}); its log tells why. Try once more ` +
        `later, and tell the user if it goes on.`,
    );
  }
  return unexpectedAnswer(baseUrl, `status ${status}`);
}

/** The error for a response of something other than this service. */
export function unexpectedAnswer(where: string, reason: string): ToolError {
  return new ToolError(
    `What answers at ${where} does not look like this service (${shorten(reason)}). Ask the user ` +
      `to check ${URL_VARIABLE}.`,
  );
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= REASON_CHARACTERS ? line : `${line.slice(0, REASON_CHARACTERS)}...`;
}
