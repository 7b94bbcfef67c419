// In code points, so that no character is cut in half.
const MESSAGE_CHARACTERS = 1_000;

// Line breaks in editors and terminals.
const LINE_END = /[\n\r\u0085\u2028\u2029]/;

/** The first line of a text that is not blank, trimmed and cut to 1,000 characters. */
export function firstLine(text: string): string {
  const start = text.search(/[^\s\u0085]/);
  if (start === -1) return "";
  // A character takes up to two units of a JavaScript string.
  const [line = ""] = text.slice(start, start + 2 * MESSAGE_CHARACTERS).split(LINE_END, 1);
  return firstCharacters(line.trimEnd(), MESSAGE_CHARACTERS).trimEnd();
}

/** The first code points of a text. */
export function firstCharacters(text: string, count: number): string {
  if (text.length <= count) return text;
  return Array.from(text.slice(0, 2 * count)).slice(0, count).join("");
}
