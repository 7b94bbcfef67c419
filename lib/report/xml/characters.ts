/** Characters of a report: where they stand, and those that XML does not allow. */
import type { ReportPosition } from "../report_error.ts";

/** What stands in for a character that cannot be kept. */
export const REPLACEMENT = "\ufffd";

// Everything but what XML 1.0 calls a character. Decoded text has no lone surrogates.
// deno-lint-ignore no-control-regex
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;

/**
 * Stands for lost bytes while the parser has the text. XML allows it, and Unicode promises that it
 * never means anything: where a text has it all the same, it is replaced.
 */
export const LOST = "\u{10ffff}";

/** A text in which something was replaced. */
export interface ReplacedText {
  text: string;
  count: number;
  /** Where in the text that was given the first of them stood. */
  first: number;
}

/**
 * The text with U+FFFD for each character that XML forbids and {@link LOST} for lost bytes; `null`
 * when there is none of both, as is almost always so.
 *
 * @param undecodableAt where lost bytes are, in order
 */
export function replaceForbidden(
  text: string,
  undecodableAt: readonly number[],
): ReplacedText | null {
  const firsts = [text.search(FORBIDDEN), text.indexOf(LOST), undecodableAt[0] ?? -1]
    .filter((at) => at !== -1);
  if (firsts.length === 0) return null;
  let count = undecodableAt.length;
  const replace = () => (count++, REPLACEMENT);
  const parts: string[] = [];
  let end = 0;
  for (const at of [...undecodableAt, text.length]) {
    parts.push(text.slice(end, at).replace(FORBIDDEN, replace).replaceAll(LOST, replace));
    end = at + 1;
  }
  return { text: parts.join(LOST), count, first: Math.min(...firsts) };
}

// First halves of the characters that take two units.
const FIRST_HALF = 0xd800;
const LAST_FIRST_HALF = 0xdbff;

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
  const before = text.slice(0, index);
  let lineCount = 0;
  let lineStart = 0;
  if (before.includes("\r")) {
    for (const { index, 0: end } of before.matchAll(/\r\n|[\r\n]/g)) {
      lineCount++;
      lineStart = index + end.length;
    }
  } else {
    for (let end = before.indexOf("\n"); end !== -1; end = before.indexOf("\n", lineStart)) {
      lineCount++;
      lineStart = end + 1;
    }
  }
  let characters = 0;
  for (let at = lineStart; at < before.length; at++) {
    const code = before.charCodeAt(at);
    if (code < FIRST_HALF || code > LAST_FIRST_HALF) characters++;
  }
  return { lineCount, column: characters + 1 + (lineCount === 0 ? startColumn : 0) };
}

/** True when a position comes before another in the same file. */
export function isBefore(position: ReportPosition, other: ReportPosition): boolean {
  return position.line < other.line ||
    (position.line === other.line && position.column < other.column);
}

/** At most so many units of a text, without half a character at the end. */
export function beginningOf(text: string, unitCount: number): string {
  if (text.length <= unitCount) return text;
  const isHalf = /[\ud800-\udbff]/.test(text[unitCount - 1]!);
  return text.slice(0, unitCount - (isHalf ? 1 : 0));
}

/**
 * A copy of a string with memory of its own. What the parser hands out are slices of the text that
 * it was given, and one short name that somebody keeps would keep 64 KiB of report alive.
 */
export function detach(text: string): string {
  return ` ${text}`.slice(1);
}
