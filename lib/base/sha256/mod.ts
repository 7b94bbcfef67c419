/**
 * SHA-256 of many short texts.
 *
 * The platform's hash is an object of its own beside the engine's memory. One for each of half a
 * million names is 60 MB that are freed late, and takes three times as long as one of four that are
 * hashed side by side.
 */
import { createHash } from "node:crypto";
import { BLOCK_BYTES, type Kernel, LANES, makeKernel } from "./kernel.ts";

/** Bytes of the end of the last block that hold the length. */
const LENGTH_BYTES = 8;

/** Longer texts go to the platform, which is faster per byte. */
const SHORT_CHARACTERS = 1_000;
/** Bytes of UTF-8 that a UTF-16 unit takes at most. */
const BYTES_PER_UNIT = 3;
const MESSAGE_BYTES = lengthInBlocks(SHORT_CHARACTERS * BYTES_PER_UNIT);

/** The first texts go to the platform too: most uploads have no more, and need nothing made ready. */
const FEW_TEXTS = 200;

const encoder = new TextEncoder();
let kernel: Kernel | undefined;

/** The first 52 bits of the SHA-256 of a text in UTF-8: as many as a number holds exactly. */
export function sha256Start(text: string): number {
  return parseInt(createHash("sha256").update(text).digest("hex").slice(0, 13), 16);
}

/** The same of many texts, told in their order, but not at once. */
export class Sha256Starts {
  readonly #take: (start: number) => void;
  #count = 0;
  #waiting: string[] = [];

  /** @param take called for each text, when it or a later one is added, or with `finish` */
  constructor(take: (start: number) => void) {
    this.#take = take;
  }

  add(text: string): void {
    if (++this.#count <= FEW_TEXTS || text.length > SHORT_CHARACTERS) {
      this.finish();
      this.#take(sha256Start(text));
    } else if (this.#waiting.push(text) === LANES) {
      this.finish();
    }
  }

  /** Tells of all that were added. */
  finish(): void {
    if (this.#waiting.length === 0) return;
    hashSideBySide(this.#waiting, this.#take);
    this.#waiting.length = 0;
  }
}

const blockCounts = new Int32Array(LANES);
const starts = new Float64Array(LANES);

function hashSideBySide(texts: string[], take: (start: number) => void): void {
  const { messages, state, initial, addBlock } = kernel ??= makeKernel(MESSAGE_BYTES);
  let longest = 0;
  for (let lane = 0; lane < texts.length; lane++) {
    const blockCount = writeMessage(messages[lane]!, texts[lane]!);
    blockCounts[lane] = blockCount;
    if (blockCount > longest) longest = blockCount;
  }
  state.set(initial);
  for (let block = 1; block <= longest; block++) {
    addBlock((block - 1) * BLOCK_BYTES);
    for (let lane = 0; lane < texts.length; lane++) {
      if (blockCounts[lane] !== block) continue;
      starts[lane] = (state[lane]! >>> 0) * 2 ** 20 + (state[LANES + lane]! >>> 12);
    }
  }
  for (let lane = 0; lane < texts.length; lane++) take(starts[lane]!);
}

/** Writes a text as the algorithm wants it, and returns how many blocks it takes. */
function writeMessage(bytes: Uint8Array, text: string): number {
  const length = encoder.encodeInto(text, bytes).written;
  const end = lengthInBlocks(length);
  bytes.fill(0, length, end);
  bytes[length] = 0x80;
  // The number of bits, the least significant byte last; 16 bits are enough.
  bytes[end - 2] = length >>> 5;
  bytes[end - 1] = length << 3;
  return end / BLOCK_BYTES;
}

/** Bytes of whole blocks that a message of so many bytes takes, with its end and its length. */
function lengthInBlocks(length: number): number {
  return Math.ceil((length + 1 + LENGTH_BYTES) / BLOCK_BYTES) * BLOCK_BYTES;
}
