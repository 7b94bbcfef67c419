// Tests: tests/routes/http_conventions_test.ts
/** The response of a route to a request with a valid token: from the cache, or from what its handler loads. */
import type { Caller, CallerScope } from "../../../db/read/caller.ts";
import { organizationUuid } from "../../base/identity.ts";
import { SECONDS_PER_DAY } from "../../base/time.ts";
import { localDay, type TimeZone } from "../../base/time_zone.ts";
import { TestCache } from "../test_cache/cache.ts";
import type { Authenticated } from "./authentication.ts";
import type { Context } from "./context.ts";
import { badRequest, notFound, RefusedError } from "./errors.ts";
import { createExporter } from "./list_export.ts";
import { createLines, type ListFormat } from "./list_format.ts";
import { readParameters } from "./parameters.ts";
import { findResource, isInPath, type ParsedUrl } from "./parsed_url.ts";
import type { Moment } from "./queries.ts";
import { acceptedFormat, createResponder, type ResponseKey } from "./responses.ts";
import type { Editor, Endpoint, ListSource } from "./route.ts";
import { type CheckedRequest, createSnapshotReader } from "./snapshot_reader.ts";

// Share of the cache for tests: they take longer to load than responses to make from them.
const TESTS_SHARE = 0.6;

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

/** Creates the function that responds to routed requests; its caches are its own. */
export function createRouteResponder(
  context: Context,
): (routed: RoutedRequest) => Promise<Response> {
  const { metrics } = context;
  const cacheBytes = Math.max(1, (context.cacheSizeMb ?? 80) * 1024 * 1024);
  const responder = createResponder(cacheBytes * (1 - TESTS_SHARE));
  const read = createSnapshotReader(context, new TestCache(cacheBytes * TESTS_SHARE));
  const exportList = createExporter(context);

  return respond;

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
      if (error instanceof RefusedError) return await refuse(error.response);
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
    let next = checked;
    return await exportList(request, {
      requestId,
      format,
      isNegotiated: parsed.format === null,
      fileName: parsed.route.path.split("/").at(-1)!,
      key: () => keyOf(routed, seen ?? scope, context),
    }, {
      lines: createLines(format, list.columns(checked.request.query)),
      batches: list.batches(async (handle) => {
        const { scope, result } = await read(next, handle);
        seen ??= scope;
        // The client has its response, and takes the rest as long as it likes.
        next = { ...checked, deadline: Infinity };
        return result;
      }, context),
    });
  }
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
    now: route.dependsOn === "second" ? now : route.dependsOn === "day" ? dayOf(now) : null,
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

/** In days since 1970. */
function dayOf(now: number): number {
  return Math.floor(now / SECONDS_PER_DAY);
}

/** Whether an `organization_id` is absent, empty, or the caller's own. */
function isOwn(organizationId: string | undefined, caller: Caller | null): boolean {
  if (!organizationId) return true;
  return caller !== null &&
    organizationId.toLowerCase() === organizationUuid(caller.organizationId);
}
