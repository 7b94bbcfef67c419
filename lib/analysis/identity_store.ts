import type { TestIdentity } from "../base/identity.ts";

const CHUNK_BYTES = 1 << 20;
const LENGTH_BYTES = 4;
/** Bytes of UTF-8 that a UTF-16 code unit takes at most. */
const BYTES_PER_UNIT = 3;

const encoder = new TextEncoder();
// A byte order mark at the beginning of a name belongs to the name.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Identities as plain data, which can be sent to another thread. */
export interface StoredIdentities {
  chunks: Uint8Array<ArrayBuffer>[];
  /** Positions of suite, class, name and file of each identity. */
  positions: Uint32Array;
}

/**
 * Identities of tests as UTF-8 in chunks, outside of the engine's heap: half a million tests take
 * about 30 MB, so that a report of 1 GB stays below 256 MB. As objects with strings they take 100.
 */
export class IdentityStore {
  readonly #chunks: Uint8Array<ArrayBuffer>[] = [];
  #chunkUsed = 0;
  /** Positions of suite, class, name and file of each identity: up to 4 GB of text. */
  #positions = new Uint32Array(4 * 1024);
  #count = 0;
  #byteCount = 0;
  // Suite, class and file are mostly the same as for the test before, and are then stored once.
  readonly #lastTexts: (string | undefined)[] = [undefined, undefined, undefined, undefined];
  readonly #lastPositions = [0, 0, 0, 0];

  push(test: TestIdentity): void {
    const start = 4 * this.#count++;
    if (start === this.#positions.length) {
      const larger = new Uint32Array(start * 2);
      larger.set(this.#positions);
      this.#positions = larger;
    }
    this.#positions[start] = this.#positionOf(0, test.suite);
    this.#positions[start + 1] = this.#positionOf(1, test.class);
    this.#positions[start + 2] = this.#positionOf(2, test.name);
    this.#positions[start + 3] = this.#positionOf(3, test.file);
  }

  /** Bytes that the texts take in memory, including forgotten ones. */
  get byteCount(): number {
    return this.#byteCount;
  }

  /** Forgets all but the first `count`. */
  truncate(count: number): void {
    this.#count = count;
  }

  /** Everything that was pushed; nothing is pushed afterwards. */
  finish(): StoredIdentities {
    // Most uploads fill a small part of one chunk, and another thread gets a copy.
    const last = this.#chunks.pop();
    if (last) this.#chunks.push(last.slice(0, this.#chunkUsed));
    return { chunks: this.#chunks, positions: this.#positions.slice(0, 4 * this.#count) };
  }

  #positionOf(field: number, text: string): number {
    if (this.#lastTexts[field] === text) return this.#lastPositions[field]!;
    this.#lastTexts[field] = text;
    return this.#lastPositions[field] = this.#write(text);
  }

  #write(text: string): number {
    const most = LENGTH_BYTES + text.length * BYTES_PER_UNIT;
    let chunk = this.#chunks.at(-1);
    if (!chunk || this.#chunkUsed + most > CHUNK_BYTES) {
      // A text that is longer than a chunk gets one of its own.
      chunk = new Uint8Array(Math.max(CHUNK_BYTES, most));
      this.#chunks.push(chunk);
      this.#chunkUsed = 0;
    }
    const start = this.#chunkUsed;
    const { written } = encoder.encodeInto(text, chunk.subarray(start + LENGTH_BYTES));
    new DataView(chunk.buffer).setUint32(start, written);
    this.#chunkUsed += LENGTH_BYTES + written;
    this.#byteCount += LENGTH_BYTES + written;
    return (this.#chunks.length - 1) * CHUNK_BYTES + start;
  }
}

/** The identity that was pushed after `index` others. */
export function identityIn({ chunks, positions }: StoredIdentities, index: number): TestIdentity {
  const field = (offset: number) => {
    const position = positions[4 * index + offset]!;
    const chunk = chunks[Math.floor(position / CHUNK_BYTES)]!;
    const start = position % CHUNK_BYTES;
    const length = new DataView(chunk.buffer, chunk.byteOffset).getUint32(start);
    return decoder.decode(chunk.subarray(start + LENGTH_BYTES, start + LENGTH_BYTES + length));
  };
  return { suite: field(0), class: field(1), name: field(2), file: field(3) };
}
