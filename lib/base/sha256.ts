/**
 * SHA-256 of texts, of which an upload may have a million. For short ones, the runtime's `createHash` keeps
 * some bytes outside of the heap for each: a million take a process of 182 MB, and 101 MB here.
 */
import { createHash } from "node:crypto";
import { sha256 as hash } from "@noble/hashes/sha2.js";

/** Longer texts are left to `createHash`, which is several times faster for them. */
const MAX_CHARACTERS = 1_365;

const encoder = new TextEncoder();

/** The SHA-256 of a text as UTF-8. */
export function sha256(text: string): Uint8Array {
  return text.length > MAX_CHARACTERS
    ? createHash("sha256").update(text).digest()
    : hash(encoder.encode(text));
}
