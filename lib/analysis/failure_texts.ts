/**
 * The texts of failures: a message and a body, such as a stack trace. Each text is stored once per
 * repository, under a digest, with its body compressed.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { TestIdentity } from "../base/identity.ts";
import { sha256 } from "../base/sha256.ts";
import { failureCause, fingerprint } from "./failure_groups.ts";
import { enlarge } from "./columns.ts";
import { bytesAt, textAt, TextChunks } from "./text_chunks.ts";

export interface FailureText {
  /** One line. */
  message: string;
  /** The whole text, `""` when the report has none. */
  body: string;
}

export interface CompressedText {
  /** 20 hex digits. */
  textId: string;
  /** 16 hex digits, equal for texts of one cause. */
  fingerprint: string;
  message: string;
  /** For {@linkcode decodeBody}. */
  body: Uint8Array<ArrayBuffer>;
}

/** The texts of a submission by column, as plain data, which can be sent to another thread. */
export interface FailureTexts {
  count: number;
  /** 10 bytes each. */
  ids: Uint8Array<ArrayBuffer>;
  /** 8 bytes each. */
  fingerprints: Uint8Array<ArrayBuffer>;
  /** Positions of message and body of each. */
  positions: Uint32Array<ArrayBuffer>;
  chunks: Uint8Array<ArrayBuffer>[];
}

const ID_BYTES = 10;
const FINGERPRINT_BYTES = 8;

export function failureText(texts: FailureTexts, textNo: number): CompressedText {
  const { chunks, positions } = texts;
  return {
    textId: texts.ids.subarray(ID_BYTES * textNo, ID_BYTES * (textNo + 1)).toHex(),
    fingerprint: fingerprintAt(texts, textNo),
    message: textAt(chunks, positions[2 * textNo]!),
    body: bytesAt(chunks, positions[2 * textNo + 1]!),
  };
}

export function fingerprintAt(
  { fingerprints }: Pick<FailureTexts, "fingerprints">,
  textNo: number,
): string {
  return fingerprints.subarray(FINGERPRINT_BYTES * textNo, FINGERPRINT_BYTES * (textNo + 1))
    .toHex();
}

/** Shorter bodies do not become smaller, and a hundred thousand of them take seconds. */
const MIN_COMPRESSED_BYTES = 100;

const encoder = new TextEncoder();

/** Compresses the body of a text. */
export function encodeBody(body: string): Uint8Array<ArrayBuffer> {
  if (body === "") return new Uint8Array();
  if (body.length < MIN_COMPRESSED_BYTES) return storedBlock(encoder.encode(body));
  // Copied out of the buffer that the library returns, which is larger.
  return Uint8Array.from(deflateRawSync(body));
}

/** Bytes in the format of compressed ones (RFC 1951): the last block, its length, and the complement of that. */
function storedBlock(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(5 + bytes.length);
  const view = new DataView(block.buffer);
  view.setUint8(0, 1);
  view.setUint16(1, bytes.length, true);
  view.setUint16(3, ~bytes.length, true);
  block.set(bytes, 5);
  return block;
}

/** Decompresses what {@linkcode encodeBody} returned. */
export function decodeBody(bytes: Uint8Array): string {
  return bytes.length === 0 ? "" : inflateRawSync(bytes).toString();
}

/** Compressed bodies of one submission. 100,000 stack traces of 2 kB take 50 MiB. */
const MAX_BYTES = 64 << 20;

const LEFT_OUT = "(left out: the failures of this upload have too much text)";

/**
 * Collects the distinct texts of a submission, by column and with compressed bodies: a million failures
 * may have a different one each, and as objects they take 600 MB. Beyond 64 MiB of bodies, new texts keep
 * only their message.
 */
export class TextCollector {
  #count = 0;
  #ids = new Uint8Array(ID_BYTES * 16);
  #fingerprints = new Uint8Array(FINGERPRINT_BYTES * 16);
  #positions = new Uint32Array(2 * 16);
  readonly #chunks = new TextChunks();
  /** A hash table with open addressing: numbers of texts, -1 where it is free. At most half is used. */
  #slots = new Int32Array(32).fill(-1);
  /** Bytes of the compressed bodies up to each text. */
  #bodyBytes = new Uint32Array(16);
  readonly #maxBytes: number;

  constructor({ maxBytes = MAX_BYTES }: { maxBytes?: number } = {}) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of all texts, as they are stored. */
  get byteCount(): number {
    return this.#chunks.byteCount;
  }

  /** How many there are: their numbers are below. */
  get count(): number {
    return this.#count;
  }

  /** Returns the number of a text; its test is the one that failed with it first. */
  add(
    { message, body }: FailureText,
    test?: Pick<TestIdentity, "class" | "name">,
  ): number {
    // 80 bits identify a text within its repository.
    const id = sha256(`${message.length}:${message}${body}`).subarray(0, ID_BYTES);
    const slot = this.#slotOf(id);
    const known = this.#slots[slot]!;
    if (known >= 0) return known;
    const bodyBytes = this.#bodyBytes[this.#count - 1] ?? 0;
    if (bodyBytes >= this.#maxBytes && body !== "" && body !== LEFT_OUT) {
      return this.add({ message, body: LEFT_OUT }, test);
    }
    const textNo = this.#count++;
    if (ID_BYTES * textNo === this.#ids.length) this.#grow(2 * textNo);
    this.#ids.set(id, ID_BYTES * textNo);
    const cause = Uint8Array.fromHex(fingerprint(failureCause(message, body, test)));
    this.#fingerprints.set(cause, FINGERPRINT_BYTES * textNo);
    const encoded = encodeBody(body);
    this.#positions[2 * textNo] = this.#chunks.addText(message);
    this.#positions[2 * textNo + 1] = this.#chunks.addBytes(encoded);
    this.#bodyBytes[textNo] = bodyBytes + encoded.length;
    this.#slots[slot] = textNo;
    if (2 * this.#count > this.#slots.length) this.#fillSlots(2 * this.#slots.length);
    return textNo;
  }

  fingerprintAt(textNo: number): string {
    return fingerprintAt({ fingerprints: this.#fingerprints }, textNo);
  }

  /** Forgets all but the first `count`. */
  truncate(count: number): void {
    if (count >= this.#count) return;
    this.#chunks.truncate(this.#positions[2 * count]!);
    this.#count = count;
    this.#fillSlots(this.#slots.length);
  }

  /** Everything that was added; nothing is added afterwards. */
  finish(): FailureTexts {
    const count = this.#count;
    return {
      count,
      ids: this.#ids.slice(0, ID_BYTES * count),
      fingerprints: this.#fingerprints.slice(0, FINGERPRINT_BYTES * count),
      positions: this.#positions.slice(0, 2 * count),
      chunks: this.#chunks.finish(),
    };
  }

  /** Where the text with an id is, or belongs. */
  #slotOf(id: Uint8Array): number {
    // An id is a hash by itself.
    const hash = id[0]! | id[1]! << 8 | id[2]! << 16 | id[3]! << 24;
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    while (this.#slots[slot]! >= 0 && !this.#hasId(this.#slots[slot]!, id)) slot = slot + 1 & mask;
    return slot;
  }

  #hasId(textNo: number, id: Uint8Array): boolean {
    const start = ID_BYTES * textNo;
    for (let at = 0; at < ID_BYTES; at++) if (this.#ids[start + at] !== id[at]) return false;
    return true;
  }

  #fillSlots(length: number): void {
    this.#slots = new Int32Array(length).fill(-1);
    for (let textNo = 0; textNo < this.#count; textNo++) {
      const start = ID_BYTES * textNo;
      this.#slots[this.#slotOf(this.#ids.subarray(start, start + ID_BYTES))] = textNo;
    }
  }

  #grow(count: number): void {
    this.#ids = enlarge(this.#ids, new Uint8Array(ID_BYTES * count));
    this.#fingerprints = enlarge(this.#fingerprints, new Uint8Array(FINGERPRINT_BYTES * count));
    this.#positions = enlarge(this.#positions, new Uint32Array(2 * count));
    this.#bodyBytes = enlarge(this.#bodyBytes, new Uint32Array(count));
  }
}
