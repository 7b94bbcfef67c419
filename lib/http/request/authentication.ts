/** Who is calling: reads the token of the `Authorization` header and looks it up. */
import { setImmediate } from "node:timers/promises";
import { type Found, loadCaller, type Selection } from "../../../db/read/caller.ts";
import { hashToken, type TokenType, tokenType } from "../../base/token.ts";
import type { Context } from "./context.ts";
import type { Access } from "./route.ts";

/** The plain token goes no further than this module. */
interface TokenHash {
  type: TokenType;
  hash: string;
}

/** Returns the caller and the repositories of a request, or `null` without a valid token. */
export type Authenticate = (authorization: string | null, options: {
  access: Access;
  selection: Selection;
  /** Seconds since 1970. */
  now: number;
  /** First second of the window, since 1970. */
  windowStart: number;
}) => Promise<Found | null>;

/**
 * Creates the function that authenticates requests: one statement each, which concurrent requests
 * of one caller for the same repositories share. A revoked token is refused from the next request
 * on, because a shared statement starts after all requests that share it.
 */
export function createAuthentication({ sql }: Pick<Context, "sql">): Authenticate {
  const lookUps = new SingleFlight<Found | null>();
  return async (authorization, { access, ...options }) => {
    if (access === "public") return { caller: null, repositories: [] };
    const token = readToken(authorization, access);
    if (!token) return null;
    return await lookUps.run(
      JSON.stringify([token, options]),
      () => loadCaller(sql, { token, ...options }),
    );
  };
}

/**
 * Reads the token of the header, `null` when it has none that could be valid.
 *
 * Two headers arrive joined by a comma, which no token contains.
 */
export function readToken(authorization: string | null, access: Access): TokenHash | null {
  const match = /^[ \t]*(\S+)[ \t]+(\S+)[ \t]*$/.exec(authorization ?? "");
  const [, scheme = "", credentials = ""] = match ?? [];
  switch (scheme.toLowerCase()) {
    case "token":
    case "bearer":
      return hashed(credentials);
    case "basic":
      return access === "token or basic" ? hashed(basicPassword(credentials)) : null;
    default:
      return null;
  }
}

function hashed(token: string): TokenHash | null {
  const type = tokenType(token);
  return type && { type, hash: hashToken(token, type) };
}

/** Returns what follows the first colon of Basic credentials, `""` when they cannot be decoded. */
function basicPassword(credentials: string): string {
  let decoded: string;
  try {
    decoded = atob(credentials);
  } catch {
    return "";
  }
  const colon = decoded.indexOf(":");
  return colon < 0 ? "" : decoded.slice(colon + 1);
}

/**
 * Single-flight: concurrent callers share one run. A caller never receives a result that started
 * before its call, because a run starts at the end of the turn of the event loop in which it was
 * first called for, and takes no callers after that.
 */
export class SingleFlight<T> {
  readonly #pending = new Map<string, Promise<T>>();

  /** @param key names everything that the result depends on, except the time */
  run(key: string, act: () => Promise<T>): Promise<T> {
    let run = this.#pending.get(key);
    if (!run) this.#pending.set(key, run = this.#start(key, act));
    return run;
  }

  async #start(key: string, act: () => Promise<T>): Promise<T> {
    await setImmediate();
    this.#pending.delete(key);
    return await act();
  }
}
