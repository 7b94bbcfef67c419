/**
 * The texts of failures: a message and a body, such as a stack trace. Each text is stored once per
 * repository, under a digest, with its body compressed.
 */
import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { detach } from "../base/text.ts";
import { failureCause, fingerprint } from "./failure_groups.ts";

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

const ID_DIGITS = 20;

/** Identifies a text within its repository: 80 bits of its SHA-256. */
export function textIdOf({ message, body }: FailureText): string {
  return createHash("sha256").update(`${message.length}:${message}${body}`).digest("hex")
    .slice(0, ID_DIGITS);
}

/** Compresses the body of a text. */
export function encodeBody(body: string): Uint8Array<ArrayBuffer> {
  // Copied out of the buffer that the library returns, which is larger.
  return body === "" ? new Uint8Array() : Uint8Array.from(deflateRawSync(body));
}

/** Decompresses what {@linkcode encodeBody} returned. */
export function decodeBody(bytes: Uint8Array): string {
  return bytes.length === 0 ? "" : inflateRawSync(bytes).toString();
}

/** Compressed bodies of one submission. 100,000 stack traces of 2 kB take 50 MiB. */
const MAX_BYTES = 64 << 20;

const LEFT_OUT = "(left out: the failures of this upload have too much text)";

/**
 * Collects the distinct texts of a submission. The bodies are kept compressed: 100,000 failures may
 * have a different one each. Beyond 64 MiB, new texts keep only their message.
 */
export class TextCollector {
  /** In the order of their numbers. */
  readonly texts: CompressedText[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #maxBytes: number;
  /** Bytes of the compressed bodies. */
  #bytes = 0;
  #messageCharacters = 0;

  constructor({ maxBytes = MAX_BYTES }: { maxBytes?: number } = {}) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of all texts, as they are stored. */
  get byteCount(): number {
    return this.#bytes + this.#messageCharacters;
  }

  /** Returns the number of a text: its index in `texts`. */
  add({ message, body }: FailureText): number {
    const textId = textIdOf({ message, body });
    const known = this.#numbers.get(textId);
    if (known !== undefined) return known;
    if (this.#bytes >= this.#maxBytes && body !== "" && body !== LEFT_OUT) {
      return this.add({ message, body: LEFT_OUT });
    }
    const text = {
      textId,
      fingerprint: fingerprint(failureCause(message, body)),
      message: detach(message),
      body: encodeBody(body),
    };
    const number = this.texts.push(text) - 1;
    this.#numbers.set(textId, number);
    this.#bytes += text.body.length;
    this.#messageCharacters += message.length;
    return number;
  }

  /** Forgets all but the first `count`. */
  truncate(count: number): void {
    for (const { textId, message, body } of this.texts.splice(count)) {
      this.#numbers.delete(textId);
      this.#bytes -= body.length;
      this.#messageCharacters -= message.length;
    }
  }
}
