/**
 * Cursors: where the next page of a list begins. They are opaque to a client, which passes them
 * back as it got them.
 */
import { quote } from "./quote.ts";

/** What an offset may be at most: more than any list holds, and exact in every number format. */
export const MAX_OFFSET = 2_147_483_647;

/** Writes the place after a submission, given as 24 hex digits. */
export function encodeKeysetCursor(submissionId: string): string {
  return btoa(`id:${submissionId}`);
}

/** Writes the place behind that many items. */
export function encodeOffsetCursor(offset: number): string {
  return btoa(`offset:${offset}`);
}

/**
 * The submission id, in lower case, that a page continues after. It need not exist: a cursor is a
 * position.
 *
 * @throws {SyntaxError} when the text is no cursor of this kind
 */
export function decodeKeysetCursor(cursor: string): string {
  const match = /^id:([0-9a-f]{24})$/i.exec(decodeBase64(cursor));
  if (!match?.[1]) throw wrongCursor(cursor);
  return match[1].toLowerCase();
}

/**
 * How many items come before a page.
 *
 * @throws {SyntaxError} when the text is no cursor of this kind
 * @throws {RangeError} when the offset is above {@linkcode MAX_OFFSET}
 */
export function decodeOffsetCursor(cursor: string): number {
  const match = /^offset:(\d+)$/.exec(decodeBase64(cursor));
  if (!match) throw wrongCursor(cursor);
  const offset = Number(match[1]);
  if (offset > MAX_OFFSET) {
    throw new RangeError(
      `${quote(cursor)} leads too far: expected an offset of at most ${MAX_OFFSET}`,
    );
  }
  return offset;
}

/** Reads standard and URL-safe base64, with and without padding, as bytes written as characters. */
function decodeBase64(text: string): string {
  const digits = text.replaceAll("-", "+").replaceAll("_", "/");
  // Without this check atob would also take white space inside.
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(digits)) throw wrongCursor(text);
  try {
    return atob(digits);
  } catch {
    throw wrongCursor(text);
  }
}

function wrongCursor(cursor: string): SyntaxError {
  return new SyntaxError(
    `${quote(cursor)} is no cursor of this list: expected metadata.after of one of its pages`,
  );
}
