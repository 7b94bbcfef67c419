// Tests: tests/lib/forge/publish_test.ts tests/lib/forge/target_test.ts
/** Requests to the API of a forge: bounded in time and size, classified errors, pages. */
import * as v from "valibot";
import { errorMessage, valueOr } from "../base/error.ts";
import { readBody } from "../base/read_body.ts";
import { oneLine } from "../base/text.ts";
import { VERSION } from "../base/version.ts";
import { ForgeError, type WaitToRetry } from "./forge.ts";

export interface ForgeAccess {
  /** Base address of the API without a trailing slash. */
  apiUrl: string;
  token: string;
  /** Headers with the token. */
  headers: Readonly<Record<string, string>>;
  /** Cancels all requests. */
  stop?: AbortSignal;
  /** For one request, including the body. */
  timeoutMs?: number;
  /** The time that is left for all requests together. */
  leftMs?(): number;
}

interface ForgeRequest {
  method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Below the base address, encoded, or a whole address. */
  path: string;
  body?: unknown;
}

// `publish.ts` depends on it: a write is applied within this time, or not at all.
const REQUEST_TIMEOUT_MS = 5_000;

/** A page of 100 comments of 64 Ki characters of 4 bytes each, escaped. */
const MAX_BODY_BYTES = 64 << 20;

const MAX_REDIRECTS = 3;

/** 100 comments each. */
const MAX_PAGES = 100;

/** The response to a request, whatever its status: its body as JSON, `null` for an empty one. */
async function requestJson(
  { method = "GET", path, body }: ForgeRequest,
  access: ForgeAccess,
): Promise<{ status: number; value: unknown; headers: Headers }> {
  const { apiUrl, headers, stop, leftMs = () => Infinity } = access;
  let url = new URL(path.startsWith("/") ? apiUrl + path : path);
  const { host } = url;
  const timeoutMs = Math.min(access.timeoutMs ?? REQUEST_TIMEOUT_MS, leftMs());
  if (timeoutMs <= 0) throw new ForgeError("transient", `${host} did not answer in time`);
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  const signal = stop ? AbortSignal.any([stop, timeout.signal]) : timeout.signal;
  try {
    for (let redirects = 0;; redirects++) {
      const response = await fetch(url, {
        method,
        headers: {
          ...headers,
          "user-agent": `test-analytics/${VERSION}`,
          ...body !== undefined && { "content-type": "application/json" },
        },
        ...body !== undefined && { body: JSON.stringify(body) },
        redirect: "manual",
        signal,
      });
      const location = response.headers.get("location");
      if (response.status < 300 || response.status > 399 || location === null) {
        const text = await readText(response);
        const value = text === "" ? null : valueOr((): unknown => JSON.parse(text), text);
        return { status: response.status, value, headers: response.headers };
      }
      await response.body?.cancel();
      // A repository that was renamed. The token is sent nowhere else.
      const next = URL.parse(location, url);
      if (next?.origin !== url.origin || redirects === MAX_REDIRECTS) {
        throw new ForgeError("failed", `${host} redirects (status ${response.status})`);
      }
      url = next;
    }
  } catch (error) {
    if (error instanceof ForgeError) throw error;
    if (stop?.aborted) throw new ForgeError("failed", "stopped");
    const reason = timeout.signal.aborted
      ? `did not answer within ${Math.round(timeoutMs) / 1000} seconds`
      : `cannot be reached (${errorMessage(error)})`;
    throw new ForgeError("transient", `${host} ${reason}`);
  } finally {
    clearTimeout(timer);
  }
}

/** The response to a request: its body as JSON, and its headers. @throws {ForgeError} for a status but 2xx */
export async function requestOk(request: ForgeRequest, access: ForgeAccess) {
  const startedAt = performance.now();
  try {
    const response = await requestJson(request, access);
    if (response.status >= 200 && response.status <= 299) return response;
    throw errorOf(response, new URL(access.apiUrl).host, access.token);
  } catch (error) {
    if (error instanceof ForgeError) error.details.tookMs = performance.now() - startedAt;
    throw error;
  }
}

/** Repeats a request for as long as the forge refuses it for now, and `wait` does not throw. */
export async function retried<Value>(
  request: () => Promise<Value>,
  wait: WaitToRetry,
): Promise<Value> {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof ForgeError) || error.kind !== "transient") throw error;
      await wait(error);
    }
  }
}

/**
 * The items of a list, over all its pages, as the header `Link` names them. A page that is refused for now
 * is requested again, not those before it: a limit of requests could be reached on each of many.
 */
export async function requestPages(
  path: string,
  access: ForgeAccess,
  wait: WaitToRetry = (error) => Promise.reject(error),
): Promise<unknown[]> {
  const items: unknown[] = [];
  const seen = new Set<string>();
  let next: string | null = path;
  while (next !== null) {
    if (seen.has(next) || seen.size === MAX_PAGES) {
      throw new ForgeError("failed", `more than ${MAX_PAGES} pages, or pages in a circle`);
    }
    seen.add(next);
    const page = next;
    const { value, headers } = await retried(() => requestOk({ path: page }, access), wait);
    if (!Array.isArray(value)) {
      throw new ForgeError("failed", `${new URL(access.apiUrl).host} answered without a list`);
    }
    items.push(...value);
    next = nextPage(headers.get("link"), page, access.apiUrl);
  }
  return items;
}

/**
 * The next page, always on the host that was asked: a forge behind a proxy may name its inner address, and
 * the token is sent nowhere else.
 */
function nextPage(link: string | null, page: string, apiUrl: string): string | null {
  const [, address] = /<([^>]*)>\s*;[^<]*\brel="?next\b/.exec(link ?? "") ?? [];
  if (address === undefined) return null;
  const url = new URL(page.startsWith("/") ? apiUrl + page : page);
  const next = URL.parse(address, url);
  if (next === null) throw new ForgeError("failed", "the address of the next page is invalid");
  const isBelow = next.pathname.startsWith(new URL(apiUrl).pathname.replace(/\/*$/, "/"));
  // The proxy may have a path of its own, too: then only the query can be taken.
  url.pathname = isBelow ? next.pathname : url.pathname;
  url.search = next.search;
  return url.href;
}

/** How GitHub words its secondary limit, which has the status of a missing permission and no other sign. */
const LIMIT_MESSAGE = /\brate limit\b|\babuse detection\b/i;

/** The error for a status; tells a limit of requests from a missing permission. */
function errorOf(
  { status, value, headers }: { status: number; value: unknown; headers: Headers },
  host: string,
  token: string,
): ForgeError {
  const isLimit = status === 429 ||
    status === 403 &&
      (headers.has("retry-after") || headers.get("x-ratelimit-remaining") === "0" ||
        LIMIT_MESSAGE.test(messageOf(value, token)));
  const isTransient = isLimit || status >= 500 || status === 409 || status === 408;
  const isDenied = [401, 403, 404, 410].includes(status);
  return new ForgeError(
    isTransient ? "transient" : isDenied ? "denied" : "failed",
    `${host} answered with status ${status}${messageOf(value, token)}`,
    { status, retryAfterMs: isTransient ? retryAfterMs(headers) : 0 },
  );
}

/** The forge's own words, which help with a missing permission. */
function messageOf(value: unknown, token: string): string {
  const message = typeof value === "object" && value !== null && "message" in value
    ? value.message
    : null;
  if (typeof message !== "string" || message === "") return "";
  return `: ${oneLine(message.replaceAll(token, "[token]")).slice(0, 200)}`;
}

function retryAfterMs(headers: Headers): number {
  const after = headers.get("retry-after");
  if (after !== null && /^\d{1,9}$/.test(after)) return Number(after) * 1000;
  const date = Date.parse(after ?? "");
  if (!Number.isNaN(date)) return Math.max(0, date - Date.now());
  const reset = headers.get("x-ratelimit-reset");
  if (headers.get("x-ratelimit-remaining") === "0" && /^\d{1,12}$/.test(reset ?? "")) {
    return Math.max(0, Number(reset) * 1000 - Date.now());
  }
  return 0;
}

async function readText(response: Response): Promise<string> {
  const bytes = await readBody(response.body, { maxBytes: MAX_BODY_BYTES });
  if (typeof bytes === "string") throw new ForgeError("failed", "a response is too large");
  return new TextDecoder().decode(bytes);
}

/** A value of a response. @throws {ForgeError} when it does not fit the schema */
export function parseResponse<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  // Only the place: the message of an issue quotes the body.
  const place = v.getDotPath(result.issues[0]) ?? "body";
  throw new ForgeError("failed", `unexpected ${place} in the response of the forge`);
}
