// Tests: tests/lib/http/docs_page/page_test.ts tests/lib/http/request/parsed_url_test.ts
/**
 * The steps of a request: route, authentication, resource, parameters, response. The order of these
 * checks is part of the API: it determines what a client without a token can find out.
 */
import * as v from "valibot";
import { isTransient } from "../../../db/connection/errors.ts";
import type { Caller, CallerScope } from "../../../db/read/caller.ts";
import { organizationUuid } from "../../base/identity.ts";
import { errorFields } from "../../base/log.ts";
import { cutText, oneLine } from "../../base/text.ts";
import { SECONDS_PER_DAY } from "../../base/time.ts";
import { localDay, type TimeZone, UTC } from "../../base/time_zone.ts";
import { RequestOverError, TestCache } from "../test_cache/cache.ts";
import { type Authenticated, createAuthentication } from "./authentication.ts";
import { isTrusted } from "./client_address.ts";
import { createActions } from "./actions.ts";
import { type App, type Context, REQUEST_TIMEOUT_MS } from "./context.ts";
import { errorPage } from "./error_page.ts";
import {
  ALLOWED_METHODS,
  badRequest,
  forbidden,
  internalServerError,
  methodNotAllowed,
  notFound,
  unauthorized,
  unauthorizedClient,
} from "./errors.ts";
import { createExporter } from "./list_export.ts";
import { createLines, type ListFormat } from "./list_format.ts";
import { type RawParameters, readParameters, timeZone as timeZoneParameter } from "./parameters.ts";
import { createUrlParser, findResource, isInPath, type ParsedUrl, splitUrl } from "./parsed_url.ts";
import type { Moment } from "./queries.ts";
import { type LoggedRequest, logRequests } from "./request_log.ts";
import { acceptedFormat, completeError, createResponder, type ResponseKey } from "./responses.ts";
import type { Editor, Endpoint, ListSource } from "./route.ts";
import { type CheckedRequest, createSnapshotReader, GoneError } from "./snapshot_reader.ts";

// Share of the cache for tests: they take longer to load than responses to make from them.
const TESTS_SHARE = 0.6;

/** Of the name of a person in the log. */
const MAX_USER_CHARACTERS = 200;

const systemSeconds = () => Math.floor(Date.now() / 1000);

/** What `receive` responds to. */
const UPLOAD_PATH = /^\/(?:upload|quarantine)(?:\/|$)/;
const UPLOAD_PORT = "Not Found: this port only reads; uploads go to the port of `receive`, or of " +
  "`up --upload-port` (8001 by default)";

const NO_TOOL_TOKEN = "the token is missing, unknown, revoked or expired: expected the header " +
  '"Authorization: Bearer" with an API token, as `token create` prints it';

const NO_SESSION =
  "This needs a person who is signed in: a token, or the header of a proxy, only reads";
const NO_EDITOR = "You may read, but not change anything: the operator names the groups that may";

/** Who asks, and in which way. */
interface Asker {
  /** A person, for whom errors are pages. */
  isPerson: boolean;
  access: Endpoint["access"];
  zone: TimeZone;
}

/** A request with a valid token for a route. */
interface RoutedRequest extends Moment {
  request: Request;
  requestId: string;
  parsed: ParsedUrl & { route: Endpoint };
  zone: TimeZone;
  authenticated: Authenticated;
  /** Whether the caller is signed in by a cookie, and can sign out. */
  hasSession: boolean;
  editor: Editor | null;
  deadline: number;
  /** Completes an error response, with a page for people. */
  refuse(response: Response): Promise<Response>;
}

/** Creates the app of a route table; its caches are its own. */
export function createDispatcher(routes: readonly Endpoint[], context: Context): App {
  const { metrics, now: clock = systemSeconds, requestTimeoutMs = REQUEST_TIMEOUT_MS } = context;
  const parseUrl = createUrlParser(routes);
  const authenticate = createAuthentication(context);
  const cacheBytes = Math.max(1, (context.cacheSizeMb ?? 80) * 1024 * 1024);
  const responder = createResponder(cacheBytes * (1 - TESTS_SHARE));
  const read = createSnapshotReader(context, new TestCache(cacheBytes * TESTS_SHARE));
  const exportList = createExporter(context);
  const act = createActions(context);

  return logRequests({ ...context, requestTimeoutMs }, async (request, logged) => {
    const deadline = performance.now() + requestTimeoutMs;
    for (let attempt = 1;; attempt++) {
      try {
        return await authenticated(request, logged, deadline);
      } catch (error) {
        // What only reads can be repeated.
        const isRead = ALLOWED_METHODS.includes(request.method);
        if (isRead && attempt === 1 && isTransient(error) && performance.now() <= deadline) {
          continue;
        }
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

  /** Responds to a request, if its caller may ask and its path leads to a route. */
  async function authenticated(
    request: Request,
    logged: LoggedRequest,
    deadline: number,
  ): Promise<Response> {
    const { requestId, peer, address } = logged;
    const parsed = parseUrl(request.url);
    const { route, badgeToken, selection } = parsed;
    const { isPerson, access, zone } = askerOf(request, parsed, context);
    const hasToken = request.headers.has("authorization");
    const signInAt = context.signIn ? signInAddress(parsed.root, request.url) : null;
    const refuse = async (response: Response) => {
      const page = isPerson
        ? await errorPage(response, { ...parsed, hasToken, zone, signInAt })
        : response;
      return completeError(request, page, requestId);
    };
    if (route) logged.route = route.path;
    const { signIn } = context;
    const signing = await signIn?.respond(request, splitUrl(request.url));
    if (signing) {
      logged.route = "/sign-in";
      return completeError(request, signing, requestId);
    }
    const now = clock();
    const moment = { now, windowStart: now - context.windowSeconds };
    const organization = proxyHeader(context.organizationHeader, peer, request.headers, context);
    // A token that is sent counts, and not the cookie.
    const session = access === "token or basic" && !hasToken && !organization
      ? await signIn?.session(request.headers) ?? null
      : null;
    const user = session?.name ?? proxyHeader(context.userHeader, peer, request.headers, context);
    if (user) logged.more.user = cutText(oneLine(user), MAX_USER_CHARACTERS);
    const found = await authenticate(
      request.headers.get("authorization"),
      {
        access,
        badgeToken,
        organization: organization || session && session.organization,
        address,
        selection,
        ...moment,
      },
    );
    if (!found) {
      // Clients of the tools show it to their user; the API says nothing, as the earlier version did.
      if (route?.respond) return await refuse(unauthorizedClient(NO_TOOL_TOKEN));
      const asksForBasic = route && access === "token or basic" &&
        // A browser would ask for a password before it shows the page with the way to sign in.
        !(signIn && isPerson && !hasToken);
      return await refuse(unauthorized(asksForBasic ? "Basic" : "Bearer"));
    }
    const { caller } = found.scope;
    logged.caller = caller;
    if (!route) {
      const isUpload = UPLOAD_PATH.test(splitUrl(request.url).path);
      return await refuse(isUpload ? notFound(UPLOAD_PORT) : notFound());
    }
    const { methods = ALLOWED_METHODS } = route;
    const editor = session && context.writableSql && session.isEditor ? session : null;
    if (route.act && !editor) return await refuse(forbidden(session ? NO_EDITOR : NO_SESSION));
    if (!methods.includes(request.method)) return await refuse(methodNotAllowed(methods));
    if (route.respond && caller) {
      const response = await route.respond(request, { peer, requestId, caller });
      return completeError(request, response, requestId);
    }
    if (route.act && session && caller) {
      const action = { ...moment, request, session, caller, parsed: { ...parsed, route }, zone };
      return await act({ ...action, scope: found.scope, refuse, requestId });
    }
    return await respond({
      request,
      requestId,
      parsed: { ...parsed, route },
      zone,
      authenticated: found,
      hasSession: session !== null,
      editor,
      deadline,
      refuse,
      ...moment,
    });
  }

  /** Responds from the cache, or with what the handler of the route returns. */
  async function respond(routed: RoutedRequest): Promise<Response> {
    const { request, requestId, parsed, authenticated: { scope }, refuse } = routed;
    const { route, parameters } = parsed;
    const resource = findResource(parsed, scope);
    if (isInPath(route) && resource.isMissing) return await refuse(notFound());
    const response = { route, requestId, key: keyOf(routed, scope, context) };
    const format = parsed.format ??
      (route.list ? acceptedFormat(request.headers.get("accept")) : null);
    if (format === null) {
      // The key includes parameters and repositories: for a cached response they passed the checks.
      const cached = responder.cached(request, response);
      metrics?.count("response_cache_total", { result: cached ? "hit" : "miss" });
      if (cached) return await cached;
    }
    const { value: query, errors } = readParameters(parameters, route.query);
    const allErrors = { ...resource.errors, ...errors };
    if (Object.keys(allErrors).length > 0) return await refuse(badRequest(allErrors));
    if (resource.isMissing || !isOwn(parameters.organization_id, scope.caller)) {
      return await refuse(notFound());
    }
    const checked = checkedRequest(routed, query);
    try {
      if (format !== null && route.list) return await sendList(routed, checked, format, route.list);
      const unchanged = responder.unchanged(request, response);
      if (unchanged) return unchanged;
      const { scope: seen, result } = await read(checked, (read) => route.handler(read, context));
      const key = keyOf(routed, seen, context);
      return await responder.created(request, { route, requestId, key }, result);
    } catch (error) {
      if (error instanceof GoneError) return await refuse(notFound());
      throw error;
    }
  }

  /** Responds with the whole list of a route. */
  async function sendList(
    routed: RoutedRequest,
    checked: CheckedRequest,
    format: ListFormat,
    list: ListSource,
  ): Promise<Response> {
    const { request, requestId, parsed, authenticated: { scope } } = routed;
    let seen: CallerScope | undefined;
    return await exportList(request, {
      requestId,
      format,
      isNegotiated: parsed.format === null,
      fileName: parsed.route.path.split("/").at(-1)!,
      key: () => keyOf(routed, seen ?? scope, context),
    }, {
      lines: createLines(format, list.columns(checked.request.query)),
      batches: list.batches(async (handle) => {
        const { scope, result } = await read(checked, handle);
        seen ??= scope;
        return result;
      }, context),
    });
  }
}

/** Who asks: spreadsheets and browsers open the path of a list, and can send a token in no other way. */
function askerOf(
  { headers }: Request,
  { route, format, parameters }: ParsedUrl,
  context: Context,
): Asker {
  // A person who mistyped an address is not asked to sign in again.
  const isBrowser = !route && isSignedInBrowser(headers);
  const isPerson = isBrowser || route?.isPage === true && format === null;
  return {
    isPerson,
    access: format !== null || isBrowser ? "token or basic" : route?.access ?? "token",
    zone: isPerson ? zoneOf(parameters, context) : UTC,
  };
}

/** Everything that the response depends on, of what a handler saw. */
function keyOf(
  { parsed: { route, parameters, root }, zone, hasSession, editor, now }: RoutedRequest,
  { caller, organizationName, repositories }: CallerScope,
  { windowSeconds, uploadUrl = "" }: Context,
): ResponseKey {
  return {
    path: route.path,
    parameters,
    windowSeconds,
    page: route.isPage
      ? {
        root,
        today: dayOf(now),
        zone: zone.name,
        zoneDay: localDay(now, zone),
        uploadUrl,
        hasSession,
        formToken: editor && (route.hasForms ? editor.formToken : ""),
      }
      : null,
    now: route.isOfThisSecond ? now : null,
    organizationId: route.resource && caller ? caller.organizationId : null,
    organizationName,
    repositories,
  };
}

function checkedRequest(routed: RoutedRequest, query: unknown): CheckedRequest {
  const { parsed, authenticated, hasSession, editor, deadline, zone, now, windowStart } = routed;
  const { parameters, root } = parsed;
  const request = {
    query,
    parameters,
    root,
    hasSession,
    editor,
    today: dayOf(now),
    zone,
    now,
    windowStart,
  };
  return { request, parsed, authenticated, deadline };
}

/** The address that signs in and leads back to a page. */
function signInAddress(root: string, url: string): string {
  const { path, search } = splitUrl(url);
  return `${root}sign-in?to=${encodeURIComponent(path + search)}`;
}

/** In days since 1970. */
function dayOf(now: number): number {
  return Math.floor(now / SECONDS_PER_DAY);
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

/** What the header of a trusted proxy says, if one is set; a client's own header means nothing. */
function proxyHeader(
  name: string | undefined,
  peer: string,
  headers: Headers,
  { trustedProxies }: Context,
): string | null {
  return name && trustedProxies && isTrusted(trustedProxies, peer) ? headers.get(name) : null;
}
