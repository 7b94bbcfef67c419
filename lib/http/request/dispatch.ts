/**
 * The steps of a request: route, authentication, resource, parameters, response. The order of these
 * checks is part of the API: it determines what a client without a token can find out.
 */
import * as v from "valibot";
import { isTransient } from "../../../db/connection/errors.ts";
import type { Caller, CallerScope, Selection } from "../../../db/read/caller.ts";
import { organizationUuid } from "../../base/identity.ts";
import { errorFields } from "../../base/log.ts";
import { SECONDS_PER_DAY } from "../../base/time.ts";
import { localDay, type TimeZone, UTC } from "../../base/time_zone.ts";
import { createAuthentication } from "./authentication.ts";
import { isTrusted } from "./client_address.ts";
import { type App, type Context, REQUEST_TIMEOUT_MS } from "./context.ts";
import {
  ALLOWED_METHODS,
  badRequest,
  internalServerError,
  methodNotAllowed,
  notFound,
  unauthorized,
} from "./errors.ts";
import { type RawParameters, readParameters, timeZone as timeZoneParameter } from "./parameters.ts";
import { createExporter } from "./list_export.ts";
import { createLines } from "./list_format.ts";
import { checkSelected, createUrlParser, splitUrl } from "./parsed_url.ts";
import { errorPage } from "./error_page.ts";
import { createQueries, StaleVersionError } from "../test_cache/queries.ts";
import { type LoggedRequest, logRequests } from "./request_log.ts";
import { acceptedFormat, completeError, createResponder } from "./responses.ts";
import type { ApiRequest, Endpoint } from "./route.ts";
import { createTestsLoader, type RequestLoads, RequestOverError } from "../test_cache/loader.ts";

/**
 * A retry is needed only when an upload commits in the milliseconds between two statements. Behind a
 * connection pooler statements wait for each other: 10 were too few with 25 uploads a second.
 */
const MAX_STALE_ATTEMPTS = 100;

// Share of the cache for tests: they take longer to load than responses to make from them.
const TESTS_SHARE = 0.6;

const systemSeconds = () => Math.floor(Date.now() / 1000);

/** What `receive` responds to. */
const UPLOAD_PATH = /^\/(?:upload|quarantine)(?:\/|$)/;
const UPLOAD_PORT = "Not Found: this port only reads; uploads go to the port of `receive`, or of " +
  "`up --upload-port` (8001 by default)";

/** Creates the app of a route table; its caches are its own. */
export function createDispatcher(routes: readonly Endpoint[], context: Context): App {
  const { metrics, now: clock = systemSeconds, requestTimeoutMs = REQUEST_TIMEOUT_MS } = context;
  const parseUrl = createUrlParser(routes);
  const authenticate = createAuthentication(context);
  const cacheBytes = Math.max(1, (context.cacheSizeMb ?? 80) * 1024 * 1024);
  const responder = createResponder(cacheBytes * (1 - TESTS_SHARE));
  const loadTests = createTestsLoader(context.sql, cacheBytes * TESTS_SHARE);
  const exportList = createExporter(context);

  return logRequests({ ...context, requestTimeoutMs }, async (request, logged) => {
    const loads = { deadline: performance.now() + requestTimeoutMs, loaded: new Map() };
    for (let attempt = 1;; attempt++) {
      try {
        return await dispatch(request, logged, loads);
      } catch (error) {
        // Requests only read: they can be repeated.
        const isStale = error instanceof StaleVersionError && attempt < MAX_STALE_ATTEMPTS;
        const isOver = performance.now() > loads.deadline;
        if ((isStale || attempt === 1 && isTransient(error)) && !isOver) continue;
        const { requestId, route } = logged;
        // The server has answered and logged a request that is over.
        if (!(error instanceof RequestOverError)) {
          context.log.error("request failed", {
            request_id: requestId,
            route,
            ...errorFields(error),
          });
        }
        return completeError(request, internalServerError(), requestId);
      }
    }
  });

  async function dispatch(
    request: Request,
    logged: LoggedRequest,
    loads: RequestLoads,
  ): Promise<Response> {
    const { requestId, peer, address } = logged;
    const parsed = parseUrl(request.url);
    const { route, root, parameters, badgeToken, selection } = parsed;
    // A person who mistyped an address is not asked to sign in again.
    const isBrowser = !route && isSignedInBrowser(request.headers);
    const isPage = isBrowser || route?.isPage && parsed.format === null;
    const hasToken = request.headers.has("authorization");
    const zone = isPage ? zoneOf(parameters, context) : UTC;
    const refuse = async (response: Response) => {
      const page = isPage ? await errorPage(response, { ...parsed, hasToken, zone }) : response;
      return completeError(request, page, requestId);
    };
    if (route) logged.route = route.path;
    // Spreadsheets and browsers open the path of a list, and can send a token in no other way.
    const isFile = parsed.format !== null || isBrowser;
    const access = isFile ? "token or basic" : route?.access ?? "token";
    const now = clock();
    const moment = { now, windowStart: now - context.windowSeconds };
    const organization = organizationNamedBy(peer, request.headers, context);
    const found = await authenticate(
      request.headers.get("authorization"),
      { access, badgeToken, organization, address, selection, ...moment },
    );
    if (!found) {
      return await refuse(unauthorized(route && access === "token or basic" ? "Basic" : "Bearer"));
    }
    const { caller } = found;
    logged.caller = caller;
    if (!route) {
      const isUpload = UPLOAD_PATH.test(splitUrl(request.url).path);
      return await refuse(isUpload ? notFound(UPLOAD_PORT) : notFound());
    }
    const { methods = ALLOWED_METHODS } = route;
    if (!methods.includes(request.method)) return await refuse(methodNotAllowed(methods));
    if (route.respond && caller) {
      const response = await route.respond(request, { peer, requestId, caller });
      return completeError(request, response, requestId);
    }

    const isInPath = route.resource?.endsWith("in path");
    if (isInPath && !isFound(selection, found)) return await refuse(notFound());
    const today = Math.floor(now / SECONDS_PER_DAY);
    const key = {
      path: route.path,
      parameters,
      windowSeconds: context.windowSeconds,
      page: route.isPage
        ? {
          root,
          today,
          zone: zone.name,
          zoneDay: localDay(now, zone),
          uploadUrl: context.uploadUrl ?? "",
        }
        : null,
      now: route.isOfThisSecond ? now : null,
      organizationId: route.resource && caller ? caller.organizationId : null,
      organizationName: found.organizationName,
      repositories: found.repositories,
    };
    const response = { route, requestId, key };
    const format = parsed.format ??
      (route.list ? acceptedFormat(request.headers.get("accept")) : null);
    if (format === null) {
      // The key includes parameters and repositories: for a cached response they passed the checks.
      const cached = responder.cached(request, response);
      metrics?.count("response_cache_total", { result: cached ? "hit" : "miss" });
      if (cached) return await cached;
    }

    const { value: query, errors } = readParameters(parameters, route.query);
    const named = route.resource && !isInPath ? checkSelected(parsed, found.repositories) : null;
    const allErrors = { ...named?.errors, ...errors };
    if (Object.keys(allErrors).length > 0) return await refuse(badRequest(allErrors));
    if (named?.isMissing || !isOwn(parameters.organization_id, caller)) {
      return await refuse(notFound());
    }

    const { repositories } = named ?? found;
    const checked: ApiRequest = {
      caller,
      organizationName: found.organizationName,
      repositories,
      query,
      parameters,
      root,
      today,
      zone,
      ...moment,
      ...createQueries(context.sql, repositories, moment),
      loadTests: (options) => loadTests(repositories, { ...moment, ...options }, loads),
    };
    if (format === null || !route.list) {
      return await responder.created(request, response, () => route.handler(checked, context));
    }
    const list = { requestId, key, format, isNegotiated: parsed.format === null };
    return await exportList(request, { ...list, fileName: route.path.split("/").at(-1)! }, {
      lines: createLines(format, route.list.columns(query)),
      batches: route.list.batches(checked, context),
    });
  }
}

/** Whether a person asks, who is signed in to the pages by HTTP Basic. */
function isSignedInBrowser(headers: Headers): boolean {
  return /^\s*basic\s/i.test(headers.get("authorization") ?? "") &&
    headers.get("accept")?.includes("text/html") === true;
}

/** The time zone that a page names, or else the service's; a wrong name is an error later. */
function zoneOf({ tz }: RawParameters, { timeZone = UTC }: Context): TimeZone {
  const result = v.safeParse(timeZoneParameter, tz);
  return result.success && result.output || timeZone;
}

/** Whether an `organization_id` is absent, empty, or the caller's own. */
function isOwn(organizationId: string | undefined, caller: Caller | null): boolean {
  if (!organizationId) return true;
  return caller !== null &&
    organizationId.toLowerCase() === organizationUuid(caller.organizationId);
}

/** The organization that the header of a trusted proxy names; a client's own header means nothing. */
function organizationNamedBy(
  peer: string,
  headers: Headers,
  { organizationHeader, trustedProxies }: Context,
): string | null {
  const isBelieved = organizationHeader && trustedProxies && isTrusted(trustedProxies, peer);
  return isBelieved ? headers.get(organizationHeader) : null;
}

function isFound(selection: Selection, { repositories: [repository] }: CallerScope): boolean {
  return repository !== undefined && (selection.kind !== "test" || repository.testNo !== null);
}
