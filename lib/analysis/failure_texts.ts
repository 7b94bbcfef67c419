/**
 * The texts of failures: a message and a body, such as a stack trace. Each text is stored once per
 * repository, under a digest, with its body compressed. Texts with one fingerprint differ in line
 * numbers, times and the like: the first is their base, and of each of the others the difference from
 * the base is stored, some 100 bytes instead of 700.
 */
import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { decodeDelta, encodeDelta } from "./delta.ts";
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

const encoder = new TextEncoder();
// A byte order mark at the beginning of a text belongs to the text.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

const ID_DIGITS = 20;

/** Identifies a text within its repository: 80 bits of its SHA-256. */
export function textIdOf({ message, body }: FailureText): string {
  return createHash("sha256").update(`${message.length}:${message}${body}`).digest("hex")
    .slice(0, ID_DIGITS);
}

/** Compresses the body of a text; `base` is the first with its fingerprint, `null` for itself. */
export function encodeBody(text: FailureText, base: FailureText | null): Uint8Array {
  if (text.body === "") return new Uint8Array();
  return deflateRawSync(encodeDelta(encoder.encode(text.body), baseBytes(text, base)));
}

/** Decompresses what {@linkcode encodeBody} returned for the same message and base. */
export function decodeBody(
  bytes: Uint8Array,
  { message, base }: { message: string; base: FailureText | null },
): string {
  if (bytes.length === 0) return "";
  return decoder.decode(decodeDelta(inflateRawSync(bytes), baseBytes({ message }, base)));
}

// Bodies often contain their message.
function baseBytes({ message }: { message: string }, base: FailureText | null): Uint8Array {
  return encoder.encode(`${message}\n${base?.body ?? ""}`);
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
    const text = { textId, fingerprint: fingerprint(cause), message: copyOf(message) };
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

/** A copy that shares no memory with the report that the text was cut from. */
function copyOf(text: string): string {
  return decoder.decode(encoder.encode(text));
}
