/** Runs handlers: what one reads of the database is of one snapshot. */
import type { Queryable } from "../../../db/connection/sql.ts";
import { type CallerScope, loadCallers } from "../../../db/read/caller.ts";
import { readSnapshotAfter } from "../../../db/read/snapshot.ts";
import { type LoadTestsOptions, RequestOverError, type TestCache } from "../test_cache/cache.ts";
import type { Authenticated } from "./authentication.ts";
import type { Context } from "./context.ts";
import { notFound, RefusedError, unauthorized } from "./errors.ts";
import { findResource, type ParsedUrl } from "./parsed_url.ts";
import { createLoad, type Load } from "./queries.ts";
import type { ApiRequest, Endpoint } from "./route.ts";

/** A request that passed all checks, before anything is read for it. */
export interface CheckedRequest {
  /** What a handler gets, but for what is read. */
  request: Omit<ApiRequest, keyof CallerScope | "load" | "loadTests">;
  parsed: ParsedUrl & { route: Endpoint };
  authenticated: Authenticated;
  /** When the request is over, as `performance.now()`. */
  deadline: number;
}

/** What a handler returned, and what it saw. */
interface Reading<T> {
  scope: CallerScope;
  result: T;
}

type Handle<T> = (request: ApiRequest) => Promise<T> | T;

/**
 * Creates the function that runs a handler in a snapshot. The first statement of the snapshot looks the
 * repositories up again, with their versions: uploads and deletions since the request was authenticated count
 * for all that is read, or for nothing.
 *
 * Nothing is read for a request that is over: each of hundreds that waited for a connection would keep those
 * that came later waiting, until they are over too.
 * @throws {RefusedError} when the token or the resource is gone; {@linkcode RequestOverError}
 */
export function createSnapshotReader({ sql }: Pick<Context, "sql">, tests: TestCache) {
  return async <T>(checked: CheckedRequest, handle: Handle<T>): Promise<Reading<T>> => {
    const { request, parsed, authenticated: { scope, lookUp }, deadline } = checked;
    const { route } = parsed;
    const requireTime = () => {
      if (performance.now() > deadline) throw new RequestOverError();
    };
    const testsOf = ({ repositories }: CallerScope, options: LoadTestsOptions) => ({
      repositories,
      now: request.now,
      windowStart: request.windowStart,
      deadline,
      ...options,
    });
    if (!lookUp || !route.resource || route.resource === "organization") {
      return { scope, result: await handle({ ...request, ...scope, ...NOTHING_TO_LOAD }) };
    }
    if (route.tests) {
      const { repositories } = findResource(parsed, scope);
      const seen = { ...scope, repositories };
      const found = await tests.find(testsOf(seen, route.tests(request.query)));
      if (found) {
        const loadTests = () => Promise.resolve(found);
        return { scope, result: await handle({ ...request, ...seen, load: notLoaded, loadTests }) };
      }
    }
    const loadScope = (tx: Queryable) => {
      // The transaction may have waited for a connection.
      requireTime();
      return loadCallers(tx, [lookUp]).then(([scope]) => scope);
    };
    requireTime();
    return await readSnapshotAfter(sql, loadScope, async (tx, scope) => {
      if (!scope) {
        const scheme = route.access === "token or basic" ? "Basic" : "Bearer";
        throw new RefusedError(unauthorized(scheme));
      }
      const { repositories, errors, isMissing } = findResource(parsed, scope);
      if (isMissing || Object.keys(errors).length > 0) throw new RefusedError(notFound());
      requireTime();
      const seen = { ...scope, repositories };
      const load = createLoad(tx, repositories, request);
      const result = await handle({
        ...request,
        ...seen,
        // Rejects: handlers wait for several loads together.
        async load(query, options) {
          requireTime();
          return await load(query, options);
        },
        loadTests: (options = {}) => tests.load(tx, testsOf(seen, options)),
      });
      return { scope, result };
    });
  };
}

const notLoaded: Load = () => {
  throw new Error("the route declares that it loads nothing but tests");
};

const NOTHING_TO_LOAD: Pick<ApiRequest, "load" | "loadTests"> = {
  load: notLoaded,
  loadTests: () => Promise.reject(new Error("the route has no repositories")),
};
