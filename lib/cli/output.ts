/** Formatting of plain output. */

/** A cell of a plain list; `null` is printed as an empty cell. */
export type Cell = string | number | null;

/** A tab-separated line; tabs and line ends in cells become spaces. */
export function plainLine(cells: Cell[]): string {
  return cells.map((cell) => oneLine(String(cell ?? ""))).join("\t");
}

/** The text with control characters replaced by spaces: safe for terminals and logs. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ");
}
