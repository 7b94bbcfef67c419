/**
 * What the facts of an upload may be, wherever they come from: options, the environment of a CI job,
 * the metadata of an archive. Each of these throws a SyntaxError or RangeError that quotes the value.
 */

// A clock may be off by a time zone; what is further ahead would stay on top of every list.
const MAX_SECONDS_AHEAD = 24 * 60 * 60;
const MAX_TEXT_CHARACTERS = 2_000;
const MAX_TAG_CHARACTERS = 200;
// Ids begin with four bytes of seconds.
const LAST_RECORDED_AT = 0xffff_ffff;

/** A branch or an address, which may be empty. */
export function readText(text: string): string {
  if (/\p{Cc}/u.test(text)) {
    throw new SyntaxError(`"${text}" has control characters: expected one line of text`);
  }
  if (text.length > MAX_TEXT_CHARACTERS) {
    throw new RangeError(`${text.length} characters: expected at most ${MAX_TEXT_CHARACTERS}`);
  }
  return text.trim();
}

/** True for the id of a commit or tree, whole or abbreviated: 7 to 64 hex digits. */
export function isObjectId(text: string): boolean {
  return /^[0-9a-f]{7,64}$/i.test(text);
}

/** A commit or tree, which need not be an id: archives may name `HEAD` or a branch. */
export function readObjectId(text: string): string {
  if (!/^[^\s\p{Cc}]{1,255}$/u.test(text)) {
    throw new SyntaxError(
      `"${text}" is no object id: expected 1 to 255 characters, no white space`,
    );
  }
  return text;
}

/** The tags of archives: what a tag cannot hold, white space and commas, separates two of them. */
export function splitTags(tags: readonly string[]): string[] {
  return tags.flatMap((tag) => tag.split(/[\s,]+/)).filter((tag) => tag !== "");
}

/** Tags, without empty ones and repetitions. */
export function readTags(list: string[]): string[] {
  const tags = list.map((tag) => tag.trim()).filter((tag) => tag !== "");
  for (const tag of tags) {
    if (/[\s,\p{Cc}]/u.test(tag)) {
      throw new SyntaxError(`"${tag}" is no tag: expected no white space and no comma in it`);
    }
    if (tag.length > MAX_TAG_CHARACTERS) {
      throw new RangeError(`tag "${tag}": expected at most ${MAX_TAG_CHARACTERS} characters`);
    }
  }
  return [...new Set(tags)];
}

/** When the tests ran, in seconds since 1970; whole seconds, as ids begin with them. */
export function readRecordedAt(seconds: number, now: number): number {
  if (!(seconds >= 0 && seconds <= LAST_RECORDED_AT)) {
    throw new RangeError("expected a moment from 1970 to 2106");
  }
  if (seconds > now + MAX_SECONDS_AHEAD) {
    throw new RangeError("expected a moment at most 24 hours ahead of now");
  }
  return seconds;
}
