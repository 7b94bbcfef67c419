/** A streaming JSON reader that keeps only the path to the current value. */
import { quote } from "../report_error.ts";
import { Refusal } from "./refusal.ts";

/** Names and indexes from the outermost value to the current one; updated in place. */
export type JsonPath = readonly (string | number)[];

/** A value that is neither object nor array. A string beyond the limit is `undefined`. */
export type JsonScalar = string | number | boolean | null | undefined;

/** Takes the parts of a document in order. All may throw a `Refusal`. */
export interface JsonHandler {
  /** A member of an object begins; the path ends with its name. */
  key(path: JsonPath): void;
  /** A string, number, boolean or null. */
  scalar(path: JsonPath, value: JsonScalar): void;
  /** An object or array is complete. */
  close(path: JsonPath): void;
}

/** The first characters of the tokens that may come next ("a" for a literal), and their name. */
const STATES = {
  value: { tokens: '{["a', expected: "a value" },
  valueOrEnd: { tokens: '{["a]', expected: 'a value or "]"' },
  name: { tokens: '"', expected: "a name in quotation marks" },
  nameOrEnd: { tokens: '"}', expected: 'a name in quotation marks or "}"' },
  colon: { tokens: ":", expected: '":"' },
  afterMember: { tokens: ",}", expected: '"," or the end of the object or array' },
  afterElement: { tokens: ",]", expected: '"," or the end of the object or array' },
  end: { tokens: "", expected: "the end of the file" },
};

const WORDS = new Map<string, JsonScalar>([["null", null], ["true", true], ["false", false]]);

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
  // For each open object the name of its current member, for each open array the current index.
  readonly #path: (string | number)[] = [];
  #state = STATES.value;
  // The chunk, after what the previous one left of an incomplete token.
  #text = "";
  #at = 0;
  // Positions in the whole document.
  #textStart = 0;
  #lineStart = 0;
  /** The beginning of the current string was dropped. */
  #isTooLong = false;

  /** Characters of an incomplete string that were searched for its end. */
  #scanned = 0;

  constructor(handler: JsonHandler, limits: { depth: number; tokenCharacters: number }) {
    this.#handler = handler;
    this.#limits = limits;
  }

  /** In characters, counted from 1. */
  get column(): number {
    return this.#textStart + this.#at - this.#lineStart + 1;
  }

  /** @throws {Refusal} when the text is not JSON, exceeds a limit or is refused by the handler */
  write(chunk: string): void {
    this.#textStart += this.#at;
    this.#text = this.#text.slice(this.#at) + chunk;
    this.#at = 0;
    while (this.#at < this.#text.length && this.#readToken(this.#text.charAt(this.#at)));
  }

  /** @throws {Refusal} when the document is not complete */
  end(): void {
    const rest = this.#text.charAt(this.#at);
    if (rest === '"') {
      throw new Refusal(`found the end of the file inside a string, expected its end`);
    }
    if (rest !== "") this.#literal(this.#text.length);
    if (this.#state !== STATES.end) this.#unexpected("the end of the file");
  }

  /** False when the rest of the token is still to come. */
  #readToken(first: string): boolean {
    switch (first) {
      case "\n":
        this.line++;
        this.#lineStart = this.#textStart + this.#at + 1;
        break;
      case " ":
      case "\t":
      case "\r":
        break;
      case '"':
        this.#expect(first, "a string");
        return this.#readString();
      case "{":
      case "[":
        this.#expect(first);
        this.#open(first === "{");
        break;
      case "}":
      case "]":
        this.#expect(first);
        this.#path.pop();
        this.#endValue();
        this.#handler.close(this.#path);
        break;
      case ",":
        this.#expect(first);
        this.#state = this.#state === STATES.afterMember ? STATES.name : STATES.value;
        break;
      case ":":
        this.#expect(first);
        this.#state = STATES.value;
        break;
      default:
        if (!this.#state.tokens.includes("a")) this.#unexpected(quote(first));
        return this.#readLiteral();
    }
    this.#at++;
    return true;
  }

  #expect(token: string, found?: string): void {
    if (!this.#state.tokens.includes(token)) this.#unexpected(found ?? quote(token));
  }

  #open(isObject: boolean): void {
    this.#beginValue();
    if (this.#path.length >= this.#limits.depth) {
      throw new Refusal(`found values more than ${this.#limits.depth} levels deep`, "limit");
    }
    this.#path.push(isObject ? "" : -1);
    this.#state = isObject ? STATES.nameOrEnd : STATES.valueOrEnd;
  }

  #beginValue(): void {
    const last = this.#path.at(-1);
    if (typeof last === "number") this.#path[this.#path.length - 1] = last + 1;
  }

  #endValue(): void {
    const last = this.#path.at(-1);
    if (last === undefined) this.#state = STATES.end;
    else this.#state = typeof last === "number" ? STATES.afterElement : STATES.afterMember;
  }

  #scalar(value: JsonScalar): void {
    this.#beginValue();
    this.#endValue();
    this.#handler.scalar(this.#path, value);
  }

  #readString(): boolean {
    const text = this.#text;
    const start = this.#at + 1;
    let end = start + this.#scanned;
    let special = "";
    for (; end < text.length; end += 2) {
      STRING_SPECIAL.lastIndex = end;
      end = STRING_SPECIAL.test(text) ? STRING_SPECIAL.lastIndex - 1 : text.length;
      special = text.charAt(end);
      if (special !== "\\") break;
      // The end of the chunk may come between a backslash and what it escapes.
      if (end + 1 === text.length) break;
    }
    const isName = this.#state === STATES.name || this.#state === STATES.nameOrEnd;
    const { tokenCharacters: limit } = this.#limits;
    if (end - start > limit) this.#isTooLong = true;
    if (isName && this.#isTooLong) {
      throw new Refusal(`found a name of more than ${limit} characters, expected fewer`, "limit");
    }
    if (special === "\n") {
      this.#at = end;
      throw new Refusal(`found a line break inside a string, expected "\\n"`);
    }
    if (special !== '"') {
      // Reports embed whole sources; nothing that is used is that long.
      if (this.#isTooLong) {
        this.#text = `"${text.slice(end)}`;
        this.#textStart += end - 1;
        this.#at = 0;
        end = 1;
      }
      this.#scanned = end - this.#at - 1;
      return false;
    }
    this.#scanned = 0;
    this.#at = end + 1;
    const isTooLong = this.#isTooLong;
    this.#isTooLong = false;
    const value = isTooLong ? undefined : unescape(text.slice(start, end));
    if (!isName || value === undefined) {
      this.#scalar(value);
    } else {
      this.#path[this.#path.length - 1] = value;
      this.#state = STATES.colon;
      this.#handler.key(this.#path);
    }
    return true;
  }

  #readLiteral(): boolean {
    LITERAL_END.lastIndex = this.#at;
    const isComplete = LITERAL_END.test(this.#text);
    const end = isComplete ? LITERAL_END.lastIndex - 1 : this.#text.length;
    if (!isComplete && end - this.#at <= LITERAL_CHARACTERS) return false;
    this.#literal(end);
    return true;
  }

  #literal(end: number): void {
    const literal = this.#text.slice(this.#at, end);
    this.#at = end;
    if (literal.length <= LITERAL_CHARACTERS && NUMBER.test(literal)) {
      return this.#scalar(Number(literal));
    }
    const word = WORDS.get(literal);
    if (word === undefined) this.#unexpected(quote(literal));
    this.#scalar(word);
  }

  #unexpected(found: string): never {
    throw new Refusal(`found ${found} in JSON, expected ${this.#state.expected}`);
  }
}

function unescape(text: string): string {
  if (!text.includes("\\")) return text;
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    throw new Refusal(`found ${quote(text)} in JSON, expected a string with valid escapes`);
  }
}
