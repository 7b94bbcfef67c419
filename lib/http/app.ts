/**
 * From a request to a response: who asks, what for, with which parameters. The order of these
 * checks is a promise, because it decides what a stranger can find out.
 */
import {
  type Caller,
  loadCaller,
  type RepositoryVersion,
  type Selection,
} from "../../db/caller.ts";
import { errorFields } from "../log.ts";
import { VERSION } from "../version.ts";
import { createResponder, DEFAULT_CACHE_CONTROL, VARY } from "./answers.ts";
import { readToken } from "./authentication.ts";
import type { Context } from "./context.ts";
import {
  ALLOWED_METHODS,
  badRequest,
  internalServerError,
  methodNotAllowed,
  notFound,
  unauthorized,
} from "./errors.ts";
import { makeEtag } from "./etag.ts";
import { rawParameters, readParameters } from "./parameters.ts";
import { checkFound, selectByParameters } from "./repositories.ts";
import { requestId } from "./request_id.ts";
import type { Access, RawParameters, Route } from "./route.ts";
import { createRouter, type RouteMatch, splitUrl } from "./router.ts";
import { nameSpan } from "./span.ts";
import { createTestsLoader, versionKey } from "./tests.ts";

/** Answers a request; it never throws. */
export type App = (request: Request) => Promise<Response>;

/** Opened in a browser, where only Basic lets a person give a token. */
const DOCUMENT_PATHS = /^\/(openapi\.yaml|docs|llms-full\.txt)\/?$/;

/** Methods that are logged by their name: a client may send any word as one. */
const KNOWN_METHODS = new Set("GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT".split(" "));

/**
 * What the log says of a request. Neither path nor query: both are what a client typed, and somebody
 * will put a token there one day.
 */
interface LoggedRequest {
  /** Pattern of the route, `null` for an unknown path. */
  route: string | null;
  /** `null` without a valid token. */
  organizationId: number | null;
}

/** Who asks, and what was found of what the request names. */
interface Found {
  caller: Caller | null;
  repositories: RepositoryVersion[];
}

/** Makes the app that serves a route table. */
export function createDispatcher(routes: readonly Route[], context: Context): App {
  const findRoute = createRouter(routes);
  const respond = createResponder(context.cache);
  const loadTests = createTestsLoader(context.sql, context.cache);

  return async (request) => {
    const startedAt = performance.now();
    const id = requestId(request.headers.get("x-request-id"));
    const { path, search } = splitUrl(request.url);
    const logged: LoggedRequest = { route: null, organizationId: null };
    let response: Response;
    try {
      response = await dispatch(request, { path, search, logged });
    } catch (error) {
      context.log.error("failed", { request_id: id, route: logged.route, ...errorFields(error) });
      response = internalServerError();
    }
    context.log.info("answered", {
      request_id: id,
      method: KNOWN_METHODS.has(request.method) ? request.method : "other",
      route: logged.route,
      status: response.status,
      duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
      organization_id: logged.organizationId,
    });
    return finish(request, response, id);
  };

  async function dispatch(
    request: Request,
    { path, search, logged }: { path: string; search: string; logged: LoggedRequest },
  ): Promise<Response> {
    const match = await findRoute(path);
    if (match) {
      logged.route = match.route.path;
      nameSpan(request.method, match.route.path);
    }
    const raw = match
      ? rawParameters(new URLSearchParams(search), match.route.parameters.query)
      : {};
    const now = context.now();
    const windowStart = now - context.windowSeconds;
    const access = accessOf(match, path);
    const selection = selectionOf(match, raw);
    const found = await authenticate(request, { access, selection, now, windowStart });
    if (!found) return unauthorized(access);
    logged.organizationId = found.caller?.organizationId ?? null;
    if (!match) return notFound();
    if (!ALLOWED_METHODS.includes(request.method)) return methodNotAllowed();

    const { route } = match;
    if (route.resource?.in === "path" && !isThere(selection, found.repositories)) {
      return notFound();
    }
    const query = readParameters(raw, route.parameters.query);
    const named = route.resource?.in === "query" ? checkFound(raw, found.repositories) : null;
    const errors = { ...named?.errors, ...query.errors };
    if (Object.keys(errors).length > 0) return badRequest(errors);
    if (named?.isMissing) return notFound();

    return await respond(request, {
      route,
      etag: etagOf(route, { ...found, raw }),
      known: raw,
      answer: async () =>
        await route.handler({
          ...found,
          query: query.value,
          windowStart,
          loadTests: async (options) =>
            await loadTests(found.repositories, { windowStart, ...options }),
        }, context),
    });
  }

  /** One statement, however much of it is about who asks. */
  async function authenticate(
    request: Request,
    { access, selection, now, windowStart }: {
      access: Access;
      selection: Selection;
      now: number;
      windowStart: number;
    },
  ): Promise<Found | null> {
    if (access === "public") return { caller: null, repositories: [] };
    const token = readToken(request.headers.get("authorization"), access);
    if (!token) return null;
    return await loadCaller(context.sql, { token, now, windowStart, selection });
  }

  function etagOf(route: Route, { caller, repositories, raw }: Found & { raw: RawParameters }) {
    return makeEtag([
      VERSION,
      context.windowSeconds,
      route.path,
      // What depends on no data is the same for all.
      route.resource && caller?.organizationId,
      repositories.map((repository) => [versionKey(repository), repository.testNo]),
      Object.entries(raw),
    ]);
  }
}

function accessOf(match: RouteMatch | null, path: string): Access {
  if (match) return match.route.access;
  return DOCUMENT_PATHS.test(path) ? "token or basic" : "token";
}

function selectionOf(match: RouteMatch | null, raw: RawParameters): Selection {
  const resource = match?.route.resource;
  if (resource?.in === "path") return resource.select(match?.parameters ?? {});
  if (resource?.in === "query") return selectByParameters(raw, resource);
  return { kind: "none" };
}

function isThere(selection: Selection, [repository]: readonly RepositoryVersion[]): boolean {
  return repository !== undefined && (selection.kind !== "test" || repository.testNo !== null);
}

/** What every response has, whatever it says. */
export function finish(request: Request, response: Response, id: string): Response {
  const headers = response.headers;
  headers.set("x-request-id", id);
  headers.set("x-content-type-options", "nosniff");
  if (!headers.has("cache-control")) headers.set("cache-control", DEFAULT_CACHE_CONTROL);
  if (!headers.has("vary")) headers.set("vary", VARY);
  if (request.method !== "HEAD" || response.body === null) return response;
  return new Response(null, { status: response.status, headers });
}
