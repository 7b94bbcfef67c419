/** Cursors of pages: opaque base64, which clients pass back verbatim. */
import { quote } from "./quote.ts";

/** Maximum offset: more than any list holds, and a 32-bit integer. */
export const MAX_OFFSET = 2_147_483_647;

/** The position of an attempt among the attempts of a test. */
export interface RunPosition {
  /** 24 hex digits. */
  submissionId: string;
  /** 1 for the first attempt in the submission. */
  runCount: number;
}

/** The position after a submission, given as 24 hex digits. */
export function encodeKeysetCursor(submissionId: string): string {
  return btoa(`id:${submissionId}`);
}

/** The position after an attempt of a test. */
export function encodeRunCursor({ submissionId, runCount }: RunPosition): string {
  return btoa(`run:${submissionId}:${runCount}`);
}

/** The position after a number of items. */
export function encodeOffsetCursor(offset: number): string {
  return btoa(`offset:${offset}`);
}

/** @throws {SyntaxError} */
export function decodeKeysetCursor(cursor: string): string {
  return decode(cursor, /^id:(?<id>[0-9a-f]{24})$/i).id;
}

/** @throws {SyntaxError} */
export function decodeRunCursor(cursor: string): RunPosition {
  const { id, number } = decode(cursor, /^run:(?<id>[0-9a-f]{24}):(?<number>\d+)$/i);
  return { submissionId: id, runCount: number };
}

/** @throws {SyntaxError} */
export function decodeOffsetCursor(cursor: string): number {
  return decode(cursor, /^offset:(?<number>\d+)$/).number;
}

/** Decodes standard and URL-safe base64, with and without padding; an id is in lower case. */
function decode(cursor: string, pattern: RegExp): { id: string; number: number } {
  const digits = cursor.replaceAll("-", "+").replaceAll("_", "/");
  try {
    // atob alone would accept white space.
    const match = /^[A-Za-z0-9+/]*={0,2}$/.test(digits) && pattern.exec(atob(digits));
    const { id = "", number = "0" } = match && match.groups || {};
    if (match && Number(number) <= MAX_OFFSET) {
      return { id: id.toLowerCase(), number: Number(number) };
    }
  } catch {
    // It has a length that base64 never has.
  }
  throw new SyntaxError(
    `invalid cursor ${quote(cursor)}: expected metadata.after of a page of this list`,
  );
}
