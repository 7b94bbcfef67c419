/** From the bytes of an XML file to its text, by the encoding that the file declares. */
import { ReportError } from "./report_error.ts";

/** A piece of a file's text. */
export interface DecodedPiece {
  /** Well-formed UTF-16. */
  text: string;
  /** How many U+FFFD in it stand for bytes that the encoding does not know. */
  undecodableCount: number;
}

// An XML declaration is far shorter, also with a few blanks before it.
const HEAD_BYTES = 1_024;
// Pieces this small keep memory flat whatever the source hands over.
const PIECE_BYTES = 64 * 1024;

/**
 * The text of an XML file, piece by piece. A byte order mark decides over the declaration, and
 * without both it is UTF-8. Bytes that cannot be decoded become U+FFFD.
 *
 * @throws {ReportError} `malformed` when the declared encoding is not known or the file is
 * compressed
 */
export async function* decodeXml(
  bytes: AsyncIterable<Uint8Array>,
  file: string,
): AsyncGenerator<DecodedPiece, void> {
  let head: Uint8Array | undefined = new Uint8Array();
  let decoder: PieceDecoder | undefined;
  for await (const chunk of bytes) {
    let ready = chunk;
    if (head) {
      head = concatenate(head, chunk);
      if (head.length < HEAD_BYTES) continue;
      ready = head;
      head = undefined;
    }
    decoder ??= new PieceDecoder(encodingOf(ready, file));
    for (let start = 0; start < ready.length; start += PIECE_BYTES) {
      yield decoder.decode(ready.subarray(start, start + PIECE_BYTES));
    }
  }
  if (head) {
    decoder = new PieceDecoder(encodingOf(head, file));
    yield decoder.decode(head);
  }
  if (decoder) yield decoder.end();
}

const REPLACEMENT_IN_UTF8 = [0xef, 0xbf, 0xbd] as const;

class PieceDecoder {
  readonly #decoder: TextDecoder;
  #previousTail = new Uint8Array();

  constructor(encoding: string) {
    // Drops the byte order mark by itself.
    this.#decoder = new TextDecoder(encoding);
  }

  decode(bytes: Uint8Array): DecodedPiece {
    const text = this.#decoder.decode(bytes, { stream: true });
    let undecodableCount = 0;
    if (text.includes("\ufffd")) {
      // A file may well contain U+FFFD itself, written by a tool that replaced something.
      undecodableCount = countReplacements(text) -
        (this.#decoder.encoding === "utf-8"
          ? countSequence(concatenate(this.#previousTail, bytes))
          : 0);
    }
    this.#previousTail = concatenate(this.#previousTail, bytes.subarray(-2)).slice(-2);
    return { text, undecodableCount };
  }

  end(): DecodedPiece {
    const text = this.#decoder.decode();
    return { text, undecodableCount: countReplacements(text) };
  }
}

function countReplacements(text: string): number {
  return text.split("\ufffd").length - 1;
}

function countSequence(bytes: Uint8Array): number {
  const [first, second, third] = REPLACEMENT_IN_UTF8;
  let count = 0;
  for (let at = bytes.indexOf(first); at !== -1; at = bytes.indexOf(first, at + 1)) {
    if (bytes[at + 1] === second && bytes[at + 2] === third) count++;
  }
  return count;
}

function encodingOf(head: Uint8Array, file: string): string {
  const signature = SIGNATURES.find(({ bytes }) =>
    bytes.every((byte, at) => byte === undefined ? head[at] !== 0 : head[at] === byte)
  );
  if (signature && "encoding" in signature) return signature.encoding;
  if (signature) {
    throw new ReportError({
      file,
      kind: "malformed",
      problem: `found ${signature.found}, expected ${signature.expected}`,
      position: { line: 1, column: 1 },
    });
  }
  const start = new TextDecoder("latin1").decode(head.subarray(0, HEAD_BYTES));
  const declaration = /^\s*<\?xml\s[^>]*?\sencoding\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(start);
  if (!declaration) return "utf-8";
  const declared = declaration[1] ?? declaration[2] ?? "";
  try {
    const { encoding } = new TextDecoder(declared);
    // What could be read so far has one byte a character, so that this is a common untruth: text
    // that was made as UTF-16 in memory and written as UTF-8.
    return encoding.startsWith("utf-16") ? "utf-8" : encoding;
  } catch {
    throw new ReportError({
      file,
      kind: "malformed",
      problem: `found the encoding ${JSON.stringify(declared)}, expected one that the platform ` +
        `can decode, such as "UTF-8", "UTF-16", "ISO-8859-1", "windows-1252" or "Shift_JIS"`,
      position: positionAt(start, declaration[0].length - declared.length - 1),
    });
  }
}

// How files begin. `undefined` is any byte but 0. The longer ones stand before their beginnings.
const SIGNATURES: readonly (
  & { bytes: readonly (number | undefined)[] }
  & ({ encoding: string } | { found: string; expected: string })
)[] = [
  ...[[0xff, 0xfe, 0, 0], [0, 0, 0xfe, 0xff], [0x3c, 0, 0, 0], [0, 0, 0, 0x3c]].map((bytes) => ({
    bytes,
    found: "UTF-32 text",
    expected: "another encoding, such as UTF-8 or UTF-16",
  })),
  { bytes: [0xef, 0xbb, 0xbf], encoding: "utf-8" },
  { bytes: [0xff, 0xfe], encoding: "utf-16le" },
  { bytes: [0xfe, 0xff], encoding: "utf-16be" },
  { bytes: [0x3c, 0, undefined, 0], encoding: "utf-16le" },
  { bytes: [0, 0x3c, 0, undefined], encoding: "utf-16be" },
  { bytes: [0x1f, 0x8b], found: "gzip-compressed data", expected: "XML text" },
  { bytes: [0x50, 0x4b, 3, 4], found: "a ZIP archive", expected: "XML text" },
];

function positionAt(text: string, index: number): { line: number; column: number } {
  const lines = text.slice(0, index).split("\n");
  return { line: lines.length, column: lines.at(-1)!.length + 1 };
}

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
