// Tests: tests/lib/report/xml/reader_test.ts
/** The text of an XML document as it arrives: its characters, references, positions and errors. */
import { REPORT_LIMITS } from "../limits.ts";
import {
  excerpt,
  ReportError,
  type ReportErrorKind,
  type ReportPosition,
  shorten,
} from "../report_error.ts";
import { FORBIDDEN, REPLACEMENT, UNDECODABLE } from "./characters.ts";

/** Longer references are refused: real ones have at most ten characters. */
export const REFERENCE_CHARACTERS = 32;
const REFERENCE = new RegExp(`&([#\\w]{1,${REFERENCE_CHARACTERS - 2}};)?`, "g");
const PREDEFINED: ReadonlyMap<string, string> = new Map([
  ["lt;", "<"],
  ["gt;", ">"],
  ["amp;", "&"],
  ["quot;", '"'],
  ["apos;", "'"],
]);
const CHARACTER_REFERENCE = /^#(?:x([0-9a-f]+)|([0-9]+));$/i;
const MAX_CODE_POINT = 0x10ffff;

const NAME_START = asciiCodes(/[:A-Za-z_]/);
const NAME_PART = asciiCodes(/[-:\w.]/);

const QUOTED_CHARACTERS = 200;

/** The part of a document that has arrived and is not read yet. */
export class XmlInput {
  /** How many characters were replaced by U+FFFD. */
  replacementCount = 0;
  /** Position of one of the first of them. */
  firstReplacement: ReportPosition | undefined;
  /** The unread end of earlier chunks, and the current chunk; each line end is one line feed. */
  text = "";
  /** Index in it of what is read next. */
  at = 0;

  readonly #file: string;
  #heldReturn = "";
  #sawUndecodable = false;
  // A known position in the text, and the position of index 0.
  #mark = { index: 0, position: { line: 1, column: 1 } };
  #start: ReportPosition = { line: 1, column: 1 };

  constructor(file: string) {
    this.#file = file;
  }

  /** Adds a chunk; what XML forbids in it is replaced. */
  append(chunk: string): void {
    let added = this.#heldReturn + chunk;
    // A line feed may follow in the next chunk: together they are one line end.
    this.#heldReturn = added.endsWith("\r") ? "\r" : "";
    if (this.#heldReturn !== "") added = added.slice(0, -1);
    if (added.includes("\r")) added = added.replace(/\r\n?/g, "\n");
    const forbidden = added.search(FORBIDDEN);
    const at = this.text.length + forbidden;
    if (forbidden !== -1) {
      this.#sawUndecodable ||= added.includes(UNDECODABLE);
      added = added.replace(FORBIDDEN, (character) => {
        this.replacementCount++;
        return character === UNDECODABLE ? character : REPLACEMENT;
      });
    }
    this.text += added;
    if (forbidden !== -1) this.firstReplacement ??= this.positionOf(at);
  }

  discard(): void {
    this.#start = this.positionOf(this.at);
    this.#mark = { index: 0, position: this.#start };
    this.text = this.text.slice(this.at);
    this.at = 0;
  }

  /** Line and column of an index of the text. */
  positionOf(index: number): ReportPosition {
    if (index < this.#mark.index) this.#mark = { index: 0, position: this.#start };
    const { index: from, position } = this.#mark;
    if (index > from) {
      this.#mark = { index, position: positionAfter(this.text.slice(from, index), position) };
    }
    return this.#mark.position;
  }

  /**
   * Where the name that begins at an index ends; the index itself when no name begins there. Beyond
   * ASCII every character may be part of a name.
   */
  endOfName(start: number): number {
    let end = start;
    if (isNameCode(NAME_START, this.text.charCodeAt(end))) {
      do end++; while (isNameCode(NAME_PART, this.text.charCodeAt(end)));
    }
    const { markupNameCharacters } = REPORT_LIMITS;
    if (end - start <= markupNameCharacters) return end;
    const found = `the name ${excerpt(this.text.slice(start, end))}`;
    const expected = `an XML name of at most ${markupNameCharacters} characters`;
    this.fail("limit", found, expected, this.positionOf(start));
  }

  /** A part of the text, which begins at an index, with its references resolved. */
  resolve(part: string, start: number): string {
    if (!part.includes("&")) return part;
    return part.replace(REFERENCE, (_, reference: string | undefined, at: number) => {
      const predefined = PREDEFINED.get(reference ?? "");
      return predefined ?? this.#characterOf(reference, start + at);
    });
  }

  #characterOf(reference: string | undefined, at: number): string {
    const match = reference && CHARACTER_REFERENCE.exec(reference);
    if (!match) {
      const expected = reference
        ? "only &lt; &gt; &amp; &quot; &apos; and references by number: others are not expanded"
        : '"&" to be written as "&amp;"';
      const found = reference ? `&${reference}` : this.text.slice(at, at + QUOTED_CHARACTERS);
      this.fail("malformed", excerpt(found), expected, this.positionOf(at));
    }
    const code = match[1] ? parseInt(match[1], 16) : parseInt(match[2]!, 10);
    const character = code <= MAX_CODE_POINT ? String.fromCodePoint(code) : REPLACEMENT;
    const isAllowed = code <= MAX_CODE_POINT && character.search(FORBIDDEN) === -1 &&
      character.isWellFormed();
    if (isAllowed) return character;
    // Tools write control characters of captured output this way, although XML forbids it.
    this.replacementCount++;
    this.firstReplacement ??= this.positionOf(at);
    return REPLACEMENT;
  }

  /** True when a part of the text has bytes that cannot be decoded. */
  isUndecodable(part: string): boolean {
    return this.#sawUndecodable && part.includes(UNDECODABLE);
  }

  /** A part of the text as it is handed out: with U+FFFD for bytes that cannot be decoded. */
  withoutUndecodable(part: string): string {
    return this.#sawUndecodable ? part.replaceAll(UNDECODABLE, REPLACEMENT) : part;
  }

  /** Refuses the document with a ReportError. */
  fail(
    kind: ReportErrorKind,
    found: string,
    expected: string,
    position: ReportPosition = this.positionOf(this.at),
  ): never {
    const problem = this.withoutUndecodable(`found ${found}, expected ${expected}`);
    throw new ReportError({ file: this.#file, kind, problem, position });
  }

  /** Refuses the markup that begins at the current position with a ReportError. */
  failOnMarkup(expected: string, errorAt: number = this.at): never {
    const markup = this.text.slice(this.at, errorAt + QUOTED_CHARACTERS);
    this.fail("malformed", shorten(markup), expected, this.positionOf(errorAt));
  }
}

function positionAfter(text: string, { line, column }: ReportPosition): ReportPosition {
  const lastLineStart = text.lastIndexOf("\n") + 1;
  if (lastLineStart === 0) return { line, column: column + text.length };
  let end = text.indexOf("\n");
  for (; end !== -1; end = text.indexOf("\n", end + 1)) line++;
  return { line, column: text.length - lastLineStart + 1 };
}

function asciiCodes(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => +pattern.test(String.fromCharCode(code)));
}

function isNameCode(ascii: Uint8Array, code: number): boolean {
  return code < 128 ? ascii[code] === 1 : code < UNDECODABLE.charCodeAt(0);
}
