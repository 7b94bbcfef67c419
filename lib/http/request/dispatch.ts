// Tests: tests/lib/http/request/parsed_url_test.ts tests/routes/http_conventions_test.ts tests/tools/documentation/docs_page_test.ts
/**
 * The first steps of a request: route and authentication. The order of these checks, and of those in
 * `route_response.ts`, is part of the API: it determines what a client without a token can find out.
 */
import * as v from "valibot";
import { isTransient } from "../../../db/connection/errors.ts";
import { errorFields } from "../../base/log.ts";
import { cutText, oneLine } from "../../base/text.ts";
import { type TimeZone, UTC } from "../../base/time_zone.ts";
import { RequestOverError } from "../test_cache/cache.ts";
import { createActions } from "./actions.ts";
import { createAuthentication } from "./authentication.ts";
import { isTrusted } from "./client_address.ts";
import { type App, type Context, REQUEST_TIMEOUT_MS } from "./context.ts";
import { errorPage } from "./error_page.ts";
import {
  ALLOWED_METHODS,
  forbidden,
  internalServerError,
  methodNotAllowed,
  notFound,
  unauthorized,
  unauthorizedClient,
} from "./errors.ts";
import { type RawParameters, timeZone as timeZoneParameter } from "./parameters.ts";
import { createUrlParser, type ParsedUrl, splitUrl } from "./parsed_url.ts";
import { type LoggedRequest, logRequests } from "./request_log.ts";
import { completeError } from "./responses.ts";
import type { Endpoint } from "./route.ts";
import { createRouteResponder } from "./route_response.ts";

/** Length of a person's name in the log. */
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

/** Creates the app of a route table; its caches are its own. */
export function createDispatcher(routes: readonly Endpoint[], context: Context): App {
  const { requestTimeoutMs = REQUEST_TIMEOUT_MS, log } = context;
  const handle = createHandler(routes, context);

  return logRequests({ ...context, requestTimeoutMs }, async (request, logged) => {
    const deadline = performance.now() + requestTimeoutMs;
    for (let attempt = 1;; attempt++) {
      try {
        return await handle(request, logged, deadline);
      } catch (error) {
        // What only reads can be repeated.
        const isRead = ALLOWED_METHODS.includes(request.method);
        if (isRead && attempt === 1 && isTransient(error) && performance.now() <= deadline) {
          continue;
        }
        const { requestId, route } = logged;
        // The server has answered and logged a request that is over.
        if (!(error instanceof RequestOverError)) {
          log.error("request failed", { request_id: requestId, route, ...errorFields(error) });
        }
        return completeError(request, internalServerError(), requestId);
      }
    }
  });
}

/** Creates what responds to a request, if its caller may ask and its path leads to a route. */
function createHandler(routes: readonly Endpoint[], context: Context) {
  const { now: clock = systemSeconds, signIn } = context;
  const parseUrl = createUrlParser(routes);
  const authenticate = createAuthentication(context);
  const respond = createRouteResponder(context);
  const act = createActions(context);

  return async (request: Request, logged: LoggedRequest, deadline: number): Promise<Response> => {
    const { requestId, peer } = logged;
    const parsed = parseUrl(request.url);
    const { route } = parsed;
    const { isPerson, access, zone } = await askerOf(request, parsed, context);
    const hasToken = request.headers.has("authorization");
    const signInAt = signIn ? signInAddress(parsed.root, request.url) : null;
    const refuse = async (response: Response) => {
      const page = isPerson
        ? await errorPage(response, { ...parsed, hasToken, zone, signInAt })
        : response;
      return completeError(request, page, requestId);
    };
    if (route) logged.route = route.path;
    const signing = await signIn?.respond(request, splitUrl(request.url));
    if (signing) {
      logged.route = "/sign-in";
      return completeError(request, signing, requestId);
    }
    const now = clock();
    const moment = { now, windowStart: now - context.windowSeconds };
    const signed = await signedIn(request.headers, { peer, access, context });
    const { user, organization, session } = signed;
    if (user) logged.more.user = cutText(oneLine(user), MAX_USER_CHARACTERS);
    const { badgeToken, selection } = parsed;
    const { address } = logged;
    const found = await authenticate(request.headers.get("authorization"), {
      access,
      badgeToken,
      organization,
      address,
      selection,
      ...moment,
    });
    const caller = found?.scope.caller ?? null;
    if (found) logged.caller = caller;
    const editor = session && context.writableSql && session.isEditor ? session : null;
    const hasSession = session !== null;
    const refusal = found
      ? routeRefusal(request, { route, hasSession, isEditor: editor !== null })
      // A browser would ask for a password before it shows the page with the way to sign in.
      : tokenRefusal(route, access === "token or basic" && !(signIn && isPerson && !hasToken));
    if (!found || !route || refusal) return await refuse(refusal ?? notFound());
    if (route.respond && caller) {
      const response = await route.respond(request, { peer, requestId, caller });
      return completeError(request, response, requestId);
    }
    const common = { ...moment, request, requestId, parsed: { ...parsed, route }, zone, refuse };
    if (route.act && session && caller) {
      return await act({ ...common, session, caller, scope: found.scope });
    }
    return await respond({ ...common, authenticated: found, hasSession, editor, deadline });
  };
}

/** The response to a request without a valid token. */
function tokenRefusal(route: Endpoint | null, takesBasic: boolean): Response {
  // Clients of the tools show it to their user; the API says nothing, as the earlier version did.
  if (route?.respond) return unauthorizedClient(NO_TOOL_TOKEN);
  return unauthorized(takesBasic ? "Basic" : "Bearer");
}

/** Why no route responds to a caller; `null` if one does. */
function routeRefusal(
  { method, url }: Request,
  { route, hasSession, isEditor }: {
    route: Endpoint | null;
    hasSession: boolean;
    isEditor: boolean;
  },
): Response | null {
  if (!route) return UPLOAD_PATH.test(splitUrl(url).path) ? notFound(UPLOAD_PORT) : notFound();
  if (route.act && !isEditor) return forbidden(hasSession ? NO_EDITOR : NO_SESSION);
  const { methods = ALLOWED_METHODS } = route;
  return methods.includes(method) ? null : methodNotAllowed(methods);
}

/** The person and the organization that a trusted proxy or the cookie of a session names. */
async function signedIn(
  headers: Headers,
  { peer, access, context }: { peer: string; access: Endpoint["access"]; context: Context },
) {
  const organization = proxyHeader(context.organizationHeader, peer, headers, context);
  // A token takes precedence over the cookie.
  const session = access === "token or basic" && !headers.has("authorization") && !organization
    ? await context.signIn?.session(headers) ?? null
    : null;
  return {
    user: session?.name ?? proxyHeader(context.userHeader, peer, headers, context),
    organization: organization || session && session.organization,
    session,
  };
}

/** Who asks: spreadsheets and browsers open the path of a list, and can send a token in no other way. */
async function askerOf(
  { headers }: Request,
  { route, format, parameters }: ParsedUrl,
  context: Context,
): Promise<Asker> {
  // A person who mistyped an address is not asked to sign in again.
  const isBrowser = !route && await isSignedInBrowser(headers, context);
  const isPerson = isBrowser || route?.isPage === true && format === null;
  return {
    isPerson,
    access: format !== null || isBrowser ? "token or basic" : route?.access ?? "token",
    zone: isPerson ? zoneOf(parameters, context) : UTC,
  };
}

/** The address that signs in and leads back to a page. */
function signInAddress(root: string, url: string): string {
  const { path, search } = splitUrl(url);
  return `${root}sign-in?to=${encodeURIComponent(path + search)}`;
}

/** Whether a person asks, who is signed in to the pages. */
async function isSignedInBrowser(headers: Headers, { signIn }: Context): Promise<boolean> {
  if (!headers.get("accept")?.includes("text/html")) return false;
  const authorization = headers.get("authorization");
  if (authorization !== null) return /^\s*basic\s/i.test(authorization);
  return signIn !== undefined && await signIn.session(headers) !== null;
}

/** The time zone that a page names, or else the service's; a wrong name is an error later. */
function zoneOf({ tz }: RawParameters, { timeZone = UTC }: Context): TimeZone {
  const result = v.safeParse(timeZoneParameter, tz);
  return result.success && result.output || timeZone;
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
