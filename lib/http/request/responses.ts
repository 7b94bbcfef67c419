/** Turns what handlers return into responses: headers, entity tags, compression, and a cache. */
import { LRUCache } from "lru-cache";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { RepositoryVersion } from "../../../db/read/caller.ts";
import { buildId as ownBuildId } from "../../system/build.ts";
import type { ListFormat } from "./list_format.ts";
import type { RawParameters } from "./parameters.ts";
import type { Endpoint, HandlerResult } from "./route.ts";

// Headers and what the engine adds to an entry.
const ENTRY_OVERHEAD_BYTES = 500;

// 132 bits: two different responses never share a tag by accident.
const TAG_CHARACTERS = 22;

/** Below this size the gzip header outweighs what compression saves. */
const MIN_COMPRESSED_BYTES = 256;

/** Long enough for every tracing system, short enough for a line of a log. */
const VALID_REQUEST_ID = /^[\w.:/+=@~-]{1,128}$/;

interface CachedResponse {
  etag: string;
  /** A string, which the runtime sends faster than bytes. */
  body: string;
  byteLength: number;
  /** All but the id of the request; `content-length` and `etag` describe the uncompressed bytes. */
  headers: Readonly<Record<string, string>>;
  /** Created when first requested. */
  compressed?: Promise<Uint8Array<ArrayBuffer>>;
}

/** A GET or HEAD that is to be answered. */
interface ResponseContext {
  route: Endpoint;
  requestId: string;
  key: ResponseKey;
}

/** Everything that a response depends on, except the build of the program. */
export interface ResponseKey {
  path: string;
  /** Query parameters that the route knows, as they were sent. */
  parameters: RawParameters;
  windowSeconds: number;
  /**
   * Of a page: its links begin with `root`, it says how many days ago something was, in a time zone, and its
   * commands have the address for uploads. Only with a session it has a form to sign out, and only for those
   * who may act a link to their tokens (`""`) and forms, with the token of the session.
   */
  page: {
    root: string;
    today: number;
    zone: string;
    zoneDay: number;
    uploadUrl: string;
    hasSession: boolean;
    formToken: string | null;
  } | null;
  /** Seconds or days since 1970 where the response depends on them, otherwise `null`. */
  now: number | null;
  /** `null` for a route without data, whose response is the same for every caller. */
  organizationId: number | null;
  organizationName: string | null;
  repositories: readonly RepositoryVersion[];
}

let ownId: string | undefined;

/** Creates responses, and keeps them. A browser must not keep the pages of another build. */
export function createResponder(maxCachedBytes: number, buildId = (ownId ??= ownBuildId())) {
  const cache = new LRUCache<string, CachedResponse>({
    maxSize: Math.ceil(maxCachedBytes),
    // The compressed bytes come later: of JSON less than half of the plain ones.
    sizeCalculation: ({ byteLength }, key) =>
      ENTRY_OVERHEAD_BYTES + key.length + Math.ceil(1.5 * byteLength),
  });

  /** Responds from the cache; returns `null` for a response that is not in it. */
  function cached(request: Request, { requestId, key }: ResponseContext): Promise<Response> | null {
    const response = cache.get(JSON.stringify(key));
    return response ? respond(request, response, requestId) : null;
  }

  /** Responds with 304 if the client has the response; `null` otherwise. */
  function unchanged(
    request: Request,
    { route: { response: { status, cacheControl } }, requestId, key }: ResponseContext,
  ): Response | null {
    const ifNoneMatch = request.headers.get("if-none-match");
    if (ifNoneMatch === null || status === 204) return null;
    // A tag is the hash of the dependencies, not of the body: a 304 needs no body.
    const matchedTag = matchEtag(ifNoneMatch, makeEtag(buildId + JSON.stringify(key)));
    return matchedTag === null ? null : notModified(matchedTag, requestId, cacheControl);
  }

  /** Responds with what a handler returned; the key is of what it saw. */
  async function created(
    request: Request,
    context: ResponseContext,
    result: HandlerResult,
  ): Promise<Response> {
    const { route: { response: { status, cacheControl } }, requestId } = context;
    if (status === 204) {
      return new Response(null, { status, headers: commonHeaders(requestId, cacheControl) });
    }
    if (result.redirect !== undefined) {
      const headers = { ...commonHeaders(requestId, cacheControl), location: result.redirect };
      return new Response(null, { status: 302, headers });
    }
    const key = JSON.stringify(context.key);
    const response = prepare(result, makeEtag(buildId + key), context);
    if (result.isWrong) {
      const { etag: _, ...headers } = response.headers;
      const wrong = new Response(response.body, { status: 400, headers });
      return completeError(request, wrong, requestId);
    }
    cache.set(key, response);
    return await respond(request, response, requestId);
  }

  return { cached, unchanged, created };
}

/** 304, with the tag as the client sent it. */
export function notModified(etag: string, requestId: string, cacheControl?: string): Response {
  const headers = { ...commonHeaders(requestId, cacheControl), etag };
  return new Response(null, { status: 304, headers });
}

async function respond(
  request: Request,
  cached: CachedResponse,
  requestId: string,
): Promise<Response> {
  const { body, byteLength, etag } = cached;
  const matchedTag = matchEtag(request.headers.get("if-none-match"), etag);
  if (matchedTag !== null) {
    return notModified(matchedTag, requestId, cached.headers["cache-control"]);
  }
  const headers: Record<string, string> = { ...cached.headers, "x-request-id": requestId };
  let content: string | Uint8Array<ArrayBuffer> = body;
  if (
    byteLength >= MIN_COMPRESSED_BYTES && acceptsGzip(request.headers.get("accept-encoding"))
  ) {
    content = await (cached.compressed ??= compress(body));
    headers["content-encoding"] = "gzip";
    headers["content-length"] = String(content.length);
    headers.etag = `W/${etag}`;
  }
  return new Response(request.method === "HEAD" ? null : content, { status: 200, headers });
}

function prepare(
  { body, nextCursor = null, headers: own = {} }: HandlerResult,
  etag: string,
  { route: { response: { mediaType, cacheControl } }, key: { parameters } }: ResponseContext,
): CachedResponse {
  const byteLength = Buffer.byteLength(body);
  const headers: Record<string, string> = {
    ...sharedHeaders(cacheControl),
    ...own,
    "content-length": String(byteLength),
    etag,
  };
  if (mediaType) headers["content-type"] = mediaType;
  if (nextCursor !== null) headers.link = nextLink(parameters, nextCursor);
  return { etag, body, byteLength, headers };
}

/** Relative, so that it is right behind any path prefix. */
function nextLink({ after: _, ...parameters }: RawParameters, nextCursor: string): string {
  return `<?${new URLSearchParams({ ...parameters, after: nextCursor })}>; rel="next"`;
}

/** Completes an error response with the headers of every response, and drops the body for HEAD. */
export function completeError(request: Request, response: Response, requestId: string): Response {
  for (const [name, value] of Object.entries(commonHeaders(requestId))) {
    response.headers.set(name, value);
  }
  if (request.method !== "HEAD") return response;
  return new Response(null, { status: response.status, headers: response.headers });
}

/** Returns the id that a client or proxy sent with a request when it is valid, otherwise a new one. */
export function requestIdOf(request: Request): string {
  const sent = request.headers.get("x-request-id");
  return sent !== null && VALID_REQUEST_ID.test(sent) ? sent : crypto.randomUUID();
}

/** The headers of every response. */
export function commonHeaders(requestId: string, cacheControl?: string) {
  return { ...sharedHeaders(cacheControl), "x-request-id": requestId };
}

function sharedHeaders(cacheControl = "private, no-cache") {
  return {
    "cache-control": cacheControl,
    "vary": "Authorization, Accept-Encoding",
    "x-content-type-options": "nosniff",
  };
}

/** The entity tag of what depends on nothing but the build of the program and this value. */
export function etagOf(value: unknown): string {
  return makeEtag((ownId ??= ownBuildId()) + JSON.stringify(value));
}

function makeEtag(key: string): string {
  const digest = createHash("sha256").update(key).digest("base64url");
  return `"${digest.slice(0, TAG_CHARACTERS)}"`;
}

/**
 * Compares weakly, as `If-None-Match` requires, with a list of tags or `*`. Returns the tag as the
 * client sent it, weak or strong, `null` when none matches.
 */
export function matchEtag(ifNoneMatch: string | null, etag: string): string | null {
  if (ifNoneMatch === null) return null;
  if (ifNoneMatch.trim() === "*") return etag;
  for (const [tag] of ifNoneMatch.matchAll(/(?:W\/)?"[^"]*"/g)) {
    if (tag === etag || tag === `W/${etag}`) return tag;
  }
  return null;
}

/** Compresses off the main thread. */
async function compress(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await promisify(gzip)(text));
}

/** Whether an `Accept-Encoding` header names gzip, with a quality other than 0. */
export function acceptsGzip(acceptEncoding: string | null): boolean {
  const [, quality = "1"] = /\bgzip\s*(?:;\s*q=([\d.]+))?/i.exec(acceptEncoding ?? "") ??
    /\*\s*(?:;\s*q=([\d.]+))?/.exec(acceptEncoding ?? "") ?? ["", "0"];
  return Number(quality) > 0;
}

/** Media types by which a client asks for the format of a list; `null` is the usual one. */
const FORMAT_OF_MEDIA_TYPE: Readonly<Record<string, ListFormat | null>> = {
  "text/csv": "csv",
  "application/x-ndjson": "ndjson",
  "application/ndjson": "ndjson",
  "application/jsonl": "ndjson",
  "application/json": null,
  "application/*": null,
  "*/*": null,
};

/** The format that an `Accept` header prefers; of equal ones the first. */
export function acceptedFormat(accept: string | null): ListFormat | null {
  let best: { format: ListFormat | null; quality: number } = { format: null, quality: 0 };
  for (const range of (accept ?? "").split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    if (!Object.hasOwn(FORMAT_OF_MEDIA_TYPE, type)) continue;
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const quality = weight === undefined ? 1 : Number(weight.slice(2));
    if (quality > best.quality) best = { format: FORMAT_OF_MEDIA_TYPE[type]!, quality };
  }
  return best.format;
}
