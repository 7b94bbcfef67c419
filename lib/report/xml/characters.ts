/** Characters of XML: which are allowed, and their line and column. */
import type { ReportPosition } from "../report_error.ts";

/** Replaces a character that cannot be kept. */
export const REPLACEMENT = "\ufffd";

/** Represents bytes that cannot be decoded, between decoder and reader. XML forbids it in a file. */
export const UNDECODABLE = "\uffff";

/** Characters that XML 1.0 does not allow. Decoded text has no unpaired surrogates. */
// deno-lint-ignore no-control-regex
export const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;

/** True for the code points that XML 1.0 calls characters. */
export function isXmlCharacter(code: number): boolean {
  return code >= 0x20
    ? code <= 0xd7ff || (code >= 0xe000 && code <= 0xfffd) || (code >= 0x10000 && code <= 0x10ffff)
    : code === 0x09 || code === 0x0a || code === 0x0d;
}

const HIGH_SURROGATE_FIRST = 0xd800;
const HIGH_SURROGATE_LAST = 0xdbff;

/** The position after a text that starts at a position. A surrogate pair is one character. */
export function positionAfter(text: string, { line, column }: ReportPosition): ReportPosition {
  let lineStart = 0;
  if (text.includes("\r")) {
    for (const { index, 0: end } of text.matchAll(/\r\n|[\r\n]/g)) {
      line++;
      lineStart = index + end.length;
    }
  } else {
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", lineStart)) {
      line++;
      lineStart = end + 1;
    }
  }
  let characters = 0;
  for (let at = lineStart; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < HIGH_SURROGATE_FIRST || code > HIGH_SURROGATE_LAST) characters++;
  }
  return { line, column: characters + (lineStart === 0 ? column : 1) };
}

/** Copies a string. The reader hands out slices of chunks, which they would keep alive. */
export function detach(text: string): string {
  return ` ${text}`.slice(1);
}
