// Tests: tests/lib/analysis/failure_texts_test.ts
const CHUNK_BYTES = 1 << 20;
const LENGTH_BYTES = 4;
/** Bytes of UTF-8 that a UTF-16 code unit takes at most. */
const BYTES_PER_UNIT = 3;

const encoder = new TextEncoder();
// A byte order mark at the beginning of a text belongs to it.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Texts and bytes, one after the other in chunks outside of the engine's heap. Positions are below 4 GiB.
 * As an object each takes some 100 bytes more.
 */
export class TextChunks {
  readonly #chunks: Uint8Array<ArrayBuffer>[] = [];
  #used = 0;

  /** Bytes of memory up to the end of what was added. */
  get byteCount(): number {
    return Math.max(this.#chunks.length - 1, 0) * CHUNK_BYTES + this.#used;
  }

  /** Adds a text as UTF-8; returns its position. */
  addText(text: string): number {
    return this.#add(text.length * BYTES_PER_UNIT, (target) => {
      return encoder.encodeInto(text, target).written;
    });
  }

  /** Adds bytes; returns their position. */
  addBytes(bytes: Uint8Array): number {
    return this.#add(bytes.length, (target) => {
      target.set(bytes);
      return bytes.length;
    });
  }

  /** Forgets what was added at a position and after it. */
  truncate(position: number): void {
    this.#chunks.splice(Math.floor(position / CHUNK_BYTES) + 1);
    this.#used = position % CHUNK_BYTES;
  }

  /** What was added, for {@linkcode textAt} and {@linkcode bytesAt}; nothing is added afterwards. */
  finish(): Uint8Array<ArrayBuffer>[] {
    // Most uploads fill a small part of one chunk, and another thread gets a copy.
    const last = this.#chunks.pop();
    if (last) this.#chunks.push(last.slice(0, this.#used));
    return this.#chunks;
  }

  #add(mostBytes: number, write: (target: Uint8Array) => number): number {
    const most = LENGTH_BYTES + mostBytes;
    let chunk = this.#chunks.at(-1);
    if (!chunk || this.#used + most > CHUNK_BYTES) {
      // What is longer than a chunk gets one of its own.
      chunk = new Uint8Array(Math.max(CHUNK_BYTES, most));
      this.#chunks.push(chunk);
      this.#used = 0;
    }
    const start = this.#used;
    const written = write(chunk.subarray(start + LENGTH_BYTES));
    new DataView(chunk.buffer).setUint32(start, written);
    this.#used += LENGTH_BYTES + written;
    return (this.#chunks.length - 1) * CHUNK_BYTES + start;
  }
}

/** The bytes at a position, without a copy. */
export function bytesAt(chunks: readonly Uint8Array<ArrayBuffer>[], position: number) {
  const chunk = chunks[Math.floor(position / CHUNK_BYTES)]!;
  const start = position % CHUNK_BYTES;
  const length = new DataView(chunk.buffer, chunk.byteOffset).getUint32(start);
  return chunk.subarray(start + LENGTH_BYTES, start + LENGTH_BYTES + length);
}

export function textAt(chunks: readonly Uint8Array<ArrayBuffer>[], position: number): string {
  return decoder.decode(bytesAt(chunks, position));
}
