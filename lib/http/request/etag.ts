/**
 * Entity tags. A tag is made from what an answer depends on, not from the answer, so that a client
 * that has it already costs one look at the data's version.
 */
import { createHash } from "node:crypto";

// 132 bits: two different answers never share a tag by accident.
const TAG_CHARACTERS = 22;

/** The strong tag, quotes included, of the answer that these values determine. */
export function makeEtag(values: unknown): string {
  const digest = createHash("sha256").update(JSON.stringify(values)).digest("base64url");
  return `"${digest.slice(0, TAG_CHARACTERS)}"`;
}

/** The tag of the same answer in another encoding. */
export function weaken(etag: string): string {
  return etag.startsWith("W/") ? etag : `W/${etag}`;
}

/**
 * Compares weakly, as `If-None-Match` asks for, with a list of tags or `*`. Returns the tag as the
 * client holds it, weak or strong, or `null` when it has another answer or none.
 */
export function matchEtag(ifNoneMatch: string | null, etag: string): string | null {
  if (ifNoneMatch === null) return null;
  if (ifNoneMatch.trim() === "*") return etag;
  for (const [candidate] of ifNoneMatch.matchAll(/(?:W\/)?"[^"]*"/g)) {
    if (weaken(candidate) === weaken(etag)) return candidate;
  }
  return null;
}
