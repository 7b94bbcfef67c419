/** Tokens. Only a hash is stored; the plain token is shown once, when it is created. */
import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";

/** Prefix of each type of token, and the number of random bytes that follow as hex digits. */
const SHAPES = {
  api_token: { prefix: "tk_", byteCount: 32 },
  legacy: { prefix: "", byteCount: 20 },
  upload: { prefix: "up_", byteCount: 32 },
  badge: { prefix: "bd_", byteCount: 32 },
  quarantine: { prefix: "qt_", byteCount: 32 },
} as const;

/**
 * `api_token` and `legacy` read an organization. `upload` uploads to it and `quarantine` quarantines its
 * tests, or the tests of one repository. `badge` opens the badges of one repository.
 */
export type TokenType = keyof typeof SHAPES;

/** What a message calls a token where another type is expected. */
export const TOKEN_PURPOSES: Readonly<Record<TokenType, string>> = {
  api_token: "an API token, which only reads",
  legacy: "a legacy API token, which only reads",
  badge: "a badge token",
  upload: "an upload token, which only uploads",
  quarantine: "a quarantine token, which only quarantines tests",
};

const PATTERNS = Object.entries(SHAPES).map(([type, { prefix, byteCount }]) => ({
  type: type as TokenType,
  pattern: new RegExp(`^${prefix}[0-9a-f]{${2 * byteCount}}$`, "i"),
}));

// 32 of 256 bits (160 for a legacy token): the rest cannot be guessed.
const SHOWN_HEX_DIGITS = 8;

/** Makes a random token, to be shown once; its `prefix` is shown in lists. */
export function makeToken(type: TokenType) {
  const { prefix, byteCount } = SHAPES[type];
  const plain = prefix + randomBytes(byteCount).toString("hex");
  const shown = plain.slice(0, prefix.length + SHOWN_HEX_DIGITS);
  return { type, plain, hash: hashToken(plain, type), prefix: shown };
}

/** The type of a token by its shape; `null` when it has none of them. */
export function tokenType(text: string): TokenType | null {
  return PATTERNS.find(({ pattern }) => pattern.test(text))?.type ?? null;
}

/** SHA-256 of a token: in hex, in base64 for `legacy`. */
export function hashToken(plain: string, type: TokenType): string {
  return createHash("sha256").update(plain).digest(type === "legacy" ? "base64" : "hex");
}

/** Reads a token's hash of the earlier service: 64 hex digits, or base64. @throws {SyntaxError} */
export function parseTokenHash(text: string): { type: TokenType; hash: string } {
  if (/^[0-9a-f]{64}$/i.test(text)) return { type: "api_token", hash: text.toLowerCase() };
  if (/^[A-Za-z0-9+/]{43}=?$/.test(text)) {
    // Normalizes padding and unused bits.
    return { type: "legacy", hash: Buffer.from(text, "base64").toString("base64") };
  }
  // Not quoted: it may be the plain token, put here by mistake.
  throw new SyntaxError(
    `invalid token hash of ${text.length} characters: expected 64 hex digits, or base64 of 32 bytes ` +
      "for a legacy token",
  );
}
