/** From the bytes of an XML file to its text, by the encoding that the file declares. */
import { REPLACEMENT } from "./characters.ts";
import { quote, ReportError } from "../report_error.ts";

/** A piece of a file's text. */
export interface DecodedPiece {
  /** Well-formed UTF-16. */
  text: string;
  /** Where U+FFFD stands for bytes that the encoding does not know, in order. */
  undecodableAt: readonly number[];
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
    if (!decoder) {
      decoder = new PieceDecoder(encodingOf(ready, file));
      ready = withoutMark(ready);
    }
    for (let start = 0; start < ready.length; start += PIECE_BYTES) {
      yield decoder.decode(ready.subarray(start, start + PIECE_BYTES));
    }
  }
  if (head) {
    decoder = new PieceDecoder(encodingOf(head, file));
    yield decoder.decode(withoutMark(head));
  }
  if (decoder) yield decoder.end();
}

const NONE: readonly number[] = [];

class PieceDecoder {
  readonly #decoder: TextDecoder;
  // A file may well contain U+FFFD itself, written by a tool that replaced something. In other
  // encodings than UTF-8 that is too rare to be told from what this decoder replaces.
  readonly #written = new WrittenReplacements();

  constructor(encoding: string) {
    // By itself the platform's decoder may drop a byte order mark at the beginning of a later piece.
    this.#decoder = new TextDecoder(encoding, { ignoreBOM: true });
  }

  decode(bytes: Uint8Array): DecodedPiece {
    if (this.#decoder.encoding !== "utf-8") {
      const text = this.#decoder.decode(bytes, { stream: true });
      return { text, undecodableAt: replacementsIn(text) };
    }
    const { marked, beginsWithRest } = this.#written.mark(bytes);
    const decoded = this.#decoder.decode(marked, { stream: true });
    const found = replacementsIn(decoded);
    if (found.length === 0 && marked === bytes) return { text: decoded, undecodableAt: NONE };
    return {
      text: decoded.replaceAll(MARK, REPLACEMENT),
      undecodableAt: beginsWithRest && found[0] === 0 ? found.slice(1) : found,
    };
  }

  end(): DecodedPiece {
    const text = this.#decoder.decode();
    return { text, undecodableAt: replacementsIn(text) };
  }
}

// The character next to U+FFFD: forbidden in XML too, and as long.
const MARK = "\ufffe";
const LAST_BYTE_OF_MARK = 0xbe;
const REPLACEMENT_IN_UTF8 = [0xef, 0xbf, 0xbd] as const;

/** Marks each U+FFFD that is written in UTF-8 bytes, so that decoding does not hide it. */
class WrittenReplacements {
  // The first one or two bytes of one that the bytes so far end with.
  #open = new Uint8Array();

  /**
   * The bytes, or a copy where each U+FFFD is replaced by the mark, and whether they begin with the
   * rest of one that began in the bytes before.
   */
  mark(bytes: Uint8Array): { marked: Uint8Array; beginsWithRest: boolean } {
    const [first, second, third] = REPLACEMENT_IN_UTF8;
    const seam = concatenate(this.#open, bytes.subarray(0, 3 - this.#open.length));
    const beginsWithRest = this.#open.length > 0 && seam[1] === second && seam[2] === third;
    const end = concatenate(this.#open, bytes.subarray(-2)).slice(-2);
    if (end.at(-1) === first) this.#open = end.slice(-1);
    else if (end[0] === first && end[1] === second) this.#open = end;
    else this.#open = new Uint8Array();
    let marked = bytes;
    for (let at = bytes.indexOf(first); at !== -1; at = bytes.indexOf(first, at + 1)) {
      if (bytes[at + 1] !== second || bytes[at + 2] !== third) continue;
      if (marked === bytes) marked = bytes.slice();
      marked[at + 2] = LAST_BYTE_OF_MARK;
    }
    return { marked, beginsWithRest };
  }
}

function replacementsIn(text: string): readonly number[] {
  let at = text.indexOf(REPLACEMENT);
  if (at === -1) return NONE;
  const found: number[] = [];
  for (; at !== -1; at = text.indexOf(REPLACEMENT, at + 1)) found.push(at);
  return found;
}

const BYTE_ORDER_MARKS = [[0xef, 0xbb, 0xbf], [0xff, 0xfe], [0xfe, 0xff]] as const;

function withoutMark(head: Uint8Array): Uint8Array {
  const mark = BYTE_ORDER_MARKS.find((bytes) => bytes.every((byte, at) => head[at] === byte));
  return head.subarray(mark?.length ?? 0);
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
      problem: `found the encoding ${quote(declared)}, expected one that the platform ` +
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
