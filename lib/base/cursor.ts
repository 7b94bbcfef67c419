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
  const match = /^id:([0-9a-f]{24})$/i.exec(decodeBase64(cursor));
  if (!match?.[1]) throw wrongCursor(cursor);
  return match[1].toLowerCase();
}

/** Decodes the attempt after which a page begins. @throws {SyntaxError | RangeError} */
export function decodeRunCursor(cursor: string): RunPosition {
  const match = /^run:([0-9a-f]{24}):(\d+)$/i.exec(decodeBase64(cursor));
  if (!match) throw wrongCursor(cursor);
  return { submissionId: match[1]!.toLowerCase(), runCount: numberIn(match[2]!, cursor) };
}

/** Decodes the number of items before a page. @throws {SyntaxError | RangeError} */
export function decodeOffsetCursor(cursor: string): number {
  const match = /^offset:(\d+)$/.exec(decodeBase64(cursor));
  if (!match) throw wrongCursor(cursor);
  return numberIn(match[1]!, cursor);
}

function numberIn(digits: string, cursor: string): number {
  const number = Number(digits);
  if (number > MAX_OFFSET) {
    throw new RangeError(
      `invalid cursor ${quote(cursor)}: expected an offset of at most ${MAX_OFFSET}`,
    );
  }
  return number;
}

/** Decodes standard and URL-safe base64, with and without padding, to one character a byte. */
function decodeBase64(text: string): string {
  const digits = text.replaceAll("-", "+").replaceAll("_", "/");
  // atob alone would accept white space.
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(digits)) throw wrongCursor(text);
  try {
    return atob(digits);
  } catch {
    throw wrongCursor(text);
  }
}

function wrongCursor(cursor: string): SyntaxError {
  return new SyntaxError(
    `invalid cursor ${quote(cursor)}: expected metadata.after of a page of this list`,
  );
}
