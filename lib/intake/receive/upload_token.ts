import { type TokenType, tokenType } from "../../base/token.ts";
import { PROGRAM } from "../../base/version.ts";
import { readToken } from "../../http/request/authentication.ts";

const CREATE = `create one with \`${PROGRAM} token create --org NAME --upload\``;
const EXPECTED = `expected an upload token (up_ and 64 hex digits): ${CREATE}`;

/** Of tokens that open something else. */
const OTHER_TOKENS: Partial<Record<TokenType, string>> = {
  api_token: "an API token, which only reads",
  legacy: "a legacy API token, which only reads",
  badge: "a badge token",
};

/** Says nothing about whether the token exists. */
export const INVALID_TOKEN = `unknown, expired or revoked upload token: ${CREATE}`;

/** Reads the upload token of the `Authorization` header; otherwise `problem` says what is wrong. */
export function readUploadToken(
  authorization: string | null,
): { hash: string } | { problem: string } {
  const token = readToken(authorization, "token", ["upload"]);
  return token ?? { problem: problemOf(authorization?.trim() ?? "") };
}

/** By the form of the header alone, which is never quoted: it may contain a token. */
function problemOf(authorization: string): string {
  const [scheme = "", token, ...more] = authorization.split(/[ \t]+/);
  if (scheme === "") return `missing token: expected the header "Authorization: Bearer TOKEN"`;
  if (tokenType(scheme) || scheme.startsWith("up_")) {
    return `missing "Bearer" before the token: expected "Authorization: Bearer TOKEN"`;
  }
  if (!/^(bearer|token)$/i.test(scheme)) {
    return `invalid header: expected "Authorization: Bearer TOKEN"`;
  }
  if (token === undefined) return "empty token: check that the job has UPLOAD_TOKEN";
  if (more.length > 0) return `text after the token: expected "Authorization: Bearer TOKEN"`;
  const type = tokenType(token);
  if (type) return `${OTHER_TOKENS[type] ?? "a token of another kind"}: ${EXPECTED}`;
  if (token.startsWith("up_")) return `incomplete or changed upload token: ${EXPECTED}`;
  return `invalid token: ${EXPECTED}`;
}
