/** Cursors of pages: opaque base64, which clients pass back verbatim. */
import { quote } from "./quote.ts";

/** Maximum offset: more than any list holds, and a 32-bit integer. */
export const MAX_OFFSET = 2_147_483_647;

/** Encodes the position after a submission, given as 24 hex digits. */
export function encodeKeysetCursor(submissionId: string): string {
  return btoa(`id:${submissionId}`);
}

/** The position of an attempt among those of a test. */
export interface RunPosition {
  /** 24 hex digits. */
  submissionId: string;
  /** 1 for the first attempt in the submission. */
  runCount: number;
}

/** Encodes the position after an attempt of a test. */
export function encodeRunCursor({ submissionId, runCount }: RunPosition): string {
  return btoa(`run:${submissionId}:${runCount}`);
}

/** Encodes the position after a number of items. */
export function encodeOffsetCursor(offset: number): string {
  return btoa(`offset:${offset}`);
}

/** Decodes the submission id, in lower case, after which a page begins. @throws {SyntaxError} */
export function decodeKeysetCursor(cursor: string): string {
  const [id = ""] = decode(cursor, /^id:([0-9a-f]{24})$/i);
  return id.toLowerCase();
}

/** Decodes the attempt after which a page begins. @throws {SyntaxError | RangeError} */
export function decodeRunCursor(cursor: string): RunPosition {
  const [id = "", count = ""] = decode(cursor, /^run:([0-9a-f]{24}):(\d+)$/i);
  return { submissionId: id.toLowerCase(), runCount: numberIn(count, cursor) };
}

/** Decodes the number of items before a page. @throws {SyntaxError | RangeError} */
export function decodeOffsetCursor(cursor: string): number {
  const [offset = ""] = decode(cursor, /^offset:(\d+)$/);
  return numberIn(offset, cursor);
}

function numberIn(digits: string, cursor: string): number {
  const number = Number(digits);
  if (number <= MAX_OFFSET) return number;
  throw new RangeError(
    `invalid cursor ${quote(cursor)}: expected an offset of at most ${MAX_OFFSET}`,
  );
}

/** Decodes standard and URL-safe base64, with and without padding. Returns the groups of the pattern. */
function decode(cursor: string, pattern: RegExp): string[] {
  const digits = cursor.replaceAll("-", "+").replaceAll("_", "/");
  try {
    // atob alone would accept white space.
    const match = /^[A-Za-z0-9+/]*={0,2}$/.test(digits) && pattern.exec(atob(digits));
    if (match) return match.slice(1);
  } catch {
    // Of a length that base64 never has.
  }
  throw new SyntaxError(
    `invalid cursor ${quote(cursor)}: expected metadata.after of a page of this list`,
  );
}
