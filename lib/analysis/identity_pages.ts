import type { TestIdentity } from "../base/identity.ts";

/** Identities on one page: exact, and few enough that a number of 16 bits tells its texts apart. */
const IDENTITIES_PER_PAGE = 4_096;

/** Suite, class, name and file. */
const FIELD_COUNT = 4;

/** Bytes of UTF-8 that a UTF-16 unit takes at most. */
const BYTES_PER_UNIT = 3;

const encoder = new TextEncoder();
// A mark at the beginning of a name belongs to it.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A page that is full, or the last: plain data, which can be sent to another thread. */
export interface IdentityPage {
  /** Texts in UTF-8, one after the other. */
  bytes: Uint8Array;
  /** Where each text ends. */
  ends: Uint32Array;
  /** The numbers of the texts that the fields of each identity have. */
  texts: Uint16Array;
}

/**
 * Identities of tests, as small as they get: half a million have to fit in memory beside a report
 * that is read.
 *
 * They are bytes, not strings, on pages of exactly the size that they need: one array that doubles
 * takes up to three times as much while it grows. Suite, class and file are mostly those of the test
 * before, and are then written once.
 */
export class IdentityPages {
  readonly #pages: IdentityPage[] = [];
  /** Identities on the page that is being written. */
  #count = 0;
  #bytes = new Uint8Array(1 << 16);
  readonly #ends = new Uint32Array(IDENTITIES_PER_PAGE * FIELD_COUNT);
  readonly #texts = new Uint16Array(IDENTITIES_PER_PAGE * FIELD_COUNT);
  #textCount = 0;
  #length = 0;
  // The fields that came last, and the numbers of their texts.
  readonly #lastFields: (string | undefined)[] = new Array(FIELD_COUNT).fill(undefined);
  readonly #lastTexts = new Uint16Array(FIELD_COUNT);

  /** Appends one. */
  push(test: TestIdentity): void {
    const place = this.#count * FIELD_COUNT;
    this.#texts[place] = this.#textOf(0, test.suite);
    this.#texts[place + 1] = this.#textOf(1, test.class);
    this.#texts[place + 2] = this.#textOf(2, test.name);
    this.#texts[place + 3] = this.#textOf(3, test.file);
    if (++this.#count === IDENTITIES_PER_PAGE) this.#finishPage();
  }

  /** All pages; nothing is appended afterwards. */
  finish(): IdentityPage[] {
    if (this.#count > 0) this.#finishPage();
    return this.#pages;
  }

  #textOf(field: number, text: string): number {
    if (this.#lastFields[field] === text) return this.#lastTexts[field]!;
    this.#lastFields[field] = text;
    return this.#lastTexts[field] = this.#write(text);
  }

  #write(text: string): number {
    const most = this.#length + text.length * BYTES_PER_UNIT;
    if (most > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(most, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    this.#length += encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written;
    this.#ends[this.#textCount] = this.#length;
    return this.#textCount++;
  }

  #finishPage(): void {
    this.#pages.push({
      bytes: this.#bytes.slice(0, this.#length),
      ends: this.#ends.slice(0, this.#textCount),
      texts: this.#texts.slice(),
    });
    this.#count = this.#textCount = this.#length = 0;
    this.#lastFields.fill(undefined);
  }
}

/** The identity that was appended after `index` others. */
export function identityIn(pages: readonly IdentityPage[], index: number): TestIdentity {
  const { bytes, ends, texts } = pages[Math.floor(index / IDENTITIES_PER_PAGE)]!;
  const place = (index % IDENTITIES_PER_PAGE) * FIELD_COUNT;
  const field = (offset: number) => {
    const text = texts[place + offset]!;
    return decoder.decode(bytes.subarray(text === 0 ? 0 : ends[text - 1], ends[text]));
  };
  return { suite: field(0), class: field(1), name: field(2), file: field(3) };
}
