/**
 * A streaming XML reader for hostile input. A tag is read when all of it has arrived; text, comments
 * and CDATA sections of any size pass through in chunks. It expands no entities except the five
 * predefined ones, and fetches nothing.
 *
 * More lenient than XML where the meaning is clear: `]]>` in text, `--` in comments, any XML
 * declaration, any character beyond ASCII in a name. Forbidden characters become U+FFFD and are
 * counted.
 */
import { REPORT_LIMITS } from "../limits.ts";
import { excerpt, type ReportPosition, shorten } from "../report_error.ts";
import { REFERENCE_CHARACTERS, XmlInput } from "./input.ts";
import { afterBlanks, readStartTag, type XmlAttributes } from "./start_tag.ts";

/** Called with the elements of a document, in order. */
export interface XmlHandler {
  /** An element begins; `name` is without its namespace prefix. */
  open(name: string, attributes: XmlAttributes): void;
  /** The innermost open element ends. */
  close(name: string): void;
  /** Whether another document may follow in the file, after an XML declaration of its own. */
  takesAnother?(): boolean;
}

/** A part of the document that is passed through up to its terminator. */
interface Section {
  start: string;
  terminator: string;
  isText: boolean;
}

const SECTIONS: readonly Section[] = [
  { start: "<![CDATA[", terminator: "]]>", isText: true },
  { start: "<!--", terminator: "-->", isText: false },
  // The XML declaration as well: the decoder has read it.
  { start: "<?", terminator: "?>", isText: false },
];
const DECLARATION = /<\?xml[ \t\r\n]/y;
const DOCTYPE_START = "<!DOCTYPE";
// With its internal subset, which may contain comments and instructions.
const DOCTYPE =
  /<!DOCTYPE(?:[^"'>[]|"[^"]*"|'[^']*'|\[(?:[^"'<\]]|"[^"]*"|'[^']*'|<!--(?:(?!-->)[^])*-->|<\?(?:(?!\?>)[^])*\?>|<(?!!--|\?))*\])*>/y;
const DOCTYPE_CHARACTERS = 64 * 1024;

const SLASH = 0x2f;
const GREATER = 0x3e;
const BANG = 0x21;
const QUESTION = 0x3f;

const NOT_BLANK = /[^ \t\r\n]/g;

/** Takes the text of a document in chunks and calls a handler for its elements. */
export class XmlReader {
  readonly input: XmlInput;
  /** One of the name attributes of the innermost element that has bytes that cannot be decoded. */
  undecodableName: string | undefined;

  readonly #handler: XmlHandler;
  readonly #open: string[] = [];
  #takeText: ((text: string) => void) | null = null;

  // Waiting for twice as much before a long tag is read once more keeps the time linear.
  #wantedLength = 0;
  #section: Section | null = null;
  #sawContent = false;
  #sawRoot = false;
  #sawDoctype = false;

  // `-1` when the tag of the last element was in an earlier chunk.
  #elementAt = -1;
  #elementPosition: ReportPosition = { line: 1, column: 1 };

  /** @param file path in error messages */
  constructor(file: string, handler: XmlHandler) {
    this.input = new XmlInput(file);
    this.#handler = handler;
  }

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
    if (this.input.text.length >= this.#wantedLength) this.flush();
  }

  /** Ends the document. @throws {ReportError} `incomplete` when it is empty or cut off */
  end(): void {
    this.flush();
    const position = this.input.positionOf(this.input.text.length);
    const innermost = this.#open.at(-1);
    if (innermost !== undefined || this.#section || this.input.text !== "") {
      const inside = innermost === undefined ? "a tag or a comment" : `<${shorten(innermost)}>`;
      const expected = "its end: the file seems to be cut off";
      this.input.fail("incomplete", `the end of the file inside ${inside}`, expected, position);
    }
    if (this.#sawRoot) return;
    const found = this.#sawContent ? "no element" : "an empty file";
    this.input.fail("incomplete", found, "a JUnit report in XML", position);
  }

  /** Reads all that has arrived, except for what needs its rest. @throws as `write` */
  flush(): void {
    while (this.#section ? this.#readSection(this.#section) : this.#readContent());
    const limit = REPORT_LIMITS.attributeCharacters;
    if (this.input.text.length - this.input.at > limit) {
      this.input.fail("too-long", `a tag of more than ${limit} characters`, "fewer");
    }
    this.#elementPosition = this.elementPosition;
    this.#elementAt = -1;
    this.input.discard();
    this.#wantedLength = 2 * this.input.text.length;
  }

  /** Reads text and the markup after it; false when the rest of it is still to come. */
  #readContent(): boolean {
    const text = this.input.text;
    const found = text.indexOf("<", this.input.at);
    const tagStart = found === -1 ? text.length : found;
    if (this.#open.length === 0) this.#checkOutside(this.input.at, tagStart);
    else this.#readCharacters(this.input.at, tagStart);
    if (found === -1) return false;
    this.input.at = tagStart;
    switch (text.charCodeAt(tagStart + 1)) {
      case SLASH:
        return this.#readEndTag(tagStart);
      case BANG:
      case QUESTION:
        return this.#beginSection(tagStart);
      default:
        return tagStart + 1 < text.length && this.#readStartTag(tagStart);
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
    const found = excerpt(this.input.text.slice(at, end));
    const [what, expected] = this.#sawContent
      ? [`text outside of the outermost element: ${found}`, "none"]
      : [found, "a JUnit report in XML, which begins with <"];
    this.input.fail("malformed", what, expected, this.input.positionOf(at));
  }

  /** Reads text, except for a reference at its end that is not complete. */
  #readCharacters(start: number, tagStart: number): void {
    const text = this.input.text;
    let end = tagStart;
    if (tagStart === text.length) {
      const last = text.lastIndexOf("&");
      const isOpen = last >= start && text.indexOf(";", last) === -1;
      if (isOpen && tagStart - last < REFERENCE_CHARACTERS) end = last;
    }
    // References are checked in text that is skipped, too.
    const resolved = this.input.resolve(text.slice(start, end), start);
    this.#takeText?.(this.input.withoutUndecodable(resolved));
    this.input.at = end;
  }

  /** Reads a start tag; false when the rest of it is still to come. */
  #readStartTag(tagStart: number): boolean {
    const tag = readStartTag(this.input);
    if (!tag) return false;
    if (this.#open.length === 0 && this.#sawRoot) {
      this.input.failOnMarkup("the end of the file: a report has one outermost element");
    }
    const { elementDepth } = REPORT_LIMITS;
    if (this.#open.length >= elementDepth) {
      this.input.fail("limit", `elements nested more than ${elementDepth} deep`, "fewer");
    }
    this.#sawRoot = true;
    this.#elementAt = tagStart;
    this.input.at = tag.end;
    this.undecodableName = tag.undecodableName;
    this.#open.push(tag.name);
    this.#handler.open(withoutPrefix(tag.name), tag.attributes);
    if (tag.isEmpty) this.#close();
    return true;
  }

  #close(): void {
    this.#handler.close(withoutPrefix(this.#open.pop()!));
  }

  #readEndTag(tagStart: number): boolean {
    const text = this.input.text;
    const name = this.#open.at(-1);
    let end = tagStart + 2 + (name?.length ?? 0);
    const isName = name !== undefined && text.startsWith(name, tagStart + 2);
    if (!isName || text.charCodeAt(end) !== GREATER) {
      const nameEnd = this.input.endOfName(tagStart + 2);
      const isWhole = isName && nameEnd === end;
      end = afterBlanks(text, nameEnd);
      if (end >= text.length) return false;
      if (!isWhole || text.charCodeAt(end) !== GREATER) {
        this.input.failOnMarkup(name === undefined ? "the end of the file" : `</${shorten(name)}>`);
      }
    }
    this.input.at = end + 1;
    this.#close();
    return true;
  }

  /** Begins a section or skips a DOCTYPE; false when the rest of it is still to come. */
  #beginSection(tagStart: number): boolean {
    const { text } = this.input;
    const isThere = ({ start }: { start: string }) => text.startsWith(start, tagStart);
    if (this.#sawRoot && this.#open.length === 0 && this.#handler.takesAnother?.()) {
      const declaration = "<?xml ";
      const isCut = text.length - tagStart < declaration.length;
      if (isCut && declaration.startsWith(text.slice(tagStart))) return false;
      DECLARATION.lastIndex = tagStart;
      this.#sawRoot = !DECLARATION.test(text);
    }
    const section = SECTIONS.find(isThere);
    if (section && (!section.isText || this.#open.length > 0)) {
      this.#section = section;
      this.input.at = tagStart + section.start.length;
      return true;
    }
    const isDoctype = isThere({ start: DOCTYPE_START });
    if (isDoctype && !this.#sawRoot && !this.#sawDoctype) return this.#skipDoctype(tagStart);
    const rest = text.slice(tagStart, tagStart + DOCTYPE_START.length);
    const isCut = [DOCTYPE_START, ...SECTIONS.map(({ start }) => start)]
      .some((start) => rest.length < start.length && start.startsWith(rest));
    if (isCut) return false;
    this.input.failOnMarkup(
      "a comment, a CDATA section inside an element, or one DOCTYPE before the first element",
    );
  }

  // Its declarations are never used.
  #skipDoctype(tagStart: number): boolean {
    DOCTYPE.lastIndex = tagStart;
    const isComplete = DOCTYPE.test(this.input.text.slice(0, tagStart + DOCTYPE_CHARACTERS));
    if (isComplete) this.input.at = DOCTYPE.lastIndex;
    else if (this.input.text.length - tagStart > DOCTYPE_CHARACTERS) {
      this.input.fail("limit", `a DOCTYPE of more than ${DOCTYPE_CHARACTERS} characters`, "fewer");
    }
    this.#sawDoctype = isComplete;
    return isComplete;
  }

  #readSection({ terminator, isText }: Section): boolean {
    const text = this.input.text;
    const found = text.indexOf(terminator, this.input.at);
    // The end of the chunk may split the terminator.
    const end = found === -1 ? Math.max(this.input.at, text.length - terminator.length + 1) : found;
    if (isText && end > this.input.at) {
      this.#takeText?.(this.input.withoutUndecodable(text.slice(this.input.at, end)));
    }
    this.input.at = end;
    if (found === -1) return false;
    this.input.at = found + terminator.length;
    this.#section = null;
    return true;
  }
}

function withoutPrefix(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}
