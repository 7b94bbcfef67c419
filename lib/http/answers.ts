/** Turns what handlers answer into responses, and keeps what is likely to be asked for again. */
import { Cache } from "../cache.ts";
import { acceptsGzip, compress, MIN_COMPRESSED_BYTES } from "./compression.ts";
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
  bytes: Uint8Array<ArrayBuffer> | null;
  nextCursor: string | null;
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
  answer: () => Promise<Answer>;
}) => Promise<Response>;

/** Makes a responder with a cache of its own. */
export function createResponder({ maxCachedBytes = MAX_CACHED_BYTES } = {}): Responder {
  const cache = new Cache<Encoded>({
    maxWeight: maxCachedBytes,
    // The compressed bytes come later, and are never more than the plain ones.
    weigh: ({ bytes }) => ENTRY_OVERHEAD_BYTES + 2 * (bytes?.length ?? 0),
  });
  return async (request, { route, requestId, etag, known, answer }) => {
    const { response: description } = route;
    const headers = commonHeaders(requestId, description);
    if (description.status === 204) {
      await answer();
      return new Response(null, { status: 204, headers });
    }
    const held = matchEtag(request.headers.get("if-none-match"), etag);
    if (held !== null) {
      return new Response(null, { status: 304, headers: { ...headers, etag: held } });
    }
    const encoded = await cache.get(etag, async () => encode(await answer()));
    return await respond(request, { encoded, headers, etag, known, description });
  };
}

async function respond(
  request: Request,
  { encoded, headers, etag, known, description }: {
    encoded: Encoded;
    headers: Record<string, string>;
    etag: string;
    known: Readonly<Record<string, string | undefined>>;
    description: ResponseDescription;
  },
): Promise<Response> {
  let bytes = encoded.bytes;
  Object.assign(headers, encoded.headers);
  headers.etag = etag;
  if (description.mediaType) headers["content-type"] = description.mediaType;
  if (encoded.nextCursor !== null) headers.link = nextLink(known, encoded.nextCursor);
  const isWorthIt = bytes !== null && bytes.length >= MIN_COMPRESSED_BYTES;
  if (bytes && isWorthIt && acceptsGzip(request.headers.get("accept-encoding"))) {
    bytes = await (encoded.compressed ??= compress(bytes));
    headers["content-encoding"] = "gzip";
    headers.etag = weaken(etag);
  }
  headers["content-length"] = String(bytes?.length ?? 0);
  // Headers are handed over whole: setting them one by one costs several times as much.
  return new Response(request.method === "HEAD" ? null : bytes, { status: 200, headers });
}

/** What every response has, whatever it says. */
export function commonHeaders(
  requestId: string,
  description?: ResponseDescription,
): Record<string, string> {
  return {
    "cache-control": description?.cacheControl ?? DEFAULT_CACHE_CONTROL,
    "vary": VARY,
    "x-content-type-options": "nosniff",
    "x-request-id": requestId,
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

function encode({ body, nextCursor = null, headers = {} }: Answer): Encoded {
  return { bytes: body === null ? null : new TextEncoder().encode(body), nextCursor, headers };
}
