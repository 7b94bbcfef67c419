/**
 * A streaming XML reader for hostile input. A tag is read when all of it has arrived; text, comments
 * and CDATA sections of any size pass through in chunks. It expands no entities except the five
 * predefined ones, and fetches nothing.
 *
 * More lenient than XML where the meaning is clear: `]]>` in text, `--` in comments, white space
 * before the XML declaration. Forbidden characters become U+FFFD and are counted.
 */
import type { ReportLimits } from "../limits.ts";
import { quote, type ReportPosition, shorten } from "../report_error.ts";
import { XmlInput } from "./input.ts";
import { endOfName, NameCache } from "./names.ts";

/** Attributes of an element by name. It has no prototype: any name is safe. */
export type XmlAttributes = Readonly<Record<string, string | undefined>>;

/** Called with the elements of a document, in order. */
export interface XmlHandler {
  /** An element begins; `name` is without its namespace prefix. */
  open(name: string, attributes: XmlAttributes): void;
  /** The innermost open element ends. */
  close(): void;
}

/** Settings of an {@link XmlReader}. */
export interface XmlReaderOptions {
  /** Path in error messages. */
  file: string;
  limits: ReportLimits;
  handler: XmlHandler;
  /** Attributes that name something: the shorter limit of names applies to them. */
  nameAttributes: ReadonlySet<string>;
}

/** A part of the document that is passed through up to its terminator. */
interface Section {
  terminator: string;
  isText: boolean;
}

const CDATA: Section = { terminator: "]]>", isText: true };
const COMMENT: Section = { terminator: "-->", isText: false };
const INSTRUCTION: Section = { terminator: "?>", isText: false };

const QUOTED_CHARACTERS = 200;
const DOCTYPE_CHARACTERS = 64 * 1024;

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
// In attribute values.
const SPECIAL = /[&<\t\n\r]/g;
const TEXT_SPECIAL = /\r\n?|&([^;]*;?)/g;
const VALUE_SPECIAL = /\r\n|[\t\n\r]|&([^;]*;?)/g;
const DECLARATION_BODY =
  /^\s+version\s*=\s*(?:"1\.\d+"|'1\.\d+')(?:\s+encoding\s*=\s*(?:"[a-z][\w.-]*"|'[a-z][\w.-]*'))?(?:\s+standalone\s*=\s*(?:"(?:yes|no)"|'(?:yes|no)'))?\s*$/i;
// With its internal subset, which may contain comments and instructions.
const DOCTYPE =
  /<!DOCTYPE(?:[^"'>[]|"[^"]*"|'[^']*'|\[(?:[^"'<\]]|"[^"]*"|'[^']*'|<!--(?:(?!-->)[^])*-->|<\?(?:(?!\?>)[^])*\?>|<(?!!--|\?))*\])*>/y;
const SECTION_STARTS = ["<![CDATA[", "<!--", "<!DOCTYPE"];
const ATTRIBUTES = 'attributes such as name="value" with white space between them, then > or />';

// A null prototype lets an attribute be called `__proto__`; unlike Object.create(null), objects of
// one class stay fast.
class Attributes {
  [name: string]: string;
}
Object.setPrototypeOf(Attributes.prototype, null);
Reflect.deleteProperty(Attributes.prototype, "constructor");

/** Takes the text of a document in chunks and calls a handler for its elements. */
export class XmlReader {
  readonly input: XmlInput;
  /** One of the name attributes of the innermost element that has bytes that cannot be decoded. */
  undecodableName: string | undefined;

  readonly #nameAttributes: ReadonlySet<string>;
  readonly #limits: ReportLimits;
  readonly #handler: XmlHandler;
  readonly #names = new NameCache();
  // The attribute last seen at each place of a tag, with what precedes its value: most tags have
  // the same attributes.
  readonly #lastAttributes: { name: string; start: string }[] = [];
  readonly #open: string[] = [];
  #takeText: ((text: string) => void) | null = null;

  // Waiting for twice as much before a long tag is read once more keeps the time linear.
  #wantedLength = 0;
  #section: Section | null = null;
  #sawContent = false;
  #sawRoot = false;
  #sawDoctype = false;
  // Index of the next "&", and of the next special character of a value; -1 before the first search
  // of a chunk. They prevent searching the same text twice.
  #ampersand = -1;
  #special = -1;

  // `-1` when the tag of the last element was in an earlier chunk.
  #elementAt = -1;
  #elementPosition: ReportPosition = { line: 1, column: 1 };

  constructor(options: XmlReaderOptions) {
    this.input = new XmlInput(options.file);
    this.#nameAttributes = options.nameAttributes;
    this.#limits = options.limits;
    this.#handler = options.handler;
  }

  /** Position of the element that was opened last. */
  get elementPosition(): ReportPosition {
    return this.#elementAt === -1 ? this.#elementPosition : this.input.positionOf(this.#elementAt);
  }

  /** From here on, text directly inside elements goes to `take`, in parts; `null` skips it. */
  readText(take: ((text: string) => void) | null): void {
    this.#takeText = take;
  }

  /** Reads a chunk of {@link decodeXml}. @throws {ReportError}, and what the handler throws */
  write(chunk: string): void {
    if (chunk === "") return;
    this.input.append(chunk);
    this.#ampersand = this.#special = -1;
    if (this.input.text.length >= this.#wantedLength) this.#readAll();
  }

  /** Ends the document. @throws {ReportError} `malformed` when it is not complete */
  end(): void {
    this.#readAll();
    if (!this.#section && this.input.text.startsWith("&")) {
      this.input.failOnReference(this.input.text, 0);
    }
    const position = this.input.positionOf(this.input.text.length);
    const innermost = this.#open.at(-1);
    if (innermost !== undefined) {
      const end = `</${shorten(innermost)}>`;
      const found = `the end of the file inside <${shorten(innermost)}>`;
      this.input.fail("malformed", found, `${end}: the file seems to be cut off`, position);
    }
    if (this.#section || this.input.text !== "") {
      const found = "the end of the file inside a tag, a comment or a CDATA section";
      this.input.fail("malformed", found, "its end: the file seems to be cut off", position);
    }
    if (!this.#sawContent) {
      this.input.fail("malformed", "an empty file", "a JUnit report in XML", {
        line: 1,
        column: 1,
      });
    }
    if (!this.#sawRoot) {
      this.input.fail("malformed", "no element", "<testsuites> or <testsuite>", position);
    }
  }

  #readAll(): void {
    while (this.#section ? this.#readSection(this.#section) : this.#readContent());
    const limit = this.#limits.attributeCharacters;
    if (this.input.text.length - this.input.at > limit) {
      this.input.fail("limit", `a tag of more than ${limit} characters`, "fewer");
    }
    this.#elementPosition = this.elementPosition;
    this.#elementAt = -1;
    this.input.discard();
    this.#wantedLength = 2 * this.input.text.length;
  }

  /** Reads text and the markup behind it; false when the rest of it is still to come. */
  #readContent(): boolean {
    const text = this.input.text;
    const found = text.indexOf("<", this.input.at);
    const less = found === -1 ? text.length : found;
    if (this.#open.length === 0) this.#checkOutside(this.input.at, less);
    else this.#readCharacters(this.input.at, less);
    if (found === -1) return false;
    this.input.at = less;
    switch (text.charCodeAt(less + 1)) {
      case SLASH:
        return this.#readEndTag(less);
      case BANG:
        return this.#beginSection(less);
      case QUESTION:
        return this.#beginInstruction(less);
      default:
        return less + 1 < text.length && this.#readTag(less);
    }
  }

  #checkOutside(start: number, end: number): void {
    this.input.at = end;
    NOT_BLANK.lastIndex = start;
    const at = NOT_BLANK.exec(this.input.text)?.index ?? this.input.text.length;
    if (at >= end) {
      this.#sawContent ||= end < this.input.text.length;
      return;
    }
    const found = quote(this.input.text.slice(at, Math.min(end, at + QUOTED_CHARACTERS)));
    const [what, expected] = this.#sawContent
      ? [`text outside of the outermost element: ${found}`, "none"]
      : [found, "a JUnit report in XML, which begins with <"];
    this.input.fail("malformed", what, expected, this.input.positionOf(at));
  }

  /** Reads text, except for a reference at its end that is not complete. */
  #readCharacters(start: number, less: number): void {
    const text = this.input.text;
    if (this.#ampersand < start) this.#ampersand = indexOrEnd(text, "&", start);
    let end = less;
    if (this.#ampersand < less && less === text.length) {
      const last = text.lastIndexOf("&");
      if (text.indexOf(";", last) === -1) end = last;
      if (less - end > this.#limits.markupNameCharacters) {
        this.input.failOnReference(text.slice(last), last);
      }
    }
    // References are checked in text that is skipped, too.
    const isPlain = this.#ampersand >= end;
    if (end > start && (this.#takeText !== null || !isPlain)) {
      const decoded = isPlain
        ? lineFeeds(text.slice(start, end))
        : this.input.decode(start, end, TEXT_SPECIAL, "\n");
      this.#takeText?.(this.input.withoutUndecodable(decoded));
    }
    this.input.at = end;
  }

  /** Reads a start tag; false when the rest of it is still to come. */
  #readTag(less: number): boolean {
    const text = this.input.text;
    let at = endOfName(text, less + 1);
    if (at === less + 1) this.#failOnMarkup('a tag, or "<" to be written as "&lt;"');
    this.#checkName(less + 1, at);
    if (this.#open.length === 0 && this.#sawRoot && at < text.length) {
      this.#failOnMarkup("the end of the file: a report has one outermost element");
    }
    const tagName = this.#names.take(text, less + 1, at);
    const attributes = new Attributes();
    this.undecodableName = undefined;
    for (let count = 0;; count++) {
      let name: string;
      let nameAt = at + 1;
      let delimiter = '"';
      const last = this.#lastAttributes[count];
      if (last !== undefined && text.startsWith(last.start, at)) {
        name = last.name;
        at += last.start.length;
      } else {
        nameAt = afterBlanks(text, at);
        if (nameAt >= text.length) return false;
        const code = text.charCodeAt(nameAt);
        if (code === GREATER) return this.#endTag(less, nameAt + 1, tagName, attributes, false);
        if (code === SLASH) {
          if (nameAt + 1 >= text.length) return false;
          if (text.charCodeAt(nameAt + 1) === GREATER) {
            return this.#endTag(less, nameAt + 2, tagName, attributes, true);
          }
        }
        const nameEnd = endOfName(text, nameAt);
        if (nameEnd === nameAt || nameAt === at) this.#failOnMarkup(ATTRIBUTES, nameAt);
        this.#checkName(nameAt, nameEnd);
        const equals = afterBlanks(text, nameEnd);
        if (equals >= text.length) return false;
        const hasEquals = text.charCodeAt(equals) === EQUALS;
        const opening = hasEquals ? afterBlanks(text, equals + 1) : equals;
        if (opening >= text.length) return false;
        delimiter = text.charAt(opening);
        if (!hasEquals || (delimiter !== '"' && delimiter !== "'")) {
          const expected = 'an attribute with a value in quotes, such as name="value"';
          this.#failOnMarkup(expected, nameAt);
        }
        name = this.#names.take(text, nameAt, nameEnd);
        this.#lastAttributes[count] = { name, start: ` ${name}="` };
        at = opening + 1;
      }
      if (count >= this.#limits.attributeCount) {
        const found = `more than ${this.#limits.attributeCount} attributes of one element`;
        this.input.fail("limit", found, "fewer");
      }
      if (attributes[name] !== undefined) {
        const found = `the attribute ${shorten(name)} twice in <${shorten(tagName)}>`;
        this.input.fail("malformed", found, "it once", this.input.positionOf(nameAt));
      }
      const end = text.indexOf(delimiter, at);
      if (end === -1) {
        this.#checkLength(name, text.slice(at), at, this.#limits.attributeCharacters);
        return false;
      }
      attributes[name] = this.#readValue(name, at, end);
      at = end + 1;
    }
  }

  #readValue(name: string, start: number, end: number): string {
    let value: string;
    if (this.#special < start) this.#special = this.#nextSpecial(start);
    if (this.#special >= end) {
      value = this.input.text.slice(start, end);
    } else {
      const less = this.input.text.indexOf("<", start);
      if (less !== -1 && less < end) {
        const found = `"<" in the value of the attribute ${shorten(name)}`;
        const expected = 'its closing quote, or "<" to be written as "&lt;"';
        this.input.fail("malformed", found, expected, this.input.positionOf(less));
      }
      value = this.input.decode(start, end, VALUE_SPECIAL, " ");
    }
    const { nameCharacters, attributeCharacters } = this.#limits;
    const isName = this.#nameAttributes.has(name);
    this.#checkLength(name, value, start, isName ? nameCharacters : attributeCharacters);
    if (isName && this.input.isUndecodable(value)) this.undecodableName = name;
    return this.input.withoutUndecodable(value);
  }

  #nextSpecial(start: number): number {
    SPECIAL.lastIndex = start;
    return SPECIAL.test(this.input.text) ? SPECIAL.lastIndex - 1 : this.input.text.length;
  }

  #checkLength(name: string, value: string, at: number, limit: number): void {
    if (value.length <= limit) return;
    const found = `the attribute ${shorten(name)}=${quote(value)}`;
    this.input.fail("limit", found, `at most ${limit} characters`, this.input.positionOf(at));
  }

  #endTag(
    less: number,
    end: number,
    name: string,
    attributes: Attributes,
    isEmpty: boolean,
  ): boolean {
    if (this.#open.length >= this.#limits.elementDepth) {
      this.input.fail(
        "limit",
        `elements nested more than ${this.#limits.elementDepth} deep`,
        "fewer",
      );
    }
    this.#sawRoot = true;
    this.#elementAt = less;
    this.input.at = end;
    this.#open.push(name);
    this.#handler.open(name.slice(name.indexOf(":") + 1), attributes);
    if (isEmpty) {
      this.#open.pop();
      this.#handler.close();
    }
    return true;
  }

  #readEndTag(less: number): boolean {
    const text = this.input.text;
    const name = this.#open.at(-1);
    let end = less + 2 + (name?.length ?? 0);
    const isName = name !== undefined && text.startsWith(name, less + 2);
    if (!isName || text.charCodeAt(end) !== GREATER) {
      const nameEnd = endOfName(text, less + 2);
      this.#checkName(less + 2, nameEnd);
      const isWhole = isName && nameEnd === end;
      end = afterBlanks(text, nameEnd);
      if (end >= text.length) return false;
      if (!isWhole || text.charCodeAt(end) !== GREATER) {
        this.#failOnMarkup(name === undefined ? "the end of the file" : `</${shorten(name)}>`);
      }
    }
    this.#open.pop();
    this.input.at = end + 1;
    this.#handler.close();
    return true;
  }

  #beginSection(less: number): boolean {
    const text = this.input.text;
    const start = SECTION_STARTS.find((each) => text.startsWith(each, less));
    const rest = text.slice(less, less + "<![CDATA[".length);
    if (start === undefined && SECTION_STARTS.some((each) => each.startsWith(rest))) return false;
    if (start === "<!--") {
      this.#section = COMMENT;
    } else if (start === "<![CDATA[" && this.#open.length > 0) {
      this.#section = CDATA;
    } else if (start === "<!DOCTYPE" && !this.#sawRoot && !this.#sawDoctype) {
      return this.#skipDoctype(less);
    } else {
      const expected = "a comment, a CDATA section inside an element, or one DOCTYPE before the " +
        "first element";
      this.#failOnMarkup(expected);
    }
    this.input.at = less + start.length;
    return true;
  }

  // Its declarations are never used.
  #skipDoctype(less: number): boolean {
    DOCTYPE.lastIndex = less;
    const isComplete = DOCTYPE.test(this.input.text.slice(0, less + DOCTYPE_CHARACTERS));
    if (isComplete) this.input.at = DOCTYPE.lastIndex;
    else if (this.input.text.length - less > DOCTYPE_CHARACTERS) {
      this.input.fail("limit", `a DOCTYPE of more than ${DOCTYPE_CHARACTERS} characters`, "fewer");
    }
    this.#sawDoctype = isComplete;
    return isComplete;
  }

  #beginInstruction(less: number): boolean {
    const text = this.input.text;
    const end = endOfName(text, less + 2);
    this.#checkName(less + 2, end);
    if (end >= text.length) return false;
    if (text.slice(less + 2, end).toLowerCase() === "xml") return this.#readDeclaration(less, end);
    if (end === less + 2 || !/[?\s]/.test(text.charAt(end))) {
      this.#failOnMarkup("a processing instruction such as <?name text?>");
    }
    this.#section = INSTRUCTION;
    this.input.at = end;
    return true;
  }

  #readDeclaration(less: number, start: number): boolean {
    const text = this.input.text;
    const end = text.indexOf("?>", start);
    const limit = this.#limits.markupNameCharacters;
    if ((end === -1 ? text.length : end) - start > limit) {
      this.input.fail("limit", `an XML declaration of more than ${limit} characters`, "fewer");
    }
    if (end === -1) return false;
    const isValid = !this.#sawRoot && text.startsWith("<?xml", less) &&
      DECLARATION_BODY.test(text.slice(start, end));
    if (!isValid) {
      this.#failOnMarkup('an XML declaration such as <?xml version="1.0" encoding="UTF-8"?>');
    }
    this.input.at = end + 2;
    return true;
  }

  #readSection({ terminator, isText }: Section): boolean {
    const text = this.input.text;
    const found = text.indexOf(terminator, this.input.at);
    // The end of the chunk may split the terminator.
    const end = found === -1 ? Math.max(this.input.at, text.length - terminator.length + 1) : found;
    if (isText && this.#takeText !== null && end > this.input.at) {
      this.#takeText(this.input.withoutUndecodable(lineFeeds(text.slice(this.input.at, end))));
    }
    this.input.at = end;
    if (found === -1) return false;
    this.input.at = found + terminator.length;
    this.#section = null;
    return true;
  }

  #checkName(start: number, end: number): void {
    const { markupNameCharacters } = this.#limits;
    if (end - start <= markupNameCharacters) return;
    const found = `the name ${quote(this.input.text.slice(start, end))}`;
    const expected = `an XML name of at most ${markupNameCharacters} characters`;
    this.input.fail("limit", found, expected, this.input.positionOf(start));
  }

  /** Refuses the markup that begins at the current position. */
  #failOnMarkup(expected: string, errorAt: number = this.input.at): never {
    const markup = this.input.text.slice(this.input.at, errorAt + QUOTED_CHARACTERS);
    this.input.fail("malformed", shorten(markup), expected, this.input.positionOf(errorAt));
  }
}

function indexOrEnd(text: string, character: string, start: number): number {
  const found = text.indexOf(character, start);
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

function lineFeeds(text: string): string {
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}
