// Tests: tests/lib/report/archive/contents_test.ts tests/lib/report/coverage/refusal_test.ts
/** Decodes the bytes of an XML file with the encoding that the file declares. */
import { excerpt, ReportError } from "../report_error.ts";
import { REPLACEMENT, UNDECODABLE } from "./characters.ts";

// An XML declaration is far shorter, also with white space before it.
const HEAD_BYTES = 1_024;
// Keeps memory flat, whatever the source yields.
const CHUNK_BYTES = 64 * 1024;

/**
 * The text of an XML file in chunks of well-formed UTF-16. A byte order mark takes precedence over
 * the declaration; without either it is UTF-8. {@link UNDECODABLE} stands for bytes that cannot be
 * decoded.
 * @throws {ReportError} when the declared encoding is unknown
 */
export async function* decodeXml(
  bytes: AsyncIterable<Uint8Array>,
  file: string,
): AsyncGenerator<string, void> {
  let decoder: ChunkDecoder | undefined;
  for await (const chunk of withWholeHead(bytes)) {
    let start = 0;
    if (!decoder) {
      const { encoding, markLength } = encodingOf(chunk, file);
      decoder = new ChunkDecoder(encoding);
      start = markLength;
    }
    for (; start < chunk.length; start += CHUNK_BYTES) {
      yield decoder.decode(chunk.subarray(start, start + CHUNK_BYTES));
    }
  }
  if (decoder) yield decoder.end();
}

/** The same bytes; the first chunk is at least as long as an XML declaration may be. */
async function* withWholeHead(
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  let head: Uint8Array = new Uint8Array();
  for await (const chunk of bytes) {
    if (head.length >= HEAD_BYTES) {
      yield chunk;
    } else {
      head = concatenate(head, chunk);
      if (head.length >= HEAD_BYTES) yield head;
    }
  }
  if (head.length < HEAD_BYTES) yield head;
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

// Byte order marks, and UTF-16 without one.
const SIGNATURES = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: "utf-8", markLength: 3 },
  { bytes: [0xff, 0xfe], encoding: "utf-16le", markLength: 2 },
  { bytes: [0xfe, 0xff], encoding: "utf-16be", markLength: 2 },
  { bytes: [0x3c, 0], encoding: "utf-16le", markLength: 0 },
  { bytes: [0, 0x3c], encoding: "utf-16be", markLength: 0 },
];

// UTF-32 with its byte order mark or the first "<", which no platform decodes.
const UTF_32 = [[0xff, 0xfe, 0, 0], [0, 0, 0xfe, 0xff], [0x3c, 0, 0, 0], [0, 0, 0, 0x3c]];

function encodingOf(head: Uint8Array, file: string): { encoding: string; markLength: number } {
  if (UTF_32.some((bytes) => bytes.every((byte, at) => head[at] === byte))) {
    throw new ReportError({
      file,
      kind: "malformed",
      problem: "found text in UTF-32, expected UTF-8: iconv -f UTF-32 -t UTF-8 FILE",
      position: { line: 1, column: 1 },
    });
  }
  const signature = SIGNATURES.find(({ bytes }) => bytes.every((byte, at) => head[at] === byte));
  if (signature) return signature;
  const start = new TextDecoder("latin1").decode(head.subarray(0, HEAD_BYTES));
  const declaration = /^\s*<\?xml\s[^>]*?\sencoding\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(start);
  const declared = declaration?.[1] ?? declaration?.[2] ?? "utf-8";
  try {
    const { encoding } = new TextDecoder(declared);
    // The declaration was readable with one byte a character, so this is a common mistake: text
    // built as UTF-16 in memory and written as UTF-8.
    return { encoding: encoding.startsWith("utf-16") ? "utf-8" : encoding, markLength: 0 };
  } catch {
    throw new ReportError({
      file,
      kind: "malformed",
      problem: `found the encoding ${excerpt(declared)}, expected one that the platform ` +
        `can decode, such as "UTF-8", "UTF-16", "ISO-8859-1", "windows-1252" or "Shift_JIS"`,
      position: { line: 1, column: 1 },
    });
  }
}

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
