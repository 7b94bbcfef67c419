/** A streaming JSON reader that keeps nothing but the path to where it stands. */
import { quote } from "../report_error.ts";
import { Refusal } from "./refusal.ts";

/** Names and indexes from the outermost value to the current one; changes as the reading goes on. */
export type JsonPath = readonly (string | number)[];

/** A value that is neither object nor array. A string beyond the limit is `undefined`. */
export type JsonScalar = string | number | boolean | null | undefined;

/** Takes the parts of a document in order. All may throw a `Refusal`. */
export interface JsonHandler {
  /** A member of an object begins; the path ends with its name. */
  key(path: JsonPath): void;
  /** A value without parts. */
  scalar(path: JsonPath, value: JsonScalar): void;
  /** An object or array is complete. */
  close(path: JsonPath): void;
}

/** What may come next, and how a message calls it. */
const EXPECTED = {
  "value": "a value",
  "value or ]": 'a value or "]"',
  "name or }": 'a name in quotation marks or "}"',
  "name": "a name in quotation marks",
  ":": '":"',
  ", or end": '"," or the end of the object or array',
  "end of file": "the end of the file",
};
type Expected = keyof typeof EXPECTED;

const WORDS = new Map<string, JsonScalar>([["null", null], ["true", true], ["false", false]]);

const BLANK = /[ \t\r]/;
const LITERAL_END = /[\s,:\]}[{"]/g;
const STRING_SPECIAL = /["\\\n]/g;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
// More digits than any number needs.
const LITERAL_CHARACTERS = 1_000;

/** Reads one JSON document that comes in chunks. */
export class JsonScanner {
  /** Counted from 1. */
  line = 1;
  readonly #handler: JsonHandler;
  readonly #limits: { depth: number; tokenCharacters: number };
  readonly #path: (string | number)[] = [];
  readonly #closers: ("}" | "]")[] = [];
  #expected: Expected = "value";
  #string: OpenString | undefined;
  #literal = "";
  /** Characters before the current line's first, as a position in the whole document. */
  #lineStart = 0;
  #chunkStart = 0;
  #at = 0;

  constructor(handler: JsonHandler, limits: { depth: number; tokenCharacters: number }) {
    this.#handler = handler;
    this.#limits = limits;
  }

  /** In characters, counted from 1. */
  get column(): number {
    return this.#chunkStart + this.#at - this.#lineStart + 1;
  }

  /** @throws {Refusal} when the text is no JSON, exceeds a limit or is refused by the handler */
  write(chunk: string): void {
    this.#at = 0;
    while (this.#at < chunk.length) {
      if (this.#string) this.#readString(chunk, this.#string);
      else if (this.#literal !== "") this.#readLiteral(chunk);
      else this.#readToken(chunk, chunk.charAt(this.#at));
    }
    this.#chunkStart += chunk.length;
    this.#at = 0;
  }

  /** @throws {Refusal} when the document is not complete */
  end(): void {
    if (this.#literal !== "") this.#endLiteral();
    if (this.#string) {
      throw new Refusal(`found the end of the file inside a string, expected its end`);
    }
    if (this.#expected !== "end of file") this.#unexpected("the end of the file");
  }

  #readToken(chunk: string, character: string): void {
    if (character === "\n") {
      this.#at++;
      this.line++;
      this.#lineStart = this.#chunkStart + this.#at;
    } else if (BLANK.test(character)) {
      this.#at++;
    } else if (character === '"') {
      if (!this.#wantsValue() && !this.#wantsName()) this.#unexpected("a string");
      this.#at++;
      this.#string = { text: "", isTooLong: false, hasEscapes: false, isEscaped: false };
    } else if ("{}[],:".includes(character)) {
      this.#punctuation(character);
      this.#at++;
    } else {
      if (!this.#wantsValue()) this.#unexpected(quote(character));
      this.#readLiteral(chunk);
    }
  }

  #wantsValue(): boolean {
    return this.#expected === "value" || this.#expected === "value or ]";
  }

  #wantsName(): boolean {
    return this.#expected === "name" || this.#expected === "name or }";
  }

  #punctuation(character: string): void {
    const isIn = (closer: string) => this.#closers.at(-1) === closer;
    switch (character) {
      case "{":
      case "[":
        if (!this.#wantsValue()) break;
        return this.#open(character);
      case "}":
        if (this.#expected !== "name or }" && !(this.#expected === ", or end" && isIn("}"))) break;
        return this.#close();
      case "]":
        if (this.#expected !== "value or ]" && !(this.#expected === ", or end" && isIn("]"))) break;
        return this.#close();
      case ",":
        if (this.#expected !== ", or end") break;
        this.#expected = isIn("}") ? "name" : "value";
        return;
      case ":":
        if (this.#expected !== ":") break;
        this.#expected = "value";
        return;
    }
    this.#unexpected(quote(character));
  }

  #open(character: "{" | "["): void {
    this.#beginValue();
    if (this.#closers.length >= this.#limits.depth) {
      throw new Refusal(`found values more than ${this.#limits.depth} levels deep`, "limit");
    }
    this.#closers.push(character === "{" ? "}" : "]");
    // The name of the member or the index of the element that comes next.
    this.#path.push(character === "{" ? "" : -1);
    this.#expected = character === "{" ? "name or }" : "value or ]";
  }

  #close(): void {
    this.#closers.pop();
    this.#path.pop();
    this.#endValue();
    this.#handler.close(this.#path);
  }

  #beginValue(): void {
    const last = this.#path.at(-1);
    if (typeof last === "number") this.#path[this.#path.length - 1] = last + 1;
  }

  #endValue(): void {
    this.#expected = this.#closers.length === 0 ? "end of file" : ", or end";
  }

  #scalar(value: JsonScalar): void {
    this.#beginValue();
    this.#endValue();
    this.#handler.scalar(this.#path, value);
  }

  #readString(chunk: string, string: OpenString): void {
    if (string.isEscaped) {
      // Behind a backslash, also where the chunk ended there.
      string.isEscaped = false;
      this.#append(string, chunk.charAt(this.#at));
      this.#at++;
      return;
    }
    STRING_SPECIAL.lastIndex = this.#at;
    const special = STRING_SPECIAL.exec(chunk);
    const end = special?.index ?? chunk.length;
    this.#append(string, chunk.slice(this.#at, end));
    this.#at = end;
    switch (special?.[0]) {
      case undefined:
        return;
      case "\n":
        throw new Refusal(`found a line break inside a string, expected "\\n"`);
      case "\\":
        this.#append(string, "\\");
        string.hasEscapes = true;
        string.isEscaped = true;
        this.#at++;
        return;
      default:
        this.#at++;
        this.#string = undefined;
        return this.#endString(string);
    }
  }

  #append(string: OpenString, text: string): void {
    if (string.isTooLong) return;
    string.text += text;
    if (string.text.length <= this.#limits.tokenCharacters) return;
    if (this.#wantsName()) {
      const limit = this.#limits.tokenCharacters;
      throw new Refusal(`found a name of more than ${limit} characters, expected fewer`, "limit");
    }
    // Reports embed whole sources; nothing that is read is that long.
    string.isTooLong = true;
    string.text = "";
  }

  #endString(string: OpenString): void {
    if (!this.#wantsName()) return this.#scalar(string.isTooLong ? undefined : unescape(string));
    this.#path[this.#path.length - 1] = unescape(string);
    this.#expected = ":";
    this.#handler.key(this.#path);
  }

  #readLiteral(chunk: string): void {
    LITERAL_END.lastIndex = this.#at;
    const end = LITERAL_END.exec(chunk)?.index ?? chunk.length;
    this.#literal += chunk.slice(this.#at, end);
    this.#at = end;
    if (end < chunk.length || this.#literal.length > LITERAL_CHARACTERS) this.#endLiteral();
  }

  #endLiteral(): void {
    const literal = this.#literal;
    this.#literal = "";
    const word = WORDS.get(literal);
    if (word !== undefined) return this.#scalar(word);
    const isNumber = literal.length <= LITERAL_CHARACTERS && NUMBER.test(literal);
    if (!isNumber) this.#unexpected(quote(literal));
    this.#scalar(Number(literal));
  }

  #unexpected(found: string): never {
    const expected = EXPECTED[this.#expected];
    throw new Refusal(`found ${found} in JSON, expected ${expected}`);
  }
}

interface OpenString {
  /** As written, with escapes. */
  text: string;
  isTooLong: boolean;
  hasEscapes: boolean;
  /** The last character was a backslash that escapes the next. */
  isEscaped: boolean;
}

function unescape({ text, hasEscapes }: OpenString): string {
  if (!hasEscapes) return text;
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    throw new Refusal(`found ${quote(text)} in JSON, expected a string with valid escapes`);
  }
}
