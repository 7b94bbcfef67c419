/** Decodes the bytes of an XML file with the encoding that the file declares. */
import { quote, ReportError } from "../report_error.ts";
import { positionAfter, REPLACEMENT, UNDECODABLE } from "./characters.ts";

// An XML declaration is far shorter, also with white space before it.
const HEAD_BYTES = 1_024;
const START = { line: 1, column: 1 };
// Keeps memory flat, whatever the source yields.
const CHUNK_BYTES = 64 * 1024;

/**
 * The text of an XML file in chunks of well-formed UTF-16. A byte order mark takes precedence over
 * the declaration; without either it is UTF-8. {@link UNDECODABLE} stands for bytes that cannot be
 * decoded.
 * @throws {ReportError} when the declared encoding is unknown or the file is compressed
 */
export async function* decodeXml(
  bytes: AsyncIterable<Uint8Array>,
  file: string,
): AsyncGenerator<string, void> {
  let head: Uint8Array = new Uint8Array();
  let decoder: ChunkDecoder | undefined;
  for await (const chunk of bytes) {
    let ready = chunk;
    if (!decoder) {
      head = concatenate(head, chunk);
      if (head.length < HEAD_BYTES) continue;
      decoder = new ChunkDecoder(encodingOf(head, file));
      ready = withoutMark(head);
    }
    for (let start = 0; start < ready.length; start += CHUNK_BYTES) {
      yield decoder.decode(ready.subarray(start, start + CHUNK_BYTES));
    }
  }
  if (!decoder) {
    decoder = new ChunkDecoder(encodingOf(head, file));
    yield decoder.decode(withoutMark(head));
  }
  yield decoder.end();
}

const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
// Stands for a U+FFFD of the file itself: forbidden in XML, and in UTF-8 it differs in the last byte.
const WRITTEN = "\ufffe";
const WRITTEN_BYTES = [0xef, 0xbf, 0xbd, 0xbe] as const;

class ChunkDecoder {
  /** `null` for UTF-8. */
  readonly #decoder: TextDecoder | null;
  #incomplete = new Uint8Array();

  constructor(encoding: string) {
    this.#decoder = encoding === "utf-8" ? null : new TextDecoder(encoding, { ignoreBOM: true });
  }

  decode(bytes: Uint8Array): string {
    if (this.#decoder) return marked(this.#decoder.decode(bytes, { stream: true }));
    const all = this.#incomplete.length > 0 ? concatenate(this.#incomplete, bytes) : bytes;
    const end = endOfUtf8(all);
    this.#incomplete = all.slice(end);
    return decodeUtf8(all.subarray(0, end));
  }

  end(): string {
    return marked(this.#decoder ? this.#decoder.decode() : UTF8.decode(this.#incomplete));
  }
}

function marked(text: string): string {
  return text.replaceAll(UNDECODABLE, WRITTEN).replaceAll(REPLACEMENT, UNDECODABLE);
}

/** Decodes complete UTF-8. A U+FFFD that a tool wrote is not taken for bytes that were lost. */
function decodeUtf8(bytes: Uint8Array): string {
  const text = UTF8.decode(bytes);
  if (!text.includes(REPLACEMENT)) return text.replaceAll(UNDECODABLE, WRITTEN);
  const [first, second, third, other] = WRITTEN_BYTES;
  const copy = bytes.slice();
  for (let at = bytes.indexOf(first); at !== -1; at = bytes.indexOf(first, at + 1)) {
    if (bytes[at + 1] === second && bytes[at + 2] === third) copy[at + 2] = other;
  }
  return marked(UTF8.decode(copy)).replaceAll(WRITTEN, REPLACEMENT);
}

/** End of the last complete character. */
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
      position: START,
    });
  }
  const start = new TextDecoder("latin1").decode(head.subarray(0, HEAD_BYTES));
  const declaration = /^\s*<\?xml\s[^>]*?\sencoding\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(start);
  if (!declaration) return "utf-8";
  const declared = declaration[1] ?? declaration[2] ?? "";
  try {
    const { encoding } = new TextDecoder(declared);
    // The declaration was readable with one byte a character, so this is a common mistake: text
    // built as UTF-16 in memory and written as UTF-8.
    return encoding.startsWith("utf-16") ? "utf-8" : encoding;
  } catch {
    throw new ReportError({
      file,
      kind: "malformed",
      problem: `found the encoding ${quote(declared)}, expected one that the platform ` +
        `can decode, such as "UTF-8", "UTF-16", "ISO-8859-1", "windows-1252" or "Shift_JIS"`,
      position: positionAfter(declaration[0].slice(0, -declared.length - 1), START),
    });
  }
}

// How files begin; `undefined` is any byte except 0. A longer signature precedes its own prefix.
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

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
