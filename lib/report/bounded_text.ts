/** The text of a failure: its message and stack trace as the report has them. */

// In code points, so that no character is cut in half. A body's last line about the rest is included.
const MESSAGE_CHARACTERS = 1_000;
const BODY_CHARACTERS = 16_384;
const REST_LINE_CHARACTERS = 64;
// Terminal escapes are removed later, and a character takes up to two units of a JavaScript string.
const KEPT_UNITS = 4 * BODY_CHARACTERS;

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
const BLANK_LINES = /^(?:[^\S\n]*\n)+/;
const LINE_END = /\r\n?|\x85/g;
// deno-lint-ignore no-control-regex
const CONTROL = /[\x01-\x08\x0b-\x1f\x7f-\x9f]/g;
// Most texts contain none of these.
// deno-lint-ignore no-control-regex
const UNCLEAN = /[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffd]|#x1B/;

// Lines of a text that are looked at for its message.
const MESSAGE_LINES = 200;

/** Collects a text of any size: keeps its beginning, and counts the other characters. */
export class BoundedText {
  #text = "";
  #omittedCount = 0;

  /** The first line that says something; `""` without one. */
  message(saysNothing: (line: string) => boolean): string {
    return firstMessage(this.#text, saysNothing);
  }

  add(chunk: string): void {
    const kept = chunk.slice(0, KEPT_UNITS - this.#text.length);
    this.#text += kept;
    if (kept.length < chunk.length) this.#omittedCount += characterCount(chunk.slice(kept.length));
  }

  /** Adds another text after a separator, unless one of them is blank. */
  join(other: BoundedText, separator: string): void {
    if (other.#text.trim() === "") return;
    const text = this.#text.trimEnd();
    if (text === "") {
      this.#text = other.#text;
    } else {
      if (this.#omittedCount === 0) this.#text = text;
      this.add(separator + other.#text.replace(BLANK_LINES, ""));
    }
    this.#omittedCount += other.#omittedCount;
  }

  /** True when this text has all lines of the other one. White space makes no difference. */
  includes(other: BoundedText): boolean {
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

  /** Without blank lines around, at most 16,384 characters; the last line says how many more. */
  toString(): string {
    const text = clean(this.#text).replace(BLANK_LINES, "").trimEnd();
    if (this.#omittedCount === 0 && firstCharacters(text, BODY_CHARACTERS) === text) return text;
    const kept = firstCharacters(text, BODY_CHARACTERS - REST_LINE_CHARACTERS);
    const restCount = this.#omittedCount + characterCount(text.slice(kept.length));
    return `${kept}\n... ${restCount} more characters`;
  }
}

/** Keeps the end of a text of any size. */
export class TextEnd {
  #chunks: string[] = [];
  #length = 0;

  add(chunk: string): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    while (this.#length - this.#chunks[0]!.length >= KEPT_UNITS) {
      this.#length -= this.#chunks.shift()!.length;
    }
  }

  /** Without blank lines around, at most 16,384 characters; the first line says if more precede. */
  toString(): string {
    const text = clean(this.#chunks.join("")).replace(BLANK_LINES, "").trimEnd();
    if (text.length <= BODY_CHARACTERS) return text;
    return `...\n${text.slice(REST_LINE_CHARACTERS - BODY_CHARACTERS)}`.toWellFormed();
  }

  /** The last line that says something; `""` without one. */
  message(saysNothing: (line: string) => boolean): string {
    const lines = this.toString().split("\n").toReversed();
    return firstMessage(lines.join("\n"), saysNothing);
  }
}

// Line breaks in editors and terminals.
const ANY_LINE_END = /[\n\r\u0085\u2028\u2029]/;

/** The first line of a text that says something, trimmed and cut to 1,000 characters. */
export function firstMessage(text: string, saysNothing: (line: string) => boolean): string {
  const cleaned = clean(text);
  // Nearly always the first.
  const first = firstLine(cleaned);
  if (first === "" || !saysNothing(first)) return first;
  for (const line of cleaned.trimStart().split(ANY_LINE_END, MESSAGE_LINES).slice(1)) {
    const message = firstLine(line);
    if (message !== "" && !saysNothing(message)) return message;
  }
  return "";
}

/** The first line of a text that is not blank, trimmed and cut to 1,000 characters. */
export function firstLine(text: string): string {
  const start = text.search(/[^\s\u0085]/);
  if (start === -1) return "";
  // A character takes up to two units of a JavaScript string.
  const [line = ""] = text.slice(start, start + 2 * MESSAGE_CHARACTERS).split(ANY_LINE_END, 1);
  return firstCharacters(line.trimEnd(), MESSAGE_CHARACTERS).trimEnd();
}

function firstCharacters(text: string, count: number): string {
  if (text.length <= count) return text;
  return Array.from(text.slice(0, 2 * count)).slice(0, count).join("");
}

function clean(text: string): string {
  if (!UNCLEAN.test(text)) return text;
  return text.replace(TERMINAL_ESCAPE, "").replace(LINE_END, "\n").replace(CONTROL, "")
    .replaceAll("\0", "\ufffd").toWellFormed();
}

function flat(text: string): string {
  return text.replace(/\s{2,}|[^\S ]/g, " ").trim();
}

// The second half of a surrogate pair does not count.
function characterCount(text: string): number {
  return text.length - (text.match(/[\udc00-\udfff]/g)?.length ?? 0);
}
