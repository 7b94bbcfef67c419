/**
 * What nearly all of a report is made of, read in large steps: text that nobody asked for, and tags
 * without references, line ends and anything else that takes thought. Whatever is not as plain as
 * that is left to the parser, which has the last word on everything that is wrong.
 *
 * The parser looks at every character by itself: 50 MB/s. Searching for the next character that
 * matters leaves that to the engine.
 */
import { detach, place } from "./characters.ts";
import type { ReportPosition } from "../report_error.ts";
import { PARSER_STATE, type SaxesInternals } from "./saxes_internals.ts";
import { type SpelledTag, type TagAttributes, TagForms, type TagLead } from "./tag_forms.ts";
import type { XmlHandler } from "./handler.ts";

/** What a tag may have at most to count as plain. */
export interface PlainLimits {
  /** Elements inside each other. */
  depth: number;
  attributeCount: number;
  /** Characters of a value. */
  valueCharacters: number;
  /** Characters of an element's or attribute's name. */
  nameCharacters: number;
}

const SPACE = 0x20;
const SLASH = 0x2f;
const EQUALS = 0x3d;
const GREATER = 0x3e;
const QUOTES: ReadonlyMap<number, string> = new Map([[0x22, '"'], [0x27, "'"]]);

// By character code. Names with others than these, and with prefixes, are the parser's.
const NAME_START = codesOf(/[A-Za-z_]/);
const NAME = codesOf(/[A-Za-z0-9_.-]/);

function codesOf(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => +pattern.test(String.fromCharCode(code)));
}

/** Reads on for the parser where it stands between tags. */
export class PlainMarkup {
  /** False leaves everything to the parser. */
  isOn = true;

  readonly #parser: SaxesInternals;
  readonly #limits: PlainLimits;
  readonly #handler: XmlHandler;
  readonly #names = new KnownNames();
  readonly #forms = new TagForms();

  // The next of each in the piece, from where they were looked for last; the piece's length when
  // there is none. Kept, so that no piece is searched twice for what it does not have.
  #less = -1;
  #ampersand = -1;
  #lineFeed = -1;
  #carriageReturn = -1;
  #tab = -1;
  // The first of the last three.
  #control = -1;

  // The parser's line and column are those of this place; `#at` is how far has been read since.
  #placed = 0;
  #at = 0;
  #elementAt = -1;
  #elementPosition: ReportPosition = { line: 1, column: 1 };

  constructor(
    parser: SaxesInternals,
    { limits, handler }: { limits: PlainLimits; handler: XmlHandler },
  ) {
    this.#parser = parser;
    this.#limits = limits;
    this.#handler = handler;
    const { stateTable } = parser;
    const readText = stateTable[PARSER_STATE.text]!;
    stateTable[PARSER_STATE.text] = () => {
      if (this.isOn && parser.textHandler === undefined && parser.tags.length > 0) this.#read();
      if (parser.i < parser.chunk.length) readText.call(parser);
    };
    const readSection = stateTable[PARSER_STATE.section]!;
    stateTable[PARSER_STATE.section] = () => {
      if (this.isOn && parser.cdataHandler === undefined) this.#skipSection();
      if (parser.i < parser.chunk.length) readSection.call(parser);
    };
  }

  /** To be called before the parser gets a piece. */
  beginPiece(): void {
    this.#less = -1;
    this.#ampersand = -1;
    this.#lineFeed = -1;
    this.#carriageReturn = -1;
    this.#tab = -1;
    this.#control = -1;
  }

  /** Brings the parser's line and column to where it reads, if they are not. */
  settle(): void {
    if (this.#at === this.#placed) return;
    this.#elementPosition = this.elementPosition;
    this.#elementAt = -1;
    const parser = this.#parser;
    const { lineCount, column } = this.#placeOf(this.#at);
    parser.line += lineCount;
    parser.column = column - 1;
    this.#placed = this.#at;
  }

  /** Where the element begins that came last. */
  get elementPosition(): ReportPosition {
    if (this.#elementAt === -1) return this.#elementPosition;
    const { lineCount, column } = this.#placeOf(this.#elementAt);
    return { line: this.#parser.line + lineCount, column };
  }

  set elementPosition(position: ReportPosition) {
    this.#elementPosition = position;
  }

  #placeOf(index: number): { lineCount: number; column: number } {
    const text = this.#parser.chunk.slice(this.#placed, index);
    return place(text, text.length, this.#parser.column);
  }

  // Leaves the rest of the piece to the parser.
  #stop(at: number): void {
    this.#at = at;
    this.settle();
    this.#parser.i = at;
  }

  #skipSection(): void {
    const { chunk, i } = this.#parser;
    this.#begin(i);
    const end = chunk.indexOf("]", i);
    this.#stop(end === -1 ? chunk.length : end);
  }

  #begin(at: number): void {
    this.#placed = at;
    this.#at = at;
  }

  #read(): void {
    const parser = this.#parser;
    const { chunk, tags } = parser;
    let at = parser.i;
    this.#begin(at);
    do {
      const less = this.#less = nextOf("<", chunk, this.#less, at);
      const ampersand = this.#ampersand = nextOf("&", chunk, this.#ampersand, at);
      if (ampersand < less || less === chunk.length) return this.#stop(Math.min(ampersand, less));
      const end = chunk.charCodeAt(less + 1) === SLASH
        ? this.#closeTag(chunk, less)
        : this.#openTag(chunk, less);
      if (end === -1) return this.#stop(less);
      at = end;
      // Somebody may want the text from here on.
    } while (parser.textHandler === undefined && tags.length > 0);
    this.#stop(at);
  }

  // Where the tag ends, -1 when it is not plain. The outermost element's end is the parser's.
  #closeTag(chunk: string, less: number): number {
    const { tags } = this.#parser;
    const tag = tags[tags.length - 1]!;
    const end = less + 2 + tag.name.length;
    if (tags.length < 2 || chunk.charCodeAt(end) !== GREATER) return -1;
    if (!chunk.startsWith(tag.name, less + 2)) return -1;
    tags.pop();
    this.#parser.tag = tag;
    this.#at = end + 1;
    this.#handler.close();
    return end + 1;
  }

  #openTag(chunk: string, less: number): number {
    const { tags } = this.#parser;
    const limits = this.#limits;
    if (tags.length >= limits.depth || !NAME_START[chunk.charCodeAt(less + 1)]) return -1;
    const known = this.#forms.read(chunk, less, limits.valueCharacters);
    const spelled = known === null ? this.#readTag(chunk, less) : null;
    const read = known ?? spelled;
    if (read === null) return -1;
    const { name, attributes } = read;
    let at = read.end;
    while (chunk.charCodeAt(at) === SPACE) at++;
    const isSelfClosing = chunk.charCodeAt(at) === SLASH;
    if (isSelfClosing) at++;
    if (chunk.charCodeAt(at) !== GREATER || this.#isInside(chunk, less, at)) return -1;
    if (spelled !== null) this.#forms.learn(spelled);
    this.#elementAt = less;
    this.#at = at + 1;
    if (isSelfClosing) {
      this.#tellEmpty(name, attributes);
      this.#parser.tag = tags[tags.length - 1]!;
    } else {
      const tag = { name, attributes, isSelfClosing };
      this.#parser.tag = tag;
      this.#handler.open(name, attributes);
      tags.push(tag);
    }
    return at + 1;
  }

  #tellEmpty(name: string, attributes: TagAttributes): void {
    const handler = this.#handler;
    if (handler.empty) return handler.empty(name, attributes);
    handler.open(name, attributes);
    handler.close();
  }

  // All of a tag up to behind its last value; `null` when it is not plain for sure.
  #readTag(chunk: string, less: number): SpelledTag | null {
    const limits = this.#limits;
    let at = endOfName(chunk, less + 2);
    if (at - less > limits.nameCharacters) return null;
    const name = this.#names.take(chunk, less + 1, at);
    const attributes: TagAttributes = {};
    const leads: TagLead[] = [];
    let leadStart = less;
    let code = chunk.charCodeAt(at);
    while (code !== GREATER && code !== SLASH) {
      let isBlank = false;
      for (; code === SPACE; code = chunk.charCodeAt(++at)) isBlank = true;
      if (code === GREATER || code === SLASH) break;
      if (!isBlank || !NAME_START[code] || leads.length === limits.attributeCount) return null;
      const nameEnd = endOfName(chunk, at + 1);
      if (nameEnd - at > limits.nameCharacters || chunk.charCodeAt(nameEnd) !== EQUALS) return null;
      const quote = QUOTES.get(chunk.charCodeAt(nameEnd + 1));
      if (quote === undefined) return null;
      const start = nameEnd + 2;
      const end = chunk.indexOf(quote, start);
      if (end === -1 || end - start > limits.valueCharacters) return null;
      const attribute = this.#names.take(chunk, at, nameEnd);
      // One that comes twice, or that every object has.
      if (attributes[attribute] !== undefined) return null;
      attributes[attribute] = chunk.slice(start, end);
      leads.push({ attribute, text: chunk.slice(leadStart, start), quote });
      leadStart = at = end + 1;
      code = chunk.charCodeAt(at);
    }
    return { name, attributes, end: at, leads };
  }

  // Whether anything stands inside the tag that the parser has to translate, or to refuse.
  #isInside(chunk: string, less: number, end: number): boolean {
    if (this.#ampersand < end) return true;
    this.#less = nextOf("<", chunk, this.#less, less + 1);
    if (this.#less < end) return true;
    if (this.#control >= end) return false;
    this.#lineFeed = nextOf("\n", chunk, this.#lineFeed, less);
    this.#carriageReturn = nextOf("\r", chunk, this.#carriageReturn, less);
    this.#tab = nextOf("\t", chunk, this.#tab, less);
    this.#control = Math.min(this.#lineFeed, this.#carriageReturn, this.#tab);
    return this.#control < end;
  }
}

// Where the character comes next from a place on; the text's length when it does not.
function nextOf(character: string, text: string, known: number, from: number): number {
  if (known >= from) return known;
  const found = text.indexOf(character, from);
  return found === -1 ? text.length : found;
}

function endOfName(text: string, start: number): number {
  let end = start;
  while (NAME[text.charCodeAt(end)]) end++;
  return end;
}

const MAX_KNOWN_NAMES = 8;

/** Names that came before, by their length: cheaper than making the same string once more. */
class KnownNames {
  readonly #byLength: string[][] = [];

  take(text: string, start: number, end: number): string {
    const length = end - start;
    const known = this.#byLength[length] ??= [];
    for (const name of known) if (text.startsWith(name, start)) return name;
    const name = detach(text.slice(start, end));
    if (known.length < MAX_KNOWN_NAMES) known.push(name);
    return name;
  }
}
