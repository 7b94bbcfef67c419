/**
 * The texts of failures: a message and a body, such as a stack trace. Each text is stored once per
 * repository, under a digest, with its body compressed.
 */
import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { detach } from "../report/xml/characters.ts";
import { failureCause, fingerprint } from "./failure_groups.ts";

/** The texts of a failure or error in a report. */
export interface FailureText {
  /** One line. */
  message: string;
  /** The whole text, `""` when the report has none. */
  body: string;
}

export interface IdentifiedText extends FailureText {
  /** 20 hex digits. */
  textId: string;
  /** 16 hex digits, equal for texts of one cause. */
  fingerprint: string;
}

const ID_DIGITS = 20;

/** Identifies a text within its repository: 80 bits of its SHA-256. */
export function textIdOf({ message, body }: FailureText): string {
  return createHash("sha256").update(`${message.length}:${message}${body}`).digest("hex")
    .slice(0, ID_DIGITS);
}

/** Compresses the body of a text. */
export function encodeBody(body: string): Uint8Array {
  return body === "" ? new Uint8Array() : deflateRawSync(body);
}

/** Decompresses what {@linkcode encodeBody} returned. */
export function decodeBody(bytes: Uint8Array): string {
  return bytes.length === 0 ? "" : inflateRawSync(bytes).toString();
}

/** The distinct texts of a submission as plain data, which can be sent to another thread. */
export interface CollectedTexts {
  /** In the order of their numbers. */
  texts: Omit<IdentifiedText, "body">[];
  /** Their bodies in the same order: compressed JSON arrays. */
  chunks: Uint8Array<ArrayBuffer>[];
}

/** Characters of bodies that are compressed together. */
const CHUNK_CHARACTERS = 1 << 18;

/** Compressed, of one submission. 100,000 stack traces of 2 kB with other numbers take 20 MiB. */
const MAX_BYTES = 64 << 20;

const LEFT_OUT = "(left out: the failures of this upload have too much text)";

/**
 * Collects the distinct texts of a submission. The bodies are kept compressed: 100,000 failures may
 * have a different one each. Beyond 64 MiB, new texts keep only their message.
 */
export class TextCollector {
  readonly #numbers = new Map<string, number>();
  readonly #texts: CollectedTexts["texts"] = [];
  readonly #chunks: CollectedTexts["chunks"] = [];
  readonly #maxBytes: number;
  #bytes = 0;
  #pending: string[] = [];
  #pendingCharacters = 0;

  constructor({ maxBytes = MAX_BYTES }: { maxBytes?: number } = {}) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the number of a text: its index in `texts`. */
  add({ message, body }: FailureText): number {
    const textId = textIdOf({ message, body });
    const known = this.#numbers.get(textId);
    if (known !== undefined) return known;
    if (this.#bytes >= this.#maxBytes && body !== "" && body !== LEFT_OUT) {
      return this.add({ message, body: LEFT_OUT });
    }
    const cause = failureCause(message, body);
    const text = { textId, fingerprint: fingerprint(cause), message: detach(message) };
    const number = this.#texts.push(text) - 1;
    this.#numbers.set(textId, number);
    this.#pending.push(body);
    this.#pendingCharacters += body.length;
    if (this.#pendingCharacters >= CHUNK_CHARACTERS) this.#compress();
    return number;
  }

  /** Everything that was added; nothing is added afterwards. */
  finish(): CollectedTexts {
    this.#compress();
    return { texts: this.#texts, chunks: this.#chunks };
  }

  #compress(): void {
    if (this.#pending.length === 0) return;
    // Copied out of the buffer that the library returns, which is larger.
    const chunk = Uint8Array.from(deflateRawSync(JSON.stringify(this.#pending), { level: 1 }));
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    this.#pending = [];
    this.#pendingCharacters = 0;
  }
}

/** The texts that were collected, in order; one chunk of bodies is in memory at a time. */
export function* identifiedTexts(
  { texts, chunks }: CollectedTexts,
): Generator<IdentifiedText, void> {
  let number = 0;
  for (const chunk of chunks) {
    for (const body of JSON.parse(inflateRawSync(chunk).toString()) as string[]) {
      yield { ...texts[number++]!, body };
    }
  }
}
