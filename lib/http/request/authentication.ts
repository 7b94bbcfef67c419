/** Reads who is calling from a request's `Authorization` header. */
import { hashToken, type TokenType, tokenType } from "../../base/token.ts";
import type { Access } from "./route.ts";

/** What is left of a token once it is read: the plain token goes no further than this module. */
export interface TokenHash {
  type: TokenType;
  hash: string;
}

/**
 * Reads the header's token, or `null` when it has none that could be valid.
 *
 * Two headers arrive joined with a comma, which no token contains.
 */
export function readToken(authorization: string | null, access: Access): TokenHash | null {
  const match = /^[ \t]*(\S+)[ \t]+(\S+)[ \t]*$/.exec(authorization ?? "");
  const [, scheme = "", credentials = ""] = match ?? [];
  switch (scheme.toLowerCase()) {
    case "token":
    case "bearer":
      return readShape(credentials);
    case "basic":
      return access === "token or basic" ? readShape(basicPassword(credentials)) : null;
    default:
      return null;
  }
}

function readShape(token: string): TokenHash | null {
  const type = tokenType(token);
  return type && { type, hash: hashToken(token, type) };
}

/** What follows the first colon of Basic credentials, `""` when they cannot be read. */
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
