/** The text of an XML document as it arrives: its characters, references, positions and errors. */
import type { ReportLimits } from "../limits.ts";
import {
  quote,
  ReportError,
  type ReportErrorKind,
  type ReportPosition,
  shorten,
} from "../report_error.ts";
import {
  FORBIDDEN,
  isXmlCharacter,
  positionAfter,
  REPLACEMENT,
  UNDECODABLE,
} from "./characters.ts";
import { endOfName } from "./names.ts";

const CHARACTER_REFERENCE = /^#(?:x([0-9a-f]+)|([0-9]+));$/i;
const PREDEFINED: ReadonlyMap<string, string> = new Map([
  ["lt;", "<"],
  ["gt;", ">"],
  ["amp;", "&"],
  ["quot;", '"'],
  ["apos;", "'"],
]);

const QUOTED_CHARACTERS = 200;

/** The part of a document that has arrived and is not read yet. */
export class XmlInput {
  /** How many characters were replaced by U+FFFD. */
  replacementCount = 0;
  /** Position of the first of them. */
  firstReplacement: ReportPosition | undefined;
  /** The unread end of earlier chunks, and the current chunk. */
  text = "";
  /** Index in it of what is read next. */
  at = 0;

  readonly #file: string;
  readonly #limits: ReportLimits;
  #heldReturn = "";
  #sawUndecodable = false;
  // A known position in the text, and that of index 0.
  #mark = { index: 0, position: { line: 1, column: 1 } };
  #start: ReportPosition = { line: 1, column: 1 };
  // Index of the first forbidden character: a reference may come before it.
  #firstForbidden = -1;

  constructor(file: string, limits: ReportLimits) {
    this.#file = file;
    this.#limits = limits;
  }

  /** Adds a chunk; what XML forbids in it is replaced. */
  append(chunk: string): void {
    let added = this.#heldReturn + chunk;
    // A line feed may follow in the next chunk: together they are one line end.
    this.#heldReturn = added.endsWith("\r") ? "\r" : "";
    if (this.#heldReturn !== "") added = added.slice(0, -1);
    const forbidden = added.search(FORBIDDEN);
    if (forbidden === -1) {
      this.text += added;
      return;
    }
    const at = this.text.length + forbidden;
    this.text += added.replace(FORBIDDEN, (character) => {
      this.replacementCount++;
      return character === UNDECODABLE ? character : REPLACEMENT;
    });
    this.#sawUndecodable ||= added.includes(UNDECODABLE);
    if (this.firstReplacement !== undefined) return;
    this.firstReplacement = this.positionOf(at);
    this.#firstForbidden = at;
  }

  /** Drops what was read. */
  discard(): void {
    this.#start = this.positionOf(this.at);
    this.#mark = { index: 0, position: this.#start };
    this.text = this.text.slice(this.at);
    this.at = 0;
    this.#firstForbidden = -1;
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

  /** Where the name that begins at an index ends; the index itself when no name begins there. */
  endOfName(start: number): number {
    const end = endOfName(this.text, start);
    const { markupNameCharacters } = this.#limits;
    if (end - start <= markupNameCharacters) return end;
    const found = `the name ${quote(this.text.slice(start, end))}`;
    const expected = `an XML name of at most ${markupNameCharacters} characters`;
    this.fail("limit", found, expected, this.positionOf(start));
  }

  /** A part of the text with its references resolved and line ends or white space replaced. */
  decode(start: number, end: number, special: RegExp, blank: string): string {
    const part = this.text.slice(start, end);
    if (!part.includes("&")) return part.replace(special, blank);
    const replace = (found: string, reference: string | undefined, at: number) =>
      reference === undefined ? blank : this.#resolve(found, reference, start + at);
    return part.replace(special, replace);
  }

  #resolve(found: string, reference: string, at: number): string {
    const predefined = PREDEFINED.get(reference);
    if (predefined !== undefined) return predefined;
    const match = CHARACTER_REFERENCE.exec(reference);
    if (!match) this.failOnReference(found, at);
    const code = match[1] ? parseInt(match[1], 16) : parseInt(match[2]!, 10);
    if (isXmlCharacter(code)) return String.fromCodePoint(code);
    // Tools write control characters of captured output this way, although XML forbids it.
    this.replacementCount++;
    if (this.firstReplacement === undefined || at < this.#firstForbidden) {
      this.firstReplacement = this.positionOf(at);
      this.#firstForbidden = -1;
    }
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

  /** Refuses a reference with a ReportError. */
  failOnReference(found: string, at: number): never {
    const expected = /^&[^\s&<>]+;$/.test(found)
      ? "only &lt; &gt; &amp; &quot; &apos; and references by number: others are not expanded"
      : '"&" to be written as "&amp;"';
    this.fail("malformed", quote(found), expected, this.positionOf(at));
  }
}
