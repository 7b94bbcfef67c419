/** Characters of a report: where they stand, and those that XML does not allow. */
import type { ReportPosition } from "./report_error.ts";

/** What stands in for a character that cannot be kept. */
export const REPLACEMENT = "\ufffd";

// Everything but what XML 1.0 calls a character. Decoded text has no lone surrogates.
// deno-lint-ignore no-control-regex
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;

/**
 * The text with U+FFFD for each character that XML forbids, how many there are and the index of the
 * first; `null` when there is none, as is almost always so.
 */
export function replaceForbidden(
  text: string,
): { text: string; count: number; first: number } | null {
  const first = text.search(FORBIDDEN);
  if (first === -1) return null;
  let count = 0;
  const replaced = text.replace(FORBIDDEN, () => (count++, REPLACEMENT));
  return { text: replaced, count, first };
}

/**
 * How many lines of a text end before an index, and the column there, counted from 1.
 *
 * @param startColumn how many characters of its line come before the text
 */
export function place(
  text: string,
  index: number,
  startColumn: number,
): { lineCount: number; column: number } {
  const lines = text.slice(0, index).split(/\r\n|[\r\n]/);
  const characters = Array.from(lines.at(-1)!).length;
  const lineCount = lines.length - 1;
  return { lineCount, column: characters + 1 + (lineCount === 0 ? startColumn : 0) };
}

/** True when a position comes before another in the same file. */
export function isBefore(position: ReportPosition, other: ReportPosition): boolean {
  return position.line < other.line ||
    (position.line === other.line && position.column < other.column);
}

/** The text with something else for the single units at these indexes, which are in order. */
export function replaceAt(text: string, indexes: readonly number[], replacement: string): string {
  const parts: string[] = [];
  let end = 0;
  for (const at of indexes) {
    parts.push(text.slice(end, at));
    end = at + 1;
  }
  parts.push(text.slice(end));
  return parts.join(replacement);
}

/** At most so many units of a text, without half a character at the end. */
export function beginningOf(text: string, unitCount: number): string {
  if (text.length <= unitCount) return text;
  const isHalf = /[\ud800-\udbff]/.test(text[unitCount - 1]!);
  return text.slice(0, unitCount - (isHalf ? 1 : 0));
}
