// In code points, so that no character is cut in half.
const MESSAGE_CHARACTERS = 1_000;
// A character takes up to two units of a JavaScript string.
const MESSAGE_UNITS = 2 * MESSAGE_CHARACTERS;

// What editors and terminals take for the end of a line.
const LINE_END = /[\n\r\u0085\u2028\u2029]/;

/**
 * Collects the first line of a text that is not blank, trimmed and cut to 1,000 characters. What
 * comes after it is not held in memory.
 */
export class FirstLine {
  #line = "";
  #complete = false;

  /** The line so far, `""` when there were only blanks. */
  get line(): string {
    return firstCharacters(this.#line.trimEnd(), MESSAGE_CHARACTERS).trimEnd();
  }

  /** Adds the next part of the text. */
  add(chunk: string): void {
    let rest = chunk;
    while (!this.#complete && rest !== "") {
      if (this.#line === "") rest = rest.replace(/^[\s\u0085]+/, "");
      const end = rest.search(LINE_END);
      const part = end === -1 ? rest : rest.slice(0, end);
      this.#line += part.slice(0, MESSAGE_UNITS - this.#line.length);
      this.#complete = this.#line !== "" && (end !== -1 || this.#line.length >= MESSAGE_UNITS);
      rest = end === -1 ? "" : rest.slice(end + 1);
    }
  }
}

/** The first line of a text that is not blank, trimmed and cut to 1,000 characters. */
export function firstLine(text: string): string {
  const line = new FirstLine();
  line.add(text);
  return line.line;
}

/** The first code points of a text. */
export function firstCharacters(text: string, count: number): string {
  if (text.length <= count) return text;
  return Array.from(text.slice(0, 2 * count)).slice(0, count).join("");
}
