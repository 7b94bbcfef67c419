import { IttyRouter } from "itty-router";
import type { RawParameters, Route } from "./route.ts";

/** The route of a path, and the parts of the path that vary, decoded. */
export interface RouteMatch {
  route: Route;
  parameters: RawParameters;
}

/** Path and query of a URL, cut by hand: a client's `Host` header may make it unreadable as a URL. */
export function splitUrl(url: string): { path: string; search: string } {
  const [, path = "", search = ""] = /^[a-z]+:\/\/[^/?#]*([^?#]*)(\?[^#]*)?/i.exec(url) ?? [];
  return { path, search };
}

/**
 * Finds routes by path, whatever the method: what is wrong with the method is only said after it is
 * known who asks. One trailing slash is tolerated.
 */
export function createRouter(
  routes: readonly Route[],
): (path: string) => Promise<RouteMatch | null> {
  const router = IttyRouter();
  for (const route of routes) router.all(route.path, (found) => ({ route, found }));
  return async (path) => {
    // The router would take any number of slashes at the end.
    if (path.endsWith("//")) return null;
    const match = await router.fetch({ method: "GET", url: `http://localhost${path}` });
    if (!match) return null;
    const parameters = decode(match.found.params);
    return parameters && { route: match.route, parameters };
  };
}

/** `null` when a part is no percent-encoded UTF-8: nothing has such a path. */
function decode(encoded: Record<string, string | undefined>): RawParameters | null {
  const decoded: Record<string, string> = {};
  try {
    for (const [name, value = ""] of Object.entries(encoded)) {
      decoded[name] = decodeURIComponent(value);
    }
  } catch {
    return null;
  }
  return decoded;
}
