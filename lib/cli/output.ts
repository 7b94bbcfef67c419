/** What a command writes to standard output: plain lines, or one JSON value. */

/** A cell of a plain list; `null` comes out empty. */
export type Cell = string | number | null;

/** A tab-separated line. White space that would break it is written as a blank. */
export function plainLine(cells: Cell[]): string {
  return cells.map((cell) => oneLine(String(cell ?? ""))).join("\t");
}

/** The text on one line, control characters written as blanks: safe for a terminal and a log. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ");
}
