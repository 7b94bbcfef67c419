// Tests: tests/lib/intake/receive/upload_app_test.ts
import { TOKEN_PURPOSES, type TokenType, tokenType } from "../../base/token.ts";
import { PROGRAM } from "../../base/version.ts";
import { readToken } from "../../http/request/authentication.ts";

/** The types of tokens that `receive` accepts, and how messages name them. */
const KINDS = {
  upload: { name: "upload token", prefix: "up_", variable: "UPLOAD_TOKEN" },
  quarantine: { name: "quarantine token", prefix: "qt_", variable: "QUARANTINE_TOKEN" },
} as const satisfies Partial<Record<TokenType, unknown>>;

export type ReceiverTokenType = keyof typeof KINDS;

const createCommand = (type: ReceiverTokenType) =>
  `create one with \`${PROGRAM} token create --org NAME --${type}\``;

/** Says nothing about whether the token exists. */
export function invalidToken(type: ReceiverTokenType): string {
  return `unknown, expired or revoked ${KINDS[type].name}: ${createCommand(type)}`;
}

/** Reads the token of the `Authorization` header; otherwise `problem` says what is wrong. */
export function readReceiverToken(
  authorization: string | null,
  type: ReceiverTokenType,
): { hash: string } | { problem: string } {
  const token = readToken(authorization, "token", [type]);
  return token ?? { problem: problemOf(authorization?.trim() ?? "", type) };
}

/** By the form of the header alone, which is never quoted: it may contain a token. */
function problemOf(authorization: string, expected: ReceiverTokenType): string {
  const { name, prefix, variable } = KINDS[expected];
  const [scheme = "", token, ...more] = authorization.split(/[ \t]+/);
  if (scheme === "") return `missing token: expected the header "Authorization: Bearer TOKEN"`;
  if (tokenType(scheme) || scheme.startsWith(prefix)) {
    return `missing "Bearer" before the token: expected "Authorization: Bearer TOKEN"`;
  }
  if (!/^(bearer|token)$/i.test(scheme)) {
    return `invalid header: expected "Authorization: Bearer TOKEN"`;
  }
  if (token === undefined) return `empty token: check that the job has ${variable}`;
  if (more.length > 0) return `text after the token: expected "Authorization: Bearer TOKEN"`;
  const right =
    `expected ${name === "upload token" ? "an" : "a"} ${name} (${prefix} and 64 hex digits): ` +
    createCommand(expected);
  const type = tokenType(token);
  if (type) return `${TOKEN_PURPOSES[type]}: ${right}`;
  if (token.startsWith(prefix)) return `incomplete or changed ${name}: ${right}`;
  return `invalid token: ${right}`;
}
