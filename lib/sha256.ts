/**
 * SHA-256 of short texts, without an object for each.
 *
 * The platform's hash is an object of its own beside the engine's memory. One for each of half a
 * million names is 60 MB that are freed late, and a name takes half as long again with it.
 */
import { createHash } from "node:crypto";

const BLOCK_BYTES = 64;
/** Bytes of the end of the last block that hold the length. */
const LENGTH_BYTES = 8;

/** Longer texts go to the platform, which is faster per byte. */
const SHORT_CHARACTERS = 1_000;
/** Bytes of UTF-8 that a UTF-16 unit takes at most. */
const BYTES_PER_UNIT = 3;

const encoder = new TextEncoder();
const bytes = new Uint8Array(
  Math.ceil((SHORT_CHARACTERS * BYTES_PER_UNIT + 1 + LENGTH_BYTES) / BLOCK_BYTES) * BLOCK_BYTES,
);
const view = new DataView(bytes.buffer);
const state = new Int32Array(8);
const schedule = new Int32Array(64);

const { initial, constants } = fromPrimes();

/** The first 52 bits of the SHA-256 of a text in UTF-8: as many as a number holds exactly. */
export function sha256Start(text: string): number {
  if (text.length > SHORT_CHARACTERS) {
    return parseInt(createHash("sha256").update(text).digest("hex").slice(0, 13), 16);
  }
  const length = encoder.encodeInto(text, bytes).written;
  const end = Math.ceil((length + 1 + LENGTH_BYTES) / BLOCK_BYTES) * BLOCK_BYTES;
  bytes.fill(0, length, end);
  bytes[length] = 0x80;
  view.setUint32(end - 4, length * 8);
  addFirstBlock();
  for (let start = BLOCK_BYTES; start < end; start += BLOCK_BYTES) addBlock(start);
  return (state[0]! >>> 0) * 2 ** 20 + (state[1]! >>> 12);
}

// Names of tests that stand together begin with the same suite and class: what came of the block that
// came first last time is taken again when it is the same. That spares a block of three or four.
const firstBlock = new Int32Array(BLOCK_BYTES / 4);
const firstState = new Int32Array(8);
let hasFirst = false;

function addFirstBlock(): void {
  let isSame = hasFirst;
  hasFirst = true;
  for (let at = 0; at < firstBlock.length; at++) {
    const word = view.getInt32(at * 4);
    if (firstBlock[at] === word) continue;
    firstBlock[at] = word;
    isSame = false;
  }
  if (isSame) return state.set(firstState);
  state.set(initial);
  addBlock(0);
  firstState.set(state);
}

function addBlock(start: number): void {
  for (let at = 0; at < 16; at++) schedule[at] = view.getInt32(start + at * 4);
  for (let at = 16; at < 64; at++) {
    const near = schedule[at - 2]!;
    const far = schedule[at - 15]!;
    const nearMix = (near >>> 17 | near << 15) ^ (near >>> 19 | near << 13) ^ (near >>> 10);
    const farMix = (far >>> 7 | far << 25) ^ (far >>> 18 | far << 14) ^ (far >>> 3);
    schedule[at] = schedule[at - 16]! + farMix + schedule[at - 7]! + nearMix;
  }
  let a = state[0]!, b = state[1]!, c = state[2]!, d = state[3]!;
  let e = state[4]!, f = state[5]!, g = state[6]!, h = state[7]!;
  for (let at = 0; at < 64; at++) {
    const eMix = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7);
    const first = h + eMix + ((e & f) ^ (~e & g)) + constants[at]! + schedule[at]! | 0;
    const aMix = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10);
    const second = aMix + ((a & b) ^ (a & c) ^ (b & c)) | 0;
    h = g;
    g = f;
    f = e;
    e = d + first | 0;
    d = c;
    c = b;
    b = a;
    a = first + second | 0;
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

/** The algorithm's own numbers: the fractions of square and cubic roots of the first primes. */
function fromPrimes(): { initial: Int32Array; constants: Int32Array } {
  const primes: number[] = [];
  for (let number = 2; primes.length < 64; number++) {
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  }
  const fraction = (root: number) => (root - Math.floor(root)) * 2 ** 32;
  return {
    initial: Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)) | 0),
    constants: Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)) | 0),
  };
}
