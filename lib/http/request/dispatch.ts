/**
 * From a request to a response: who asks, what for, with which parameters. The order of these
 * checks is a promise, because it decides what a stranger can find out.
 */
import {
  type Caller,
  loadCaller,
  type RepositoryVersion,
  type Selection,
} from "../../../db/read/caller.ts";
import { errorFields } from "../../base/log.ts";
import { SharedRuns } from "../../base/single_flight.ts";
import { VERSION } from "../../base/version.ts";
import { addCommonHeaders, createResponder } from "./responses.ts";
import { type Asked, createUrlReader } from "./parsed_url.ts";
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
import { MovedOnError } from "./stale_version.ts";
import { checkFound } from "./repositories.ts";
import { requestId } from "../server/request_id.ts";
import type { Route } from "./route.ts";
import { nameSpan } from "../server/span.ts";
import { createTestsLoader, versionKey } from "./tests_loader.ts";
import { createWindowMemory } from "./window_start_cache.ts";

/** Answers a request; it never throws. */
export type App = (request: Request) => Promise<Response>;

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

/**
 * How often a request is begun anew because the data changed meanwhile. Each time somebody has to
 * store something within the milliseconds between two statements.
 */
const MAX_ATTEMPTS = 10;

/**
 * What a request outlives once, since it only reads: a standby cancelled its statement in favour of
 * what it replicates (`serialization_failure`), or its connection was lost.
 */
const PASSING_ERRORS = ["40001", "CONNECTION_CLOSED"];

/** Who asks, and what was found of what the request names. */
interface Found {
  caller: Caller | null;
  repositories: RepositoryVersion[];
}

/** Makes the app that serves a route table. */
export function createDispatcher(routes: readonly Route[], context: Context): App {
  const readUrl = createUrlReader(routes);
  const respond = createResponder(context.cache);
  const loadTests = createTestsLoader(context.sql, context.cache);
  const completeWindows = createWindowMemory(context.sql);
  const lookUps = new SharedRuns<Awaited<ReturnType<typeof loadCaller>>>();

  return async (request) => {
    const startedAt = performance.now();
    const id = requestId(request.headers.get("x-request-id"));
    const logged: LoggedRequest = { route: null, organizationId: null };
    let response: Response;
    try {
      response = await dispatchUnmoved(request, { id, logged });
    } catch (error) {
      context.log.error("failed", { request_id: id, route: logged.route, ...errorFields(error) });
      response = complete(request, internalServerError(), id);
    }
    context.log.info("answered", {
      request_id: id,
      method: KNOWN_METHODS.has(request.method) ? request.method : "other",
      route: logged.route,
      status: response.status,
      duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
      organization_id: logged.organizationId,
    });
    return response;
  };

  async function dispatchUnmoved(
    request: Request,
    options: { id: string; logged: LoggedRequest },
  ): Promise<Response> {
    let moves = 0;
    let hasPassed = false;
    for (;;) {
      try {
        return await dispatch(request, options);
      } catch (error) {
        if (error instanceof MovedOnError && ++moves < MAX_ATTEMPTS) continue;
        if (hasPassed || !isPassing(error)) throw error;
        hasPassed = true;
      }
    }
  }

  async function dispatch(
    request: Request,
    { id, logged }: { id: string; logged: LoggedRequest },
  ): Promise<Response> {
    const refuse = (response: Response) => complete(request, response, id);
    const read = readUrl(request.url);
    const asked = read instanceof Promise ? await read : read;
    const { route, raw } = asked;
    if (route) {
      logged.route = route.path;
      nameSpan(request.method, route.path);
    }
    const now = context.now();
    const windowStart = now - context.windowSeconds;
    const found = await authenticate(request, { asked, now, windowStart });
    if (!found) return refuse(unauthorized(asked.access));
    logged.organizationId = found.caller?.organizationId ?? null;
    if (!route) return refuse(notFound());
    if (!ALLOWED_METHODS.includes(request.method)) return refuse(methodNotAllowed());

    if (route.resource?.in === "path" && !isThere(asked.selection, found.repositories)) {
      return refuse(notFound());
    }
    const named = route.resource?.in === "query" ? checkFound(raw, found.repositories) : null;
    const errors = named ? { ...named.errors, ...asked.errors } : asked.errors;
    if (Object.keys(errors).length > 0) return refuse(badRequest(errors));
    if (named?.isMissing) return refuse(notFound());

    return await respond(request, {
      route,
      requestId: id,
      etag: asked.etag([
        VERSION,
        context.windowSeconds,
        // What depends on no data is the same for all.
        route.resource && found.caller?.organizationId,
        found.repositories.map((repository) => [versionKey(repository), repository.testNo]),
      ]),
      known: raw,
      answer: () =>
        route.handler({
          ...found,
          query: asked.query,
          windowStart,
          loadTests: (options) => loadTests(found.repositories, { windowStart, ...options }),
        }, context),
    });
  }

  /**
   * One statement, however much of it is about who asks, and seldom one about the window. Requests
   * of one caller for one thing that wait at the same time share it.
   */
  async function authenticate(
    request: Request,
    { asked, now, windowStart }: { asked: Asked; now: number; windowStart: number },
  ): Promise<Found | null> {
    const { access, selection } = asked;
    if (access === "public") return { caller: null, repositories: [] };
    const token = readToken(request.headers.get("authorization"), access);
    if (!token) return null;
    const found = await lookUps.get(
      `${token.type} ${token.hash} ${now} ${asked.selectionKey}`,
      () => loadCaller(context.sql, { token, now, selection }),
    );
    if (!found || found.repositories.length === 0) return found && { ...found, repositories: [] };
    const repositories = await completeWindows(found.repositories, windowStart);
    return { caller: found.caller, repositories };
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof Error && "code" in error && PASSING_ERRORS.includes(String(error.code));
}

function isThere(selection: Selection, [repository]: readonly RepositoryVersion[]): boolean {
  return repository !== undefined && (selection.kind !== "test" || repository.testNo !== null);
}

/**
 * Gives an error what every response has. Successful responses are made with all of it: the runtime
 * sends what was handed over whole much faster than what somebody looked into.
 */
function complete(request: Request, response: Response, id: string): Response {
  addCommonHeaders(response, id);
  if (request.method !== "HEAD" || response.body === null) return response;
  return new Response(null, { status: response.status, headers: response.headers });
}
