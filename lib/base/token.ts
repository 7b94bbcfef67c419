/** API tokens. Only a hash is stored; the plain token is shown once, when it is created. */
import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";

/** `api_token` is `tk_` and 64 hex digits, `legacy` 40 hex digits. */
export type TokenType = "api_token" | "legacy";

/** A new token, to be shown once. */
export interface NewToken {
  type: TokenType;
  plain: string;
  hash: string;
  /** The first digits, shown in lists. */
  prefix: string;
}

// 32 of 256 bits (160 for a legacy token): the rest cannot be guessed.
const PREFIX_HEX_DIGITS = 8;

/** Makes a random token. */
export function makeToken(type: TokenType): NewToken {
  const plain = type === "api_token"
    ? `tk_${randomBytes(32).toString("hex")}`
    : randomBytes(20).toString("hex");
  return { type, plain, hash: hashToken(plain, type), prefix: tokenPrefix(plain, type) };
}

/** The type of a token by its shape; `null` when it has neither. */
export function tokenType(text: string): TokenType | null {
  if (/^tk_[0-9a-f]{64}$/i.test(text)) return "api_token";
  if (/^[0-9a-f]{40}$/i.test(text)) return "legacy";
  return null;
}

/** SHA-256 of a token: in hex for `api_token`, in base64 for `legacy`. */
export function hashToken(plain: string, type: TokenType): string {
  return createHash("sha256").update(plain).digest(type === "api_token" ? "hex" : "base64");
}

/** The beginning of a token that lists may show. */
export function tokenPrefix(plain: string, type: TokenType): string {
  return plain.slice(0, (type === "api_token" ? "tk_".length : 0) + PREFIX_HEX_DIGITS);
}

/**
 * Reads the hash of a token of the earlier service and writes it the way it is stored.
 *
 * @throws {SyntaxError} when the text is neither 64 hex digits nor base64 of 32 bytes
 */
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
