import type { TestIdentity } from "../base/identity.ts";
import { textAt, TextChunks } from "./text_chunks.ts";

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
  readonly #texts = new TextChunks();
  /** Positions of suite, class, name and file of each identity: up to 4 GB of text. */
  #positions = new Uint32Array(4 * 1024);
  #count = 0;
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
    return this.#texts.byteCount;
  }

  /** Forgets all but the first `count`. */
  truncate(count: number): void {
    this.#count = count;
  }

  /** Everything that was pushed; nothing is pushed afterwards. */
  finish(): StoredIdentities {
    return { chunks: this.#texts.finish(), positions: this.#positions.slice(0, 4 * this.#count) };
  }

  #positionOf(field: number, text: string): number {
    if (this.#lastTexts[field] === text) return this.#lastPositions[field]!;
    this.#lastTexts[field] = text;
    return this.#lastPositions[field] = this.#texts.addText(text);
  }
}

/** The identity that was pushed after `index` others. */
export function identityIn({ chunks, positions }: StoredIdentities, index: number): TestIdentity {
  const field = (offset: number) => textAt(chunks, positions[4 * index + offset]!);
  return { suite: field(0), class: field(1), name: field(2), file: field(3) };
}
