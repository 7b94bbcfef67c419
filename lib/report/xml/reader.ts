/**
 * A streaming XML reader for hostile input: what nobody asked for is dropped as it comes, whatever
 * its size, and everything else has a limit. No entity but the five of XML itself is ever expanded,
 * and nothing is ever fetched.
 */
import { SaxesParser } from "saxes";
import { beginningOf, isBefore, LOST, place, replaceForbidden, REPLACEMENT } from "./characters.ts";
import type { DecodedPiece } from "./decode.ts";
import type { ReportLimits } from "../limits.ts";
import { PlainMarkup } from "./plain_markup.ts";
import {
  quote,
  ReportError,
  type ReportErrorKind,
  type ReportPosition,
  shorten,
} from "../report_error.ts";
import { PARSER_STATE, parserInternals, type SaxesInternals } from "./saxes_internals.ts";
import { explain, isHarmless } from "./error.ts";
import type { XmlHandler } from "./handler.ts";

/** Settings of an {@link XmlReader}. */
export interface XmlReaderOptions {
  /** What errors call the document. */
  file: string;
  limits: ReportLimits;
  handler: XmlHandler;
  /**
   * Attributes that are names: never cut, and refused when they are too long. Values of others that
   * are very long lose their ends.
   */
  nameAttributes: ReadonlySet<string>;
}

// What is kept of an attribute that is no name: many times what anything made of it can hold.
const KEPT_ATTRIBUTE_CHARACTERS = 64 * 1024;

// An element with more is left to the parser, for which all before were read in vain.
const MAX_PLAIN_ATTRIBUTES = 64;

const NOT_BLANK = /\S/;

/** Takes a document's text in pieces and tells a handler what is in it. */
export class XmlReader {
  /** How many characters were replaced by U+FFFD. */
  replacementCount = 0;
  /** Where the first of them stood. */
  firstReplacement: ReportPosition | undefined;
  /** Attributes of the innermost element whose values have lost bytes that cannot be decoded. */
  readonly undecodableAttributes: Set<string> = new Set();

  readonly #options: XmlReaderOptions;
  readonly #parser: SaxesParser<{ xmlns: false }>;
  readonly #internals: SaxesInternals;
  readonly #plain: PlainMarkup;
  #attributeCount = 0;
  #droppedCharacters = 0;
  #sawRoot = false;
  #sawStart = false;
  #sawLost = false;
  // How many characters of its first line come before the piece that is being read.
  #pieceColumn = 0;
  #takeText: ((piece: string) => void) | null = null;

  constructor(options: XmlReaderOptions) {
    this.#options = options;
    // The version only matters for control characters, and those are replaced in either.
    this.#parser = new SaxesParser({
      xmlns: false,
      defaultXMLVersion: "1.0",
      forceXMLVersion: true,
    });
    this.#internals = parserInternals(this.#parser);
    this.#internals.parseEntity = (entity) => this.#resolveEntity(entity);
    this.#internals.errorHandler = (error) => this.#parserError(error.message);
    this.#internals.openTagStartHandler = (tag) => this.#openTagStart(tag.name);
    this.#internals.attributeHandler = (attribute) => this.#attribute(attribute);
    this.#internals.openTagHandler = (tag) => this.#openTag(tag.name, tag.attributes);
    this.#internals.closeTagHandler = () => options.handler.close();
    this.#internals.xmldeclHandler = ({ encoding = "" }) => this.#checkName(encoding);
    this.#internals.piHandler = ({ target }) => this.#checkName(target);
    this.#internals.textHandler = undefined;
    this.#internals.cdataHandler = undefined;
    const { limits, handler } = options;
    this.#plain = new PlainMarkup(this.#internals, {
      handler,
      limits: {
        depth: limits.elementDepth,
        attributeCount: Math.min(limits.attributeCount, MAX_PLAIN_ATTRIBUTES),
        valueCharacters: Math.min(
          limits.nameCharacters,
          limits.attributeCharacters,
          KEPT_ATTRIBUTE_CHARACTERS,
        ),
        nameCharacters: limits.markupNameCharacters,
      },
    });
  }

  /** Where the innermost element that is open begins. */
  get elementPosition(): ReportPosition {
    return this.#plain.elementPosition;
  }

  /**
   * From here on, text directly inside elements goes to `take`, in pieces of any size, until this is
   * called again; `null` drops it.
   */
  readText(take: ((piece: string) => void) | null): void {
    this.#takeText = take && ((piece) => take(this.#readable(piece)));
    // Without a handler the parser does not even collect the text.
    this.#internals.textHandler = this.#takeText ?? undefined;
    this.#internals.cdataHandler = this.#takeText ?? undefined;
  }

  /**
   * Reads on.
   *
   * @throws {ReportError} `malformed` or `limit`, and whatever the handler throws
   */
  write(piece: DecodedPiece): void {
    let { text } = piece;
    if (text === "") return;
    this.#pieceColumn = this.#parser.column;
    if (!this.#sawStart) this.#checkStart(text);
    const replaced = replaceForbidden(text, piece.undecodableAt);
    if (replaced) {
      this.#countReplacements(text, replaced.first, replaced.count);
      this.#sawLost ||= piece.undecodableAt.length > 0;
      text = replaced.text;
    }
    // Whose values have lost bytes is found out attribute by attribute.
    this.#plain.isOn &&= !this.#sawLost;
    this.#plain.beginPiece();
    this.#parser.write(text);
    this.#dropWhatNobodyReads();
  }

  /**
   * The document ends here.
   *
   * @throws {ReportError} `malformed` when it does not end properly
   */
  end(): void {
    if (!this.#sawStart) {
      this.fail("malformed", "an empty file", "a JUnit report in XML", { line: 1, column: 1 });
    }
    if (this.#internals.state === PARSER_STATE.entity) {
      this.#failOnEntity(this.#internals.entity);
    }
    this.#parser.close();
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
    position: ReportPosition = this.#position(),
  ): never {
    const problem = this.#readable(`found ${found}, expected ${expected}`);
    throw new ReportError({ file: this.#options.file, kind, problem, position });
  }

  // The parser's column is the number of characters read of the line, so that of the last of them.
  #position(): ReportPosition {
    this.#plain.settle();
    return { line: this.#parser.line, column: Math.max(this.#parser.column, 1) };
  }

  // Of something in the piece that is being read; its beginning, when it began before that.
  #positionOf(index: number): ReportPosition {
    const { chunk, i } = this.#internals;
    const { column, lineCount } = place(chunk, Math.max(index, 0), this.#pieceColumn);
    const { lineCount: readLineCount } = place(chunk, i, 0);
    return { line: this.#parser.line - readLineCount + lineCount, column };
  }

  // A file that is no XML at all gets a message of its own, before the parser stumbles over it.
  #checkStart(text: string): void {
    const at = text.search(NOT_BLANK);
    if (at === -1) return;
    this.#sawStart = true;
    if (text[at] === "<") return;
    const { column, lineCount } = place(text, at, this.#pieceColumn);
    this.fail("malformed", quote(text.slice(at)), "a JUnit report in XML, which begins with <", {
      line: this.#parser.line + lineCount,
      column,
    });
  }

  // Before the parser gets the piece.
  #countReplacements(text: string, first: number, count: number): void {
    const { column, lineCount } = place(text, first, this.#pieceColumn);
    this.#noteReplacements(count, { line: this.#parser.line + lineCount, column });
  }

  #noteReplacements(count: number, position: ReportPosition): void {
    this.replacementCount += count;
    const first = this.firstReplacement;
    if (!first || isBefore(position, first)) this.firstReplacement = position;
  }

  #resolveEntity(entity: string): string {
    const predefined = this.#parser.ENTITIES[entity];
    if (predefined !== undefined) return predefined;
    const reference = /^#(?:x([0-9a-f]+)|([0-9]+))$/i.exec(entity);
    if (reference) {
      const code = reference[1] ? parseInt(reference[1], 16) : parseInt(reference[2]!, 10);
      if (this.#internals.isChar(code) && code !== LOST.codePointAt(0)) {
        return String.fromCodePoint(code);
      }
      // Tools write control characters of captured output like this, though XML forbids it.
      const first = this.firstReplacement;
      // Finding out where exactly takes a look at the whole piece: not a million times.
      if (first && !isBefore(this.#position(), first)) this.replacementCount++;
      else this.#noteReplacements(1, this.#positionOf(this.#internals.i - entity.length - 2));
      return REPLACEMENT;
    }
    return this.#failOnEntity(`${entity};`, this.#internals.i);
  }

  #failOnEntity(text: string, end = this.#internals.chunk.length): never {
    const isName = /^[^\s&<>]+;$/.test(text);
    this.fail(
      "malformed",
      quote(`&${text}`),
      isName
        ? "only &lt; &gt; &amp; &quot; &apos; and references by number: others are not expanded"
        : '"&" to be written as "&amp;"',
      this.#positionOf(end - text.length - 1),
    );
  }

  #parserError(message: string): void {
    if (isHarmless(message, this.#sawRoot)) return;
    const { chunk, i, tag } = this.#internals;
    const { found, expected, offset } = explain(message, {
      source: chunk.slice(0, i),
      tag: tag?.name ?? "",
      attribute: this.#internals.name,
    });
    const position = offset === undefined ? this.#position() : this.#positionOf(offset);
    this.fail("malformed", found, expected, position);
  }

  #openTagStart(name: string): void {
    this.#sawRoot = true;
    this.#attributeCount = 0;
    if (this.#sawLost) this.undecodableAttributes.clear();
    // The parser has read the name and one character behind it.
    const { line, column } = this.#parser;
    const before = name.length + 1;
    if (column > before) {
      this.#plain.elementPosition = { line, column: column - before };
    } else {
      const { chunk, i } = this.#internals;
      const lineEnd = chunk[i - 1] === "\n" && chunk[i - 2] === "\r" ? i - 2 : i - 1;
      this.#plain.elementPosition = this.#positionOf(lineEnd - before);
    }
    this.#checkName(name);
  }

  #attribute(attribute: { name: string; value: string }): void {
    const { limits, nameAttributes } = this.#options;
    if (++this.#attributeCount > limits.attributeCount) {
      this.fail(
        "limit",
        `more than ${limits.attributeCount} attributes of one element`,
        "fewer",
        this.elementPosition,
      );
    }
    this.#checkName(attribute.name);
    this.#checkAttribute(attribute.name, attribute.value);
    // The parser's own list holds this very object.
    if (this.#sawLost && attribute.value.includes(LOST)) {
      this.undecodableAttributes.add(attribute.name);
      attribute.value = this.#readable(attribute.value);
    }
    if (!nameAttributes.has(attribute.name)) {
      attribute.value = beginningOf(attribute.value, KEPT_ATTRIBUTE_CHARACTERS);
    }
    this.#droppedCharacters = 0;
  }

  #openTag(name: string, attributes: Record<string, string>): void {
    const { limits, handler } = this.#options;
    if (this.#internals.tags.length >= limits.elementDepth) {
      this.fail(
        "limit",
        `elements nested more than ${limits.elementDepth} deep`,
        "fewer",
        this.elementPosition,
      );
    }
    handler.open(name.slice(name.lastIndexOf(":") + 1), attributes);
  }

  #checkName(name: string): void {
    const { markupNameCharacters } = this.#options.limits;
    if (name.length <= markupNameCharacters) return;
    this.fail(
      "limit",
      `the name ${quote(name)}`,
      `an XML name of at most ${markupNameCharacters} characters`,
    );
  }

  #checkAttribute(name: string, value: string): void {
    const { limits, nameAttributes } = this.#options;
    const limit = nameAttributes.has(name) ? limits.nameCharacters : limits.attributeCharacters;
    if (value.length + this.#droppedCharacters <= limit) return;
    this.fail(
      "limit",
      `the attribute ${shorten(name)}=${quote(value)}`,
      `at most ${limit} characters`,
    );
  }

  // Between two pieces the parser holds the unfinished beginning of what it is reading, and would
  // hold all of a system-out of 100 MB until it ends.
  #dropWhatNobodyReads(): void {
    const parser = this.#internals;
    this.#checkName(parser.name);
    this.#checkName(parser.piTarget);
    let { state } = parser;
    if (state === PARSER_STATE.entity) {
      if (parser.entity.length > this.#options.limits.markupNameCharacters) {
        this.#failOnEntity(parser.entity);
      }
      state = parser.entityReturnState;
    }
    if (state === PARSER_STATE.attributeValue) {
      this.#shortenAttribute();
      return;
    }
    if (PARSER_STATE.isText(state) && parser.text !== "") this.#takeText?.(parser.text);
    if (!PARSER_STATE.isDeclaration(state)) parser.text = "";
    else this.#checkName(parser.text);
  }

  #shortenAttribute(): void {
    const parser = this.#internals;
    this.#checkAttribute(parser.name, parser.text);
    if (
      parser.text.length <= KEPT_ATTRIBUTE_CHARACTERS ||
      this.#options.nameAttributes.has(parser.name)
    ) return;
    const kept = beginningOf(parser.text, KEPT_ATTRIBUTE_CHARACTERS);
    this.#droppedCharacters += parser.text.length - kept.length;
    parser.text = kept;
  }

  #readable(text: string): string {
    return this.#sawLost ? text.replaceAll(LOST, REPLACEMENT) : text;
  }
}
