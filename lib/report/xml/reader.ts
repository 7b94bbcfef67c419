/**
 * A streaming XML reader for hostile input. It searches for the next character that matters instead
 * of looking at each, holds no more than one tag, skips text that no handler asked for, and has a
 * limit for everything else. It expands no entity but the five of XML itself, and fetches nothing.
 *
 * More lenient than XML where the meaning is clear: `]]>` in text, `--` in comments, blanks before
 * the XML declaration. Forbidden characters become U+FFFD and are counted.
 */
import {
  cutText,
  detach,
  FORBIDDEN,
  isXmlCharacter,
  positionAfter,
  REPLACEMENT,
} from "./characters.ts";
import type { DecodedChunk } from "./decode.ts";
import { endOfName, NameCache } from "./names.ts";
import type { ReportLimits } from "../limits.ts";
import {
  quote,
  ReportError,
  type ReportErrorKind,
  type ReportPosition,
  shorten,
} from "../report_error.ts";

/** Attributes of an element by name. It has no prototype: any name is safe. */
export type XmlAttributes = Readonly<Record<string, string | undefined>>;

/** Called with the elements of a document, in order. */
export interface XmlHandler {
  /**
   * An element begins.
   *
   * @param name without its namespace prefix
   */
  open(name: string, attributes: XmlAttributes): void;
  /** The innermost open element ends. */
  close(): void;
}

/** Settings of an {@link XmlReader}. */
export interface XmlReaderOptions {
  /** What errors call the document. */
  file: string;
  limits: ReportLimits;
  handler: XmlHandler;
  /** Attributes that are names: refused when too long. Long values of others are cut. */
  nameAttributes: ReadonlySet<string>;
}

// What is kept of an attribute that is not a name: many times what anything made of it can hold.
const KEPT_ATTRIBUTE_CHARACTERS = 64 * 1024;
// Blanks between the parts of a tag are not held beyond this.
const MAX_BLANKS = 1_024;
// More than error messages quote.
const LONGEST_MARKUP = 200;

const SPACE = 0x20;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SLASH = 0x2f;
const EQUALS = 0x3d;
const GREATER = 0x3e;
const BANG = 0x21;
const QUESTION = 0x3f;

const NOT_BLANK = /[^ \t\r\n]/g;
const PREDEFINED: Readonly<Record<string, string>> = {
  __proto__: null!,
  lt: "<",
  gt: ">",
  amp: "&",
  quot: '"',
  apos: "'",
};
const CHARACTER_REFERENCE = /^#(?:x([0-9a-f]+)|([0-9]+))$/i;
const DECLARATION_BODY =
  /^\s+version\s*=\s*(?:"1\.\d+"|'1\.\d+')(?:\s+encoding\s*=\s*(?:"[a-z][\w.-]*"|'[a-z][\w.-]*'))?(?:\s+standalone\s*=\s*(?:"(?:yes|no)"|'(?:yes|no)'))?\s*$/i;
const SECTIONS = [["<![CDATA[", "cdata"], ["<!--", "comment"], ["<!DOCTYPE", "doctype"]] as const;
const LONGEST_SECTION_START = 9;
const DOCTYPE_SPECIAL = /["'[>]/g;
const SUBSET_SPECIAL = /["'<\]]/g;

/** What is being read where a chunk ends. */
type State = "text" | "tag" | "value" | "cdata" | "comment" | "instruction" | "doctype" | "subset";

// A null prototype lets an attribute be called `__proto__`; unlike Object.create(null), objects of
// one class stay fast.
class Attributes {
  [name: string]: string;
}
Object.setPrototypeOf(Attributes.prototype, null);
Reflect.deleteProperty(Attributes.prototype, "constructor");

/** Takes the text of a document in chunks and calls a handler for its elements. */
export class XmlReader {
  /** How many characters were replaced by U+FFFD. */
  replacementCount = 0;
  /** Where the first of them stood. */
  firstReplacement: ReportPosition | undefined;
  /** Attributes of the innermost element whose values had bytes that cannot be decoded. */
  readonly undecodableAttributes: Set<string> = new Set();

  readonly #options: XmlReaderOptions;
  readonly #limits: ReportLimits;
  readonly #handler: XmlHandler;
  readonly #names = new NameCache();
  /** What begins the attribute that came last at each place of a tag: most tags are alike. */
  readonly #leads: { name: string; text: string }[] = [];
  /** Values up to this length need no check. */
  readonly #checkedCharacters: number;
  readonly #open: string[] = [];
  #takeText: ((text: string) => void) | null = null;

  // The unread end of the chunks before, and the current chunk.
  #text = "";
  #at = 0;
  #heldReturn = "";
  #state: State = "text";
  /** The state that a comment or instruction returns to. */
  #outerState: "text" | "subset" = "text";
  /** What ends the value, or the quoted part of the document type; `""` outside of quotes. */
  #quote = "";
  #sawContent = false;
  #sawRoot = false;
  #sawDoctype = false;

  // The tag that is being read.
  #tagName = "";
  /** The same with a blank behind it: the next tag is often alike. */
  #lastTag = " ";
  #attributes = new Attributes();
  #attributeCount = 0;
  #sawBlank = false;
  #attribute = "";
  #value = "";
  #droppedCharacters = 0;

  // The next of each in the text from where it was last looked for; the length of the text when
  // there is none. No part of a chunk is searched twice for a character.
  #less = -1;
  #ampersand = -1;
  #lineFeed = -1;
  #return = -1;
  #tab = -1;
  /** The first of these. */
  #special = -1;

  // A place in the text whose position is known, the last one asked for, and that of index 0.
  #mark = { index: 0, position: { line: 1, column: 1 } };
  #start: ReportPosition = { line: 1, column: 1 };
  #elementAt = -1;
  #elementPosition: ReportPosition = { line: 1, column: 1 };
  // Where U+FFFD stands for lost bytes, and the first that is not behind what was read.
  #undecodable: number[] = [];
  #undecodableAt = 0;
  #firstForbidden = -1;

  constructor(options: XmlReaderOptions) {
    this.#options = options;
    this.#limits = options.limits;
    this.#handler = options.handler;
    const { nameCharacters, attributeCharacters } = options.limits;
    this.#checkedCharacters = Math.min(
      KEPT_ATTRIBUTE_CHARACTERS,
      nameCharacters,
      attributeCharacters,
    );
  }

  /** Where the element begins that was opened last. */
  get elementPosition(): ReportPosition {
    return this.#elementAt === -1 ? this.#elementPosition : this.#positionOf(this.#elementAt);
  }

  /**
   * From here on, text directly inside elements goes to `take`, in parts of any size, until this is
   * called again; `null` skips it.
   */
  readText(take: ((text: string) => void) | null): void {
    this.#takeText = take;
  }

  /**
   * Reads on.
   *
   * @throws {ReportError} `malformed` or `limit`, and whatever the handler throws
   */
  write(chunk: DecodedChunk): void {
    if (chunk.text === "") return;
    this.#begin(chunk);
    while (this.#read());
    this.#dropRead();
  }

  /**
   * The document ends here.
   *
   * @throws {ReportError} `malformed` when it is not complete
   */
  end(): void {
    const isReference = this.#state === "text" || this.#state === "value";
    if (isReference && this.#text.startsWith("&")) this.#failOnReference(0, this.#text.length);
    const position = this.#positionOf(this.#text.length);
    const innermost = this.#open.at(-1);
    if (innermost !== undefined) {
      this.fail(
        "malformed",
        `the end of the file inside <${shorten(innermost)}>`,
        `</${shorten(innermost)}>: the file seems to be cut off`,
        position,
      );
    }
    if (this.#state !== "text" || this.#text !== "") {
      this.fail(
        "malformed",
        "the end of the file inside a tag, a comment or a CDATA section",
        "its end: the file seems to be cut off",
        position,
      );
    }
    if (!this.#sawContent) {
      this.fail("malformed", "an empty file", "a JUnit report in XML", { line: 1, column: 1 });
    }
    if (!this.#sawRoot) {
      this.fail("malformed", "no element", "<testsuites> or <testsuite>", position);
    }
  }

  /**
   * Refuses the document.
   *
   * @throws {ReportError} always
   */
  fail(
    kind: ReportErrorKind,
    found: string,
    expected: string,
    position: ReportPosition = this.#positionOf(this.#at),
  ): never {
    const problem = `found ${found}, expected ${expected}`;
    throw new ReportError({ file: this.#options.file, kind, problem, position });
  }

  #begin({ text, undecodableAt }: DecodedChunk): void {
    const offset = this.#text.length + this.#heldReturn.length;
    let added = this.#heldReturn + text;
    // Whether it ends the line alone or with a line feed shows in the next chunk.
    this.#heldReturn = added.endsWith("\r") ? "\r" : "";
    if (this.#heldReturn !== "") added = added.slice(0, -1);
    const first = added.search(FORBIDDEN);
    this.#firstForbidden = first === -1 ? -1 : this.#text.length + first;
    if (first !== -1) {
      added = added.replace(FORBIDDEN, () => (this.replacementCount++, REPLACEMENT));
    }
    this.#text += added;
    if (undecodableAt.length > 0) {
      this.replacementCount += undecodableAt.length;
      const shifted = undecodableAt.map((index) => index + offset);
      if (first === -1 || shifted[0]! < this.#firstForbidden) this.#firstForbidden = shifted[0]!;
      this.#undecodable = [...this.#undecodable.slice(this.#undecodableAt), ...shifted];
      this.#undecodableAt = 0;
    }
    // References before it are read later.
    if (this.firstReplacement !== undefined) this.#firstForbidden = -1;
    else if (this.#firstForbidden !== -1) {
      this.firstReplacement = this.#positionOf(this.#firstForbidden);
    }
    this.#less =
      this.#ampersand =
      this.#lineFeed =
      this.#return =
      this.#tab =
      this.#special =
        -1;
  }

  // Keeps what could not be read yet for the next chunk.
  #dropRead(): void {
    const at = this.#at;
    this.#elementPosition = this.elementPosition;
    this.#elementAt = -1;
    this.#start = this.#positionOf(at);
    this.#mark = { index: 0, position: this.#start };
    this.#text = this.#text.slice(at);
    this.#at = 0;
    if (this.#undecodable.length > 0) {
      this.#undecodable = this.#undecodable.filter((index) => index >= at)
        .map((index) => index - at);
      this.#undecodableAt = 0;
    }
  }

  #positionOf(index: number): ReportPosition {
    if (index < this.#mark.index) this.#mark = { index: 0, position: this.#start };
    const { index: from, position } = this.#mark;
    if (index > from) {
      this.#mark = { index, position: positionAfter(this.#text.slice(from, index), position) };
    }
    return this.#mark.position;
  }

  /** Reads one part of the document; false when the rest of it is still to come. */
  #read(): boolean {
    switch (this.#state) {
      case "text":
        return this.#readContent();
      case "tag":
        return this.#readTag();
      case "value":
        return this.#readValue();
      case "cdata":
        return this.#skipTo("]]>", this.#takeText);
      case "comment":
        return this.#skipTo("-->", null);
      case "instruction":
        return this.#skipTo("?>", null);
      case "doctype":
      case "subset":
        return this.#readDoctype();
    }
  }

  #readContent(): boolean {
    const text = this.#text;
    const start = this.#at;
    const less = this.#less = nextOf("<", text, this.#less, start);
    if (this.#open.length === 0) this.#checkOutside(start, less);
    else {
      this.#ampersand = nextOf("&", text, this.#ampersand, start);
      if (this.#ampersand < less) return this.#readReferences(start, less);
      if (this.#takeText !== null && less > start) {
        this.#takeText(lineFeeds(text.slice(start, less)));
      }
    }
    this.#at = less;
    switch (text.charCodeAt(less + 1)) {
      case SLASH:
        return this.#readEndTag(less);
      case BANG:
        return this.#beginSection(less);
      case QUESTION:
        return this.#beginInstruction(less);
      default:
        return less + 1 < text.length && this.#beginTag(less);
    }
  }

  #checkOutside(start: number, end: number): void {
    NOT_BLANK.lastIndex = start;
    const at = NOT_BLANK.exec(this.#text)?.index ?? this.#text.length;
    if (at >= end) {
      this.#sawContent ||= end < this.#text.length;
      return;
    }
    const found = this.#text.slice(at, Math.min(end, at + KEPT_ATTRIBUTE_CHARACTERS));
    if (this.#sawContent) {
      this.fail(
        "malformed",
        `text outside of the outermost element: ${quote(found)}`,
        "none",
        this.#positionOf(at),
      );
    }
    this.fail(
      "malformed",
      quote(found),
      "a JUnit report in XML, which begins with <",
      this.#positionOf(at),
    );
  }

  /** Text with references in it, as far as they are complete. */
  #readReferences(start: number, end: number): boolean {
    let complete = end;
    if (end === this.#text.length) complete = this.#completeEnd(start, end);
    const decoded = this.#decode(start, complete, lineFeeds);
    if (this.#takeText !== null && decoded !== "") this.#takeText(decoded);
    this.#at = complete;
    return complete === end && end < this.#text.length;
  }

  /** Where a reference begins whose end is still to come; `end` when there is none. */
  #completeEnd(start: number, end: number): number {
    this.#ampersand = nextOf("&", this.#text, this.#ampersand, start);
    if (this.#ampersand >= end) return end;
    const last = this.#text.lastIndexOf("&", end - 1);
    if (this.#text.indexOf(";", last) !== -1) return end;
    if (end - last > this.#limits.markupNameCharacters) this.#failOnReference(last, end);
    return last;
  }

  /** The text with its references resolved; `raw` is applied to what is between them. */
  #decode(start: number, end: number, raw: (text: string) => string): string {
    const text = this.#text;
    let decoded = "";
    let from = start;
    let at = this.#ampersand = nextOf("&", text, this.#ampersand, from);
    while (at < end) {
      const semicolon = text.indexOf(";", at);
      if (semicolon === -1 || semicolon >= end) this.#failOnReference(at, end);
      decoded += raw(text.slice(from, at)) + this.#resolve(at, semicolon);
      from = semicolon + 1;
      at = this.#ampersand = nextOf("&", text, this.#ampersand, from);
    }
    return decoded + raw(text.slice(from, end));
  }

  #resolve(at: number, semicolon: number): string {
    const name = this.#text.slice(at + 1, semicolon);
    const predefined = PREDEFINED[name];
    if (predefined !== undefined) return predefined;
    const match = name.length > this.#limits.markupNameCharacters
      ? null
      : CHARACTER_REFERENCE.exec(name);
    if (!match) this.#failOnReference(at, semicolon + 1);
    const code = match[1] ? parseInt(match[1], 16) : parseInt(match[2]!, 10);
    if (isXmlCharacter(code)) return String.fromCodePoint(code);
    // Tools write control characters of captured output like this, though XML forbids it.
    this.replacementCount++;
    if (this.firstReplacement === undefined || at < this.#firstForbidden) {
      this.firstReplacement = this.#positionOf(at);
      this.#firstForbidden = -1;
    }
    return REPLACEMENT;
  }

  #failOnReference(start: number, end: number): never {
    const text = this.#text.slice(start, Math.min(end, start + KEPT_ATTRIBUTE_CHARACTERS));
    const isName = /^&[^\s&<>]+;$/.test(text);
    this.fail(
      "malformed",
      quote(text),
      isName
        ? "only &lt; &gt; &amp; &quot; &apos; and references by number: others are not expanded"
        : '"&" to be written as "&amp;"',
      this.#positionOf(start),
    );
  }

  #beginTag(less: number): boolean {
    const text = this.#text;
    const end = text.startsWith(this.#lastTag, less + 1)
      ? less + this.#lastTag.length
      : endOfName(text, less + 1);
    if (end === less + 1) {
      this.#failOnMarkup('a tag, or "<" to be written as "&lt;"');
    }
    this.#checkName(less + 1, end);
    if (end === text.length) return false;
    if (this.#open.length === 0 && this.#sawRoot) {
      this.#failOnMarkup("the end of the file: a report has one outermost element");
    }
    this.#elementAt = less;
    this.#sawRoot = true;
    if (this.#open.length >= this.#limits.elementDepth) {
      this.fail("limit", `elements nested more than ${this.#limits.elementDepth} deep`, "fewer");
    }
    const isLast = end - less === this.#lastTag.length;
    if (!isLast || !text.startsWith(this.#lastTag, less + 1)) {
      this.#tagName = this.#names.take(text, less + 1, end);
      this.#lastTag = `${this.#tagName} `;
    }
    this.#attributes = new Attributes();
    this.#attributeCount = 0;
    this.#sawBlank = false;
    if (this.undecodableAttributes.size > 0) this.undecodableAttributes.clear();
    this.#at = end;
    this.#state = "tag";
    return this.#readTag();
  }

  /** Reads attributes and the end of a tag. */
  #readTag(): boolean {
    const text = this.#text;
    for (;;) {
      const lead = this.#leads[this.#attributeCount];
      if (lead !== undefined && text.startsWith(lead.text, this.#at)) {
        this.#beginValue(lead.name, '"', this.#at + lead.text.length);
      } else {
        let at = this.#at;
        let code = text.charCodeAt(at);
        while (isBlank(code)) {
          this.#sawBlank = true;
          code = text.charCodeAt(++at);
        }
        this.#at = at;
        if (at >= text.length) return false;
        if (code === GREATER) return this.#endOfTag(at + 1, false);
        if (code === SLASH) {
          if (at + 1 >= text.length) return false;
          if (text.charCodeAt(at + 1) === GREATER) return this.#endOfTag(at + 2, true);
        }
        if (!this.#beginAttribute(at)) return false;
      }
      const end = text.indexOf(this.#quote, this.#at);
      if (end === -1) {
        this.#state = "value";
        return true;
      }
      this.#addToValue(this.#at, end);
      this.#endAttribute(end + 1);
    }
  }

  #endOfTag(end: number, isEmpty: boolean): boolean {
    const name = this.#tagName;
    this.#at = end;
    this.#state = "text";
    this.#open.push(name);
    this.#handler.open(name.slice(name.indexOf(":") + 1), this.#attributes);
    if (isEmpty) {
      this.#open.pop();
      this.#handler.close();
    }
    return true;
  }

  /** Reads an attribute up to behind its opening quote; false when that is still to come. */
  #beginAttribute(start: number): boolean {
    const text = this.#text;
    const nameEnd = endOfName(text, start);
    const expected = 'attributes such as name="value" with blanks between them, then > or />';
    if (nameEnd === start || !this.#sawBlank) this.#failOnMarkup(expected);
    this.#checkName(start, nameEnd);
    const equals = afterBlanks(text, nameEnd);
    const opening = text.charCodeAt(equals) === EQUALS ? afterBlanks(text, equals + 1) : equals;
    if (opening - nameEnd > MAX_BLANKS) this.#failOnBlanks();
    if (opening >= text.length) return false;
    const quote = text.charAt(opening);
    if (opening === equals || (quote !== '"' && quote !== "'")) {
      this.#failOnMarkup('an attribute with a value in quotes, such as name="value"');
    }
    const { attributeCount } = this.#limits;
    if (this.#attributeCount >= attributeCount) {
      const found = `more than ${attributeCount} attributes of one element`;
      this.fail("limit", found, "fewer", this.elementPosition);
    }
    const name = this.#names.take(text, start, nameEnd);
    this.#leads[this.#attributeCount] = { name, text: ` ${name}="` };
    this.#beginValue(name, quote, opening + 1);
    return true;
  }

  #beginValue(name: string, quote: string, start: number): void {
    if (this.#attributes[name] !== undefined) {
      const found = `the attribute ${shorten(name)} twice in <${shorten(this.#tagName)}>`;
      this.fail("malformed", found, "it once");
    }
    this.#attributeCount++;
    this.#attribute = name;
    this.#quote = quote;
    this.#value = "";
    this.#droppedCharacters = 0;
    this.#at = start;
  }

  /** A value that does not end in the chunk where it began. */
  #readValue(): boolean {
    const text = this.#text;
    const start = this.#at;
    const end = text.indexOf(this.#quote, start);
    const complete = end === -1 ? this.#completeEnd(start, text.length) : end;
    this.#addToValue(start, complete);
    this.#at = complete;
    if (end === -1) return false;
    this.#value = detach(this.#value);
    this.#endAttribute(end + 1);
    this.#state = "tag";
    return true;
  }

  #endAttribute(end: number): void {
    this.#attributes[this.#attribute] = this.#value;
    this.#sawBlank = false;
    this.#at = end;
  }

  #addToValue(start: number, end: number): void {
    const value = this.#hasSpecial(start, end)
      ? this.#decode(start, end, blanksToSpaces)
      : this.#text.slice(start, end);
    if (this.#undecodable.length > 0) this.#checkUndecodable(start, end);
    this.#value = this.#value === "" ? value : this.#value + value;
    const length = this.#value.length + this.#droppedCharacters;
    if (length > this.#checkedCharacters) this.#shortenValue(length);
  }

  /** Whether a part of a value holds more than plain text. A `<` in it is refused. */
  #hasSpecial(start: number, end: number): boolean {
    if (this.#special < start) {
      const text = this.#text;
      this.#less = nextOf("<", text, this.#less, start);
      this.#ampersand = nextOf("&", text, this.#ampersand, start);
      this.#lineFeed = nextOf("\n", text, this.#lineFeed, start);
      this.#return = nextOf("\r", text, this.#return, start);
      this.#tab = nextOf("\t", text, this.#tab, start);
      this.#special = Math.min(
        this.#less,
        this.#ampersand,
        this.#lineFeed,
        this.#return,
        this.#tab,
      );
    }
    if (this.#special >= end) return false;
    this.#less = nextOf("<", this.#text, this.#less, start);
    if (this.#less < end) {
      const found = `"<" in the value of the attribute ${shorten(this.#attribute)}`;
      const expected = 'its closing quote, or "<" to be written as "&lt;"';
      this.fail("malformed", found, expected, this.#positionOf(this.#less));
    }
    return true;
  }

  #checkUndecodable(start: number, end: number): void {
    const indexes = this.#undecodable;
    while (indexes[this.#undecodableAt]! < start) this.#undecodableAt++;
    if (indexes[this.#undecodableAt]! < end) this.undecodableAttributes.add(this.#attribute);
  }

  #shortenValue(length: number): void {
    const { nameCharacters, attributeCharacters } = this.#limits;
    const isName = this.#options.nameAttributes.has(this.#attribute);
    const limit = isName ? nameCharacters : attributeCharacters;
    if (length > limit) {
      const found = `the attribute ${shorten(this.#attribute)}=${quote(this.#value)}`;
      this.fail("limit", found, `at most ${limit} characters`);
    }
    if (isName) return;
    this.#value = cutText(this.#value, KEPT_ATTRIBUTE_CHARACTERS);
    this.#droppedCharacters = length - this.#value.length;
  }

  #readEndTag(less: number): boolean {
    const text = this.#text;
    const name = this.#open.at(-1);
    let end = less + 2;
    if (name !== undefined && text.startsWith(name, end)) end += name.length;
    // Blanks before the end are rare, and so are names that do not fit.
    if (text.charCodeAt(end) !== GREATER || end === less + 2) {
      end = endOfName(text, less + 2);
      this.#checkName(less + 2, end);
      const nameEnd = end;
      end = afterBlanks(text, end);
      if (end - nameEnd > MAX_BLANKS) this.#failOnBlanks();
      if (end >= text.length) return false;
      const isName = nameEnd - less - 2 === name?.length && text.startsWith(name, less + 2);
      if (text.charCodeAt(end) !== GREATER || !isName) {
        this.#failOnMarkup(
          name === undefined ? "the end of the file" : `</${shorten(name)}>`,
        );
      }
    }
    this.#open.pop();
    this.#at = end + 1;
    this.#handler.close();
    return true;
  }

  #beginSection(less: number): boolean {
    const text = this.#text;
    const section = SECTIONS.find(([start]) => text.startsWith(start, less));
    if (!section) {
      const rest = text.slice(less, less + LONGEST_SECTION_START);
      if (SECTIONS.some(([start]) => start.startsWith(rest))) return false;
    }
    const [start = "", state] = section ?? [];
    const isMisplaced = state === "cdata"
      ? this.#open.length === 0
      : state === "doctype" && (this.#sawRoot || this.#sawDoctype);
    if (state === undefined || isMisplaced) {
      this.#failOnMarkup(
        "a comment, a CDATA section inside an element, or one DOCTYPE before the first element",
      );
    }
    if (state === "doctype") this.#sawDoctype = true;
    this.#outerState = "text";
    this.#state = state;
    this.#at = less + start.length;
    return true;
  }

  #beginInstruction(less: number): boolean {
    const text = this.#text;
    const end = endOfName(text, less + 2);
    this.#checkName(less + 2, end);
    if (end >= text.length) return false;
    const target = text.slice(less + 2, end);
    if (target.toLowerCase() === "xml") return this.#readDeclaration(less, end);
    const isEnded = /[?\s]/.test(text.charAt(end));
    if (end === less + 2 || !isEnded) {
      this.#failOnMarkup("a processing instruction such as <?name text?>");
    }
    this.#outerState = "text";
    this.#state = "instruction";
    this.#at = end;
    return true;
  }

  #readDeclaration(less: number, start: number): boolean {
    const text = this.#text;
    const end = text.indexOf("?>", start);
    const length = (end === -1 ? text.length : end) - start;
    const limit = this.#limits.markupNameCharacters;
    if (length > limit) {
      this.fail("limit", `an XML declaration of more than ${limit} characters`, "fewer");
    }
    if (end === -1) return false;
    const isRight = !this.#sawRoot && text.startsWith("<?xml", less) &&
      DECLARATION_BODY.test(text.slice(start, end));
    if (!isRight) {
      this.#failOnMarkup('an XML declaration such as <?xml version="1.0" encoding="UTF-8"?>');
    }
    this.#at = end + 2;
    return true;
  }

  /** Skips to behind the end of a section, whose text goes to `take`. */
  #skipTo(terminator: string, take: ((text: string) => void) | null): boolean {
    const text = this.#text;
    const found = text.indexOf(terminator, this.#at);
    // The terminator may be cut in two by the end of the chunk.
    const end = found === -1 ? Math.max(this.#at, text.length - terminator.length + 1) : found;
    if (take !== null && end > this.#at) take(lineFeeds(text.slice(this.#at, end)));
    this.#at = end;
    if (found === -1) return false;
    this.#at = found + terminator.length;
    this.#state = this.#outerState;
    return true;
  }

  /** Skips a document type: what it declares is never used. */
  #readDoctype(): boolean {
    const text = this.#text;
    if (this.#quote !== "") {
      const end = text.indexOf(this.#quote, this.#at);
      this.#at = end === -1 ? text.length : end + 1;
      if (end === -1) return false;
      this.#quote = "";
    }
    const special = this.#state === "doctype" ? DOCTYPE_SPECIAL : SUBSET_SPECIAL;
    special.lastIndex = this.#at;
    const at = special.exec(text)?.index ?? text.length;
    this.#at = at;
    if (at === text.length) return false;
    const character = text.charAt(at);
    if (character === "<" && text.length - at < "<!--".length) return false;
    this.#at = at + 1;
    if (character === '"' || character === "'") this.#quote = character;
    else if (character === ">") this.#state = "text";
    else if (character === "[") this.#state = "subset";
    else if (character === "]") this.#state = "doctype";
    else this.#skipInSubset(at);
    return true;
  }

  #skipInSubset(at: number): void {
    const isComment = this.#text.startsWith("<!--", at);
    if (!isComment && !this.#text.startsWith("<?", at)) return;
    this.#outerState = "subset";
    this.#state = isComment ? "comment" : "instruction";
    this.#at = at + (isComment ? "<!--" : "<?").length;
  }

  #checkName(start: number, end: number): void {
    const { markupNameCharacters } = this.#limits;
    if (end - start <= markupNameCharacters) return;
    const name = this.#text.slice(start, end);
    const expected = `an XML name of at most ${markupNameCharacters} characters`;
    this.fail("limit", `the name ${quote(name)}`, expected, this.#positionOf(start));
  }

  #failOnBlanks(): never {
    this.fail("limit", `more than ${MAX_BLANKS} blanks inside a tag`, "fewer");
  }

  /** Refuses the markup that begins where the reader stands. */
  #failOnMarkup(expected: string): never {
    const start = this.#state === "tag" ? Math.max(this.#elementAt, 0) : this.#at;
    const end = this.#at + LONGEST_MARKUP;
    const markup = this.#text.slice(start, end);
    this.fail("malformed", shorten(markup), expected);
  }
}

// The next occurrence from an index on, the length of the text when there is none.
function nextOf(character: string, text: string, known: number, from: number): number {
  if (known >= from) return known;
  const found = text.indexOf(character, from);
  return found === -1 ? text.length : found;
}

function isBlank(code: number): boolean {
  return code === SPACE || code === LINE_FEED || code === TAB || code === CARRIAGE_RETURN;
}

function afterBlanks(text: string, start: number): number {
  let at = start;
  while (isBlank(text.charCodeAt(at))) at++;
  return at;
}

// What XML makes of line ends in text, and of blanks in values.
function lineFeeds(text: string): string {
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}

function blanksToSpaces(text: string): string {
  return text.replace(/\r\n|[\t\n\r]/g, " ");
}
