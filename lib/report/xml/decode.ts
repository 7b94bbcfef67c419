/** From the bytes of an XML file to its text, by the encoding that the file declares. */
import { REPLACEMENT } from "./characters.ts";
import { quote, ReportError } from "../report_error.ts";

/** A chunk of a file's text. */
export interface DecodedChunk {
  /** Well-formed UTF-16. */
  text: string;
  /** Where U+FFFD stands for bytes that the encoding does not know, in order. */
  undecodableAt: readonly number[];
}

// An XML declaration is far shorter, also with a few blanks before it.
const HEAD_BYTES = 1_024;
// Pieces this small keep memory flat whatever the source hands over.
const CHUNK_BYTES = 64 * 1024;

/**
 * The text of an XML file, chunk by chunk. A byte order mark decides over the declaration, and
 * without both it is UTF-8. Bytes that cannot be decoded become U+FFFD.
 *
 * @throws {ReportError} `malformed` when the declared encoding is not known or the file is
 * compressed
 */
export async function* decodeXml(
  bytes: AsyncIterable<Uint8Array>,
  file: string,
): AsyncGenerator<DecodedChunk, void> {
  let head: Uint8Array | undefined = new Uint8Array();
  let decoder: ChunkDecoder | undefined;
  for await (const chunk of bytes) {
    let ready = chunk;
    if (head) {
      head = concatenate(head, chunk);
      if (head.length < HEAD_BYTES) continue;
      ready = head;
      head = undefined;
    }
    if (!decoder) {
      decoder = new ChunkDecoder(encodingOf(ready, file));
      ready = withoutMark(ready);
    }
    for (let start = 0; start < ready.length; start += CHUNK_BYTES) {
      yield decoder.decode(ready.subarray(start, start + CHUNK_BYTES));
    }
  }
  if (head) {
    decoder = new ChunkDecoder(encodingOf(head, file));
    yield decoder.decode(withoutMark(head));
  }
  if (decoder) yield decoder.end();
}

const NONE: readonly number[] = [];
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
const WRITTEN_REPLACEMENT = [0xef, 0xbf, 0xbd] as const;
// Forbidden in XML too, and as long in UTF-8 but for its last byte.
const MARK = "\ufffe";
const LAST_BYTE_OF_MARK = 0xbe;

class ChunkDecoder {
  /** `null` for UTF-8. */
  readonly #decoder: TextDecoder | null;
  #incomplete = new Uint8Array();

  constructor(encoding: string) {
    this.#decoder = encoding === "utf-8" ? null : new TextDecoder(encoding, { ignoreBOM: true });
  }

  decode(bytes: Uint8Array): DecodedChunk {
    if (this.#decoder) {
      const text = this.#decoder.decode(bytes, { stream: true });
      return { text, undecodableAt: replacementsIn(text) };
    }
    const all = this.#incomplete.length > 0 ? concatenate(this.#incomplete, bytes) : bytes;
    const end = endOfUtf8(all);
    this.#incomplete = all.slice(end);
    return decodeUtf8(all.subarray(0, end));
  }

  end(): DecodedChunk {
    const text = this.#decoder ? this.#decoder.decode() : UTF8.decode(this.#incomplete);
    return { text, undecodableAt: replacementsIn(text) };
  }
}

/** Decodes complete UTF-8, and tells U+FFFD that a tool wrote from what stands for lost bytes. */
function decodeUtf8(bytes: Uint8Array): DecodedChunk {
  const text = UTF8.decode(bytes);
  if (!text.includes(REPLACEMENT)) return { text, undecodableAt: NONE };
  const [first, second, third] = WRITTEN_REPLACEMENT;
  const marked = bytes.slice();
  for (let at = bytes.indexOf(first); at !== -1; at = bytes.indexOf(first, at + 1)) {
    if (bytes[at + 1] === second && bytes[at + 2] === third) marked[at + 2] = LAST_BYTE_OF_MARK;
  }
  return { text, undecodableAt: replacementsIn(UTF8.decode(marked).replaceAll(MARK, " ")) };
}

/** Where the last character ends that is complete. */
function endOfUtf8(bytes: Uint8Array): number {
  for (let length = 1; length <= 3; length++) {
    const byte = bytes.at(-length) ?? 0;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length < wanted ? bytes.length - length : bytes.length;
  }
  return bytes.length;
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
