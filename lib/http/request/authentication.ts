// Tests: tests/lib/http/request/parsed_url_test.ts tests/lib/intake/receive/upload_app_test.ts
/**
 * Who is calling: reads the token of the `Authorization` header and looks it up. The plain token goes no
 * further than this module.
 */
import { valueOr } from "../../base/error.ts";
import { LRUCache } from "lru-cache";
import { isWorkerUnavailable } from "../../../db/connection/errors.ts";
import {
  type CallerLookUp,
  type CallerScope,
  existingTokenHashes,
  loadCallers,
} from "../../../db/read/caller.ts";
import { caseKey } from "../../base/identity.ts";
import { hashToken, type TokenType, tokenType } from "../../base/token.ts";
import { createBatches } from "./batches.ts";
import type { Context } from "./context.ts";
import type { Access } from "./route.ts";
import { createTokenThrottle, ofEntries } from "./token_throttle.ts";

// 200 bytes each. The rest are looked up as if they were new.
const MAX_VALID_TOKENS = 10_000;

const NO_SCOPE: CallerScope = { caller: null, organizationName: null, repositories: [] };

/** What a request says about its caller, and what it is about. */
interface Credentials extends Omit<CallerLookUp, "token"> {
  access: Access;
  /** The query parameter `token`, where a badge token may be sent in it. */
  badgeToken: string | null;
  /** The organization that a trusted proxy named, `null` when it named none. */
  organization: string | null;
  /** Address of the client; "" when unknown. */
  address: string;
}

/** A request with a valid token, or to a public route. */
export interface Authenticated {
  scope: CallerScope;
  /** What found it, to be looked up again in the snapshot of the request; `null` on public routes. */
  lookUp: CallerLookUp | null;
}

/**
 * Creates the function that returns the caller and the repositories of a request, or `null` without a
 * valid token. Requests that arrive together share a statement. A revoked token is refused from the
 * next request on, because a statement starts after all requests that share it.
 */
export function createAuthentication(
  { sql, log, onTokenUse, metrics }: Pick<Context, "sql" | "log" | "onTokenUse" | "metrics">,
) {
  /** Hashes of tokens that were valid, with the hour of their last use. */
  const valid = new LRUCache<string, number>(ofEntries(MAX_VALID_TOKENS));
  const throttle = createTokenThrottle({
    log,
    loadExisting: (hashes) => existingTokenHashes(sql, hashes),
  });
  const lookUp = createBatches((all: readonly CallerLookUp[]) => {
    metrics?.count("lookup_batches_total");
    return loadCallers(sql, all);
  }, { mayDiffer: isWorkerUnavailable });
  return async (
    authorization: string | null,
    { access, badgeToken, organization, address, ...options }: Credentials,
  ): Promise<Authenticated | null> => {
    if (access === "public") return { scope: NO_SCOPE, lookUp: null };
    if (access === "token or basic" && organization) {
      const token = { type: "proxy", hash: caseKey(organization) };
      const wanted = { token, ...options };
      const scope = await lookUp(JSON.stringify([token, options.selection]), wanted);
      return scope && { scope, lookUp: wanted };
    }
    // A header takes precedence: a badge token is for clients that cannot send one.
    const token = authorization === null && badgeToken !== null
      ? hashed(badgeToken, ["badge"])
      : readToken(authorization, access);
    if (!token) return null;
    const { hash } = token;
    const lastUse = valid.get(hash);
    if (lastUse === undefined && !await throttle.mayBeValid(address, hash)) {
      metrics?.count("throttled_requests_total");
      return null;
    }
    const key = JSON.stringify([hash, options.selection]);
    const wanted = { token, ...options };
    const scope = await lookUp(key, wanted);
    const hour = options.now - options.now % 3600;
    if (!scope?.caller) {
      valid.delete(hash);
      throttle.recordWrong(address);
    } else if (lastUse !== hour) {
      valid.set(hash, hour);
      if (scope.caller.tokenId !== null) onTokenUse?.({ hash, hour });
    }
    return scope && { scope, lookUp: wanted };
  };
}

/**
 * Reads the token of the header, `null` when it has none that could be valid. Two headers arrive
 * joined by a comma, which no token contains.
 */
export function readToken(
  authorization: string | null,
  access: Access,
  types?: readonly TokenType[],
) {
  const [, scheme = "", credentials = ""] =
    /^[ \t]*(\S+)[ \t]+(\S+)[ \t]*$/.exec(authorization ?? "") ?? [];
  switch (scheme.toLowerCase()) {
    case "token":
    case "bearer":
      return hashed(credentials, types);
    case "basic":
      return access === "token or basic" ? hashed(basicPassword(credentials)) : null;
    default:
      return null;
  }
}

/** `null` for a token of another type, which opens something else. */
function hashed(token: string, types: readonly TokenType[] = ["api_token", "legacy"]) {
  const type = tokenType(token);
  return type && types.includes(type) ? { type, hash: hashToken(token, type) } : null;
}

/** Returns what follows the first colon of Basic credentials, `""` when they cannot be decoded. */
function basicPassword(credentials: string): string {
  return valueOr(() => atob(credentials), "").replace(/^[^:]*:?/, "");
}
