/**
 * The `Host` of a request. The runtime accepts any and none, and makes the URL of it: with
 * `Host: a/repos?` a request for `/health` would be one for `/repos`, past the rules of a proxy.
 */

/** A name or address with an optional port. */
const HOST = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d+)?$/i;

/** What the runtime puts in its place when there is none. Requests of HTTP/2 have an authority instead. */
const NO_HOST = /^http:\/\/localhost:\d+\//;

/** A 400 with an empty body, as the runtime answers malformed requests; `null` when the host is valid. */
export function refuseInvalidHost({ headers, url }: Request): Response | null {
  const host = headers.get("host");
  if (host === null ? !NO_HOST.test(url) : HOST.test(host)) return null;
  return new Response(null, { status: 400, headers: { connection: "close" } });
}
