/** The text of a failure: its message and stack trace as the report has them. */
import { firstCharacters, firstLine } from "./message.ts";

// In code points, the line about the rest included.
const BODY_CHARACTERS = 16_384;
const REST_LINE_CHARACTERS = 64;
// Terminal escapes are removed later, and a character takes up to two units of a JavaScript string.
const KEPT_UNITS = 4 * BODY_CHARACTERS;
const INDENT_UNITS = 200;

// Escape sequences of terminals. The XML reader replaces ESC by U+FFFD, pytest writes it as "#x1B".
// Bounded, so that the time stays linear.
const TERMINAL_ESCAPE = new RegExp(
  [
    // deno-lint-ignore no-control-regex
    /(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]/,
    /(?:\ufffd|#x1B)\[(?:[0-9;:?]{1,64}[A-Za-z]|[mKHJ])/,
    // Hyperlinks and window titles.
    // deno-lint-ignore no-control-regex
    /[\x1b\ufffd]\][0-9]{1,4};[^\x07\x1b\ufffd\n]{0,2048}(?:\x07|[\x1b\ufffd]\\?)/,
    // deno-lint-ignore no-control-regex
    /\x1b[ -/]{0,8}[0-~]/,
  ].map(({ source }) => source).join("|"),
  "g",
);
const LINE_END = /\r\n?|\x85/g;
// deno-lint-ignore no-control-regex
const CONTROL = /[\x01-\x08\x0b-\x1f\x7f-\x9f]/g;
// Most texts contain none of these.
// deno-lint-ignore no-control-regex
const UNCLEAN = /[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffd]|#x1B/;

/** Collects a text of any size. Of what is beyond its beginning the characters are counted. */
export class FailureText {
  #text = "";
  // White space in front of the first line that is not blank.
  #indent = "";
  #omittedCount = 0;

  /** The first line that is not blank, `""` when there were only blanks. */
  get firstLine(): string {
    return firstLine(this.#text);
  }

  /** Adds the next part of the text. Blank lines at its beginning are left out. */
  add(chunk: string): void {
    let added = chunk;
    if (this.#text === "") {
      added = added.trimStart();
      const blank = chunk.slice(0, chunk.length - added.length);
      const lineEnd = blank.lastIndexOf("\n");
      this.#indent = lineEnd === -1 ? this.#indent + blank : blank.slice(lineEnd + 1);
      this.#indent = this.#indent.slice(0, INDENT_UNITS);
      if (added === "") return;
      added = this.#indent + added;
    }
    const isFull = this.#omittedCount > 0;
    const kept = isFull ? "" : unitsOf(added, KEPT_UNITS - this.#text.length);
    this.#text += kept;
    if (kept.length < added.length) this.#omittedCount += characterCount(added, kept.length);
  }

  /** Adds another text after a separator, unless one of them is empty. */
  join(other: FailureText, separator: string): void {
    if (other.#text === "") return;
    const text = this.#text.trimEnd();
    if (text === "") {
      this.#text = other.#text;
    } else {
      if (this.#omittedCount === 0) this.#text = text;
      this.add(separator + other.#text);
    }
    this.#omittedCount += other.#omittedCount;
  }

  /** True when the other text's lines are among those of this one. White space makes no difference. */
  includes(other: FailureText): boolean {
    const text = clean(this.#text);
    const otherText = clean(other.#text).trim();
    if (text.includes(otherText)) return true;
    const flatText = flat(text);
    let at = 0;
    for (const line of otherText.split("\n")) {
      const found = flatText.indexOf(flat(line), at);
      if (found === -1) return false;
      at = found;
    }
    return true;
  }

  /** At most 16,384 characters; the last line says how many more there were. */
  toString(): string {
    const text = clean(this.#text).trimEnd();
    if (this.#omittedCount === 0 && firstCharacters(text, BODY_CHARACTERS) === text) return text;
    const kept = firstCharacters(text, BODY_CHARACTERS - REST_LINE_CHARACTERS);
    const restCount = this.#omittedCount + characterCount(text, kept.length);
    return `${kept}\n... ${restCount} more characters`;
  }
}

function clean(text: string): string {
  if (!UNCLEAN.test(text)) return text;
  return text.replace(TERMINAL_ESCAPE, "").replace(LINE_END, "\n").replace(CONTROL, "")
    .replaceAll("\0", "\ufffd").toWellFormed();
}

function flat(text: string): string {
  return text.replace(/\s{2,}|[^\S ]/g, " ").trim();
}

/** The beginning of a text, without half of a surrogate pair at its end. */
function unitsOf(text: string, count: number): string {
  return text.slice(0, isLowSurrogate(text, count) ? Math.max(0, count - 1) : count);
}

function characterCount(text: string, start: number): number {
  let count = 0;
  for (let at = start; at < text.length; at++) if (!isLowSurrogate(text, at)) count++;
  return count;
}

function isLowSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}
