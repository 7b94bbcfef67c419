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

interface Answer {
  status: number;
  body: string;
}

/** Creates a client of the service. */
export function createApiClient(options: ApiClientOptions): Api {
  const getText = async (request: ApiRequest) => {
    const { status, body } = await getWithRetry(requestUrl(options.baseUrl, request), {
      ...options,
      signal: request.signal,
    });
    if (status === 200) return body;
    throw failureOf({ status, body }, options.baseUrl);
  };
  return {
    getText: (request) => withoutToken(() => getText(request), options.token),
    getJson: (request, schema) =>
      withoutToken(
        async () => readJson(await getText(request), schema, options.baseUrl),
        options.token,
      ),
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
  const search = parameters.size === 0 ? "" : `?${parameters}`;
  return `${baseUrl}/${parts.join("/")}${search}`;
}

type AttemptOptions = ApiClientOptions & { signal?: AbortSignal | undefined };

async function getWithRetry(url: string, options: AttemptOptions): Promise<Answer> {
  try {
    return await attempt(url, options);
  } catch (error) {
    if (!(error instanceof TransientError)) throw error;
  }
  await pause(options.retryPauseMs ?? RETRY_PAUSE_MS, options.signal);
  options.signal?.throwIfAborted();
  return await attempt(url, options);
}

/** Sends one request and reads the whole body. */
async function attempt(url: string, options: AttemptOptions): Promise<Answer> {
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  // AbortSignal.any would stay registered with a long-lived signal.
  const controller = new AbortController();
  const onAbort = () => controller.abort(options.signal?.reason);
  options.signal?.throwIfAborted();
  options.signal?.addEventListener("abort", onAbort, { once: true });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    controller.abort();
  }, timeoutMs);
  try {
    const response = await followRedirects(url, options, controller.signal);
    const body = await response.text();
    if (TRANSIENT_STATUSES.includes(response.status)) {
      throw new TransientError(
        `The service at ${options.baseUrl} is not available right now (status ${response.status}). ` +
          `Try again in a minute.`,
      );
    }
    return { status: response.status, body };
  } catch (error) {
    if (error instanceof ToolError) throw error;
    options.signal?.throwIfAborted();
    if (timedOut) throw timeoutError(options.baseUrl, timeoutMs);
    throw unreachableError(options.baseUrl, error);
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", onAbort);
  }
}

// fetch itself would follow to any host, with the token.
async function followRedirects(
  url: string,
  { token, userAgent, baseUrl }: AttemptOptions,
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

function failureOf({ status, body }: Answer, baseUrl: string): ToolError {
  if (status === 401) {
    return new ToolError(
      `The service at ${baseUrl} refused the API token (status 401). Ask the user to put a valid ` +
        `token of their organization into ${TOKEN_VARIABLE} in the configuration of this tool ` +
        `server, and to restart it. Calling again before that does not help.`,
    );
  }
  if (status === 404 && isJson(body)) return new NotFoundError("The service does not know that.");
  if (status === 400) {
    const result = v.safeParse(v.pipe(v.string(), v.parseJson(), ERRORS), body);
    if (result.success) return new BadRequestError(result.output.errors);
  }
  if (status >= 500) {
    return new ToolError(
      `The service at ${baseUrl} failed (status ${status}); its log tells why. Try once more ` +
        `later, and tell the user if it goes on.`,
    );
  }
  return unexpectedAnswer(baseUrl, `status ${status}`);
}

function isJson(body: string): boolean {
  return v.is(v.pipe(v.string(), v.parseJson()), body);
}

function readJson<Schema extends v.GenericSchema>(
  body: string,
  schema: Schema,
  baseUrl: string,
): v.InferOutput<Schema> {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), body);
  if (result.success) return result.output;
  const issue = result.issues[0];
  throw unexpectedAnswer(baseUrl, `${v.getDotPath(issue) ?? "body"}: ${issue.message}`);
}

/** The error for a response of something other than this service. */
export function unexpectedAnswer(where: string, reason: string): ToolError {
  return new ToolError(
    `What answers at ${where} does not look like this service (${shorten(reason)}). Ask the user ` +
      `to check ${URL_VARIABLE}.`,
  );
}

function timeoutError(baseUrl: string, timeoutMs: number): ToolError {
  return new ToolError(
    `The service at ${baseUrl} did not answer within ${timeoutMs / 1000} seconds. Try again with ` +
      `a smaller limit, and tell the user if it goes on.`,
  );
}

function unreachableError(baseUrl: string, error: unknown): TransientError {
  const reason = error instanceof Error ? error.message : String(error);
  return new TransientError(
    `The service at ${baseUrl} cannot be reached (${
      shorten(reason)
    }). Ask the user to check that ` +
      `it is running and that ${URL_VARIABLE} holds its address.`,
  );
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= REASON_CHARACTERS ? line : `${line.slice(0, REASON_CHARACTERS)}...`;
}

/** Removes the token from error messages, in case a server echoes the request. */
async function withoutToken<T>(call: () => Promise<T>, token: string): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof Error && error.message.includes(token)) {
      error.message = error.message.replaceAll(token, "[token]");
    }
    throw error;
  }
}
