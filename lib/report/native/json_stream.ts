// Tests: tests/lib/report/archive/contents_test.ts tests/lib/report/native/formats_test.ts
import { REPORT_LIMITS } from "../limits.ts";
import { limitError } from "../report_error.ts";
import { malformed } from "./json_text.ts";

/** An object or array that is open. */
interface Container {
  isArray: boolean;
  /** The name of the member that is read; of an array always `[]`. */
  key: string;
}

const BACKSLASH = 0x5c;
// Where something may begin or end, outside of texts.
const STRUCTURE = /["{}[\],:\n]/g;

/**
 * Finds objects at some paths of a JSON document that may be larger than memory: each is parsed when
 * it is complete. What is elsewhere is checked only as far as its brackets go.
 */
export class JsonStream {
  readonly #file: string;
  readonly #onObject: Readonly<Record<string, (value: unknown, line: number) => void>>;
  readonly #open: Container[] = [];
  #text = "";
  #at = 0;
  #line = 1;
  #sawRoot = false;
  /** Start of a text that is a name or a value, -1 outside of one. */
  #textStart = -1;
  #lastText = "";
  /** Start of an object that is wanted, its depth and line. */
  #wanted: { path: string; start: number; depth: number; line: number } | null = null;

  /** @param onObject by path: `results.tests[]` are the elements of an array */
  constructor(
    file: string,
    onObject: Readonly<Record<string, (value: unknown, line: number) => void>>,
  ) {
    this.#file = file;
    this.#onObject = onObject;
  }

  write(chunk: string): void {
    this.#text += chunk;
    while (this.#textStart >= 0 ? this.#readText() : this.#readStructure());
    this.#discard();
  }

  /** @throws {ReportError} `incomplete` */
  end(): void {
    if (this.#sawRoot && this.#open.length === 0 && this.#textStart < 0) return;
    const expected = "the end of a JSON document";
    throw malformed(this.#file, this.#line, "the end of the file", expected, "incomplete");
  }

  /** Reads to the next bracket, comma, colon or text; false when the chunk has none. */
  #readStructure(): boolean {
    STRUCTURE.lastIndex = this.#at;
    const match = STRUCTURE.exec(this.#text);
    if (!match) {
      this.#at = this.#text.length;
      return false;
    }
    const at = match.index;
    this.#at = at + 1;
    switch (match[0]) {
      case '"':
        this.#textStart = at;
        break;
      case "\n":
        this.#line++;
        break;
      case ":":
        if (!this.#wanted && this.#open.at(-1)?.isArray === false) {
          this.#open.at(-1)!.key = this.#lastText;
        }
        break;
      case "{":
      case "[":
        this.#begin(match[0] === "[", at);
        break;
      case "}":
      case "]":
        this.#finish(match[0] === "]", at);
        break;
    }
    return true;
  }

  /** Reads to the end of a text; false when it is still to come. */
  #readText(): boolean {
    for (;;) {
      const end = this.#text.indexOf('"', this.#at);
      if (end === -1) {
        // A backslash at the end of the chunk escapes what follows: it is read again.
        let last = this.#text.length;
        while (last > this.#at && this.#text.charCodeAt(last - 1) === BACKSLASH) last--;
        this.#at = last;
        return false;
      }
      let backslashes = 0;
      while (this.#text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
      this.#at = end + 1;
      if (backslashes % 2 === 1) continue;
      // Only names of members matter, which are short.
      const isName = !this.#wanted && end - this.#textStart < 100;
      this.#lastText = isName ? this.#text.slice(this.#textStart + 1, end) : "";
      this.#textStart = -1;
      return true;
    }
  }

  #begin(isArray: boolean, at: number): void {
    if (this.#open.length >= REPORT_LIMITS.elementDepth) {
      const limit = REPORT_LIMITS.elementDepth;
      throw limitError(this.#file, `objects nested more than ${limit} deep`);
    }
    if (this.#open.length === 0 && this.#sawRoot) {
      throw malformed(this.#file, this.#line, "a second value", "the end of the file");
    }
    this.#sawRoot = true;
    if (!isArray && !this.#wanted && this.#open.length > 0) {
      const path = this.#open.map(({ key }) => key).join(".").replaceAll(".[]", "[]");
      if (Object.hasOwn(this.#onObject, path)) {
        this.#wanted = { path, start: at, depth: this.#open.length, line: this.#line };
      }
    }
    this.#open.push({ isArray, key: isArray ? "[]" : "" });
  }

  #finish(isArray: boolean, at: number): void {
    const container = this.#open.pop();
    if (container?.isArray !== isArray) {
      throw malformed(this.#file, this.#line, isArray ? "]" : "}", "JSON with matching brackets");
    }
    const wanted = this.#wanted;
    if (!wanted || this.#open.length > wanted.depth) return;
    this.#wanted = null;
    const text = this.#text.slice(wanted.start, at + 1);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw malformed(this.#file, wanted.line, text, "an object in JSON");
    }
    this.#onObject[wanted.path]!(value, wanted.line);
  }

  // Keeps what began and has not ended.
  #discard(): void {
    const starts = [this.#at];
    if (this.#textStart >= 0) starts.push(this.#textStart);
    if (this.#wanted) starts.push(this.#wanted.start);
    const start = Math.min(...starts);
    const limit = REPORT_LIMITS.attributeCharacters;
    if (this.#text.length - start > limit) {
      throw limitError(this.#file, `a value of more than ${limit} characters`);
    }
    this.#text = this.#text.slice(start);
    this.#at -= start;
    if (this.#textStart >= 0) this.#textStart -= start;
    if (this.#wanted) this.#wanted.start -= start;
  }
}
