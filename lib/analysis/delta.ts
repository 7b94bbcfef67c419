/**
 * Delta compression: bytes as copies of parts of a base and what lies between them. `node:zlib` of Deno
 * ignores its option `dictionary`, which would do the same.
 */
import { VarintReader, VarintWriter } from "./varint.ts";

/** A shorter copy costs as much as its bytes. */
const MIN_COPY = 6;
/** Bounds the time for bases that repeat themselves. */
const MAX_CANDIDATES = 32;
const HASH_BITS = 12;

/** Encodes bytes as their difference from a base. */
export function encodeDelta(bytes: Uint8Array, base: Uint8Array): Uint8Array {
  const index = new BaseIndex(base);
  const copies = new VarintWriter();
  const literals = new Uint8Array(bytes.length);
  let literalCount = 0;
  let copyCount = 0;
  let literalStart = 0;
  const addLiterals = (end: number) => {
    literals.set(bytes.subarray(literalStart, end), literalCount);
    literalCount += end - literalStart;
  };
  // Where the next copy begins if as many bytes were replaced in the base.
  let expected = 0;
  for (let at = 0; at + MIN_COPY <= bytes.length;) {
    const { start, length } = index.longest(bytes, { at, expected: expected + at - literalStart });
    if (length < MIN_COPY) {
      at++;
      continue;
    }
    copies.write(at - literalStart);
    copies.writeSigned(start - expected);
    copies.write(length);
    copyCount++;
    addLiterals(at);
    at += length;
    literalStart = at;
    expected = start + length;
  }
  addLiterals(bytes.length);
  const head = new VarintWriter();
  head.write(copyCount);
  return concat([head.finish(), copies.finish(), literals.subarray(0, literalCount)]);
}

/** Decodes what {@linkcode encodeDelta} returned for the same base. */
export function decodeDelta(delta: Uint8Array, base: Uint8Array): Uint8Array {
  const reader = new VarintReader(delta);
  const copies = Array.from({ length: reader.read() }, () => ({
    literalCount: reader.read(),
    offset: reader.readSigned(),
    length: reader.read(),
  }));
  const literals = reader.rest();
  const parts: Uint8Array[] = [];
  let literalEnd = 0;
  let expected = 0;
  for (const { literalCount, offset, length } of copies) {
    parts.push(literals.subarray(literalEnd, literalEnd += literalCount));
    const start = expected + offset;
    parts.push(base.subarray(start, start + length));
    expected = start + length;
  }
  parts.push(literals.subarray(literalEnd));
  return concat(parts);
}

/** The positions of a base by a hash of the four bytes there. */
class BaseIndex {
  readonly #base: Uint8Array;
  /** The last position with each hash, plus one. */
  readonly #last = new Uint32Array(1 << HASH_BITS);
  /** The position before with the same hash, plus one, of each position. */
  readonly #previous: Uint32Array;

  constructor(base: Uint8Array) {
    this.#base = base;
    this.#previous = new Uint32Array(base.length);
    for (let position = 0; position + 4 <= base.length; position++) {
      const hash = hashAt(base, position);
      this.#previous[position] = this.#last[hash]!;
      this.#last[hash] = position + 1;
    }
  }

  /** The longest part of the base that equals the bytes at a position. */
  longest(
    bytes: Uint8Array,
    { at, expected }: { at: number; expected: number },
  ): { start: number; length: number } {
    let start = expected;
    let length = this.#matchLength(bytes, at, expected);
    let candidate = this.#last[hashAt(bytes, at)]!;
    for (let count = 0; candidate > 0 && count < MAX_CANDIDATES; count++) {
      const found = this.#matchLength(bytes, at, candidate - 1);
      if (found > length) [start, length] = [candidate - 1, found];
      candidate = this.#previous[candidate - 1]!;
    }
    return { start, length };
  }

  #matchLength(bytes: Uint8Array, at: number, position: number): number {
    const base = this.#base;
    const end = Math.min(bytes.length - at, base.length - position);
    let length = 0;
    while (length < end && bytes[at + length] === base[position + length]) length++;
    return length;
  }
}

function hashAt(bytes: Uint8Array, at: number): number {
  const four = bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16 | bytes[at + 3]! << 24;
  return Math.imul(four, 0x9e3779b1) >>> (32 - HASH_BITS);
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    joined.set(part, end);
    end += part.length;
  }
  return joined;
}
