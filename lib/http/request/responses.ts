/** Turns what handlers answer into responses, and keeps what is likely to be asked for again. */
import { Buffer } from "node:buffer";
import { type AtHand, use } from "../../base/at_hand.ts";
import { Cache } from "../../base/cache.ts";
import { acceptsGzip, compress, MIN_COMPRESSED_BYTES } from "../server/compression.ts";
import { matchEtag, weaken } from "./etag.ts";
import type { Answer, ResponseDescription, Route } from "./route.ts";

/** What is kept of answers unless somebody says otherwise. */
const MAX_CACHED_BYTES = 32 * 1024 * 1024;

// Key, cursor and what the engine adds to an entry.
const ENTRY_OVERHEAD_BYTES = 500;

/** Of every answer whose route says nothing else. */
export const DEFAULT_CACHE_CONTROL = "private, no-cache";

/** What every answer depends on. */
export const VARY = "Authorization, Accept-Encoding";

/** An answer as it goes over the wire. */
interface Encoded {
  /** Text costs the runtime less to send than bytes do. */
  body: string | null;
  byteLength: number;
  /** All but those of this one response: its request id, its tag, its encoding. */
  headers: Readonly<Record<string, string>>;
  /** Made when first asked for. */
  compressed?: Promise<Uint8Array<ArrayBuffer>>;
}

/** Answers a GET or HEAD whose answer is determined by an entity tag. */
export type Responder = (request: Request, options: {
  route: Route;
  requestId: string;
  etag: string;
  /** Query parameters that the route knows, as they came. */
  known: Readonly<Record<string, string | undefined>>;
  answer: () => AtHand<Answer>;
}) => Promise<Response>;

/** Makes a responder with a cache of its own. */
export function createResponder({ maxCachedBytes = MAX_CACHED_BYTES } = {}): Responder {
  const cache = new Cache<Encoded>({
    maxWeight: maxCachedBytes,
    // The compressed bytes come later, and are never more than the plain ones.
    weigh: ({ byteLength }) => ENTRY_OVERHEAD_BYTES + 2 * byteLength,
    keptAtOnce: "awaited",
  });
  return async (request, { route, requestId, etag, known, answer }) => {
    const { response: description } = route;
    if (description.status === 204) {
      await answer();
      return new Response(null, { status: 204, headers: commonHeaders(requestId, description) });
    }
    const held = matchEtag(request.headers.get("if-none-match"), etag);
    if (held !== null) {
      const headers = { ...commonHeaders(requestId, description), etag: held };
      return new Response(null, { status: 304, headers });
    }
    const encoded = cache.get(
      etag,
      () => use(answer(), (made) => encode(made, { description, known })),
    );
    return use(encoded, (encoded) => respond(request, { encoded, requestId, etag }));
  };
}

function respond(
  request: Request,
  { encoded, requestId, etag }: { encoded: Encoded; requestId: string; etag: string },
): Response | Promise<Response> {
  const { body, byteLength } = encoded;
  // Headers are handed over whole: setting them one by one costs several times as much.
  const headers = { ...encoded.headers, "x-request-id": requestId, etag };
  if (
    body !== null && byteLength >= MIN_COMPRESSED_BYTES &&
    acceptsGzip(request.headers.get("accept-encoding"))
  ) {
    return respondCompressed(request, { encoded, body, headers });
  }
  return new Response(request.method === "HEAD" ? null : body, { status: 200, headers });
}

async function respondCompressed(
  request: Request,
  { encoded, body, headers }: {
    encoded: Encoded;
    body: string;
    headers: Record<string, string>;
  },
): Promise<Response> {
  const bytes = await (encoded.compressed ??= compress(new TextEncoder().encode(body)));
  headers["content-encoding"] = "gzip";
  headers["content-length"] = String(bytes.length);
  headers.etag = weaken(headers.etag!);
  return new Response(request.method === "HEAD" ? null : bytes, { status: 200, headers });
}

/** What every response has, whatever it says. */
export function commonHeaders(
  requestId: string,
  description?: ResponseDescription,
): Record<string, string> {
  return { ...headersOf(description), "x-request-id": requestId };
}

/** Gives a response what every one has; for those that were made without it. */
export function addCommonHeaders(response: Response, requestId: string): Response {
  for (const [name, value] of Object.entries(commonHeaders(requestId))) {
    response.headers.set(name, value);
  }
  return response;
}

function headersOf(description?: ResponseDescription): Record<string, string> {
  return {
    "cache-control": description?.cacheControl ?? DEFAULT_CACHE_CONTROL,
    "vary": VARY,
    "x-content-type-options": "nosniff",
  };
}

/** Relative, so that it holds behind any path prefix. */
function nextLink(
  known: Readonly<Record<string, string | undefined>>,
  nextCursor: string,
): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(known)) {
    if (value !== undefined && name !== "after") parameters.set(name, value);
  }
  parameters.set("after", nextCursor);
  return `<?${parameters}>; rel="next"`;
}

function encode(
  { body, nextCursor = null, headers: own = {} }: Answer,
  { description, known }: {
    description: ResponseDescription;
    known: Readonly<Record<string, string | undefined>>;
  },
): Encoded {
  const byteLength = body === null ? 0 : Buffer.byteLength(body);
  const headers: Record<string, string> = {
    ...headersOf(description),
    ...own,
    "content-length": String(byteLength),
  };
  if (description.mediaType) headers["content-type"] = description.mediaType;
  if (nextCursor !== null) headers.link = nextLink(known, nextCursor);
  return { body, byteLength, headers };
}
