/**
 * Small parsers that return every end that a match can have, instead of one expression: the slowest and
 * most obvious way.
 */

/** The ends of all matches that begin at a place, the preferred one first. */
export type Parser = (text: string, at: number) => number[];

export const isDigit = (character: string) => character >= "0" && character <= "9";
export const isLetter = (character: string) => /^[A-Za-z]$/.test(character);
export const isHex = (character: string) => /^[0-9A-Fa-f]$/.test(character);
export const isWord = (character: string) =>
  isDigit(character) || isLetter(character) || character === "_";
export const isBlank = (character: string) => character !== "" && character.trim() === "";

/** A character. */
export const one = (is: (character: string) => boolean): Parser => (text, at) =>
  at < text.length && is(text[at]!) ? [at + 1] : [];
/** A character. */
export const oneOf = (characters: string) => one((character) => characters.includes(character));

export const word = (written: string): Parser => (text, at) =>
  text.slice(at, at + written.length).toLowerCase() === written.toLowerCase()
    ? [at + written.length]
    : [];
export const words = (list: string) => either(...list.split(" ").map(word));

export const sequence = (...parsers: Parser[]): Parser => (text, at) =>
  parsers.reduce((ends, parser) => distinct(ends.flatMap((end) => parser(text, end))), [at]);
export const either = (...parsers: Parser[]): Parser => (text, at) =>
  distinct(parsers.flatMap((parser) => parser(text, at)));
export const maybe = (parser: Parser): Parser => (text, at) => distinct([...parser(text, at), at]);

/** Greedy: more repetitions are preferred. */
export const repeat = (parser: Parser, from: number, to = Infinity): Parser => (text, at) => {
  const more = to === 0 ? [] : parser(text, at).filter((end) => end > at)
    .flatMap((end) => repeat(parser, Math.max(0, from - 1), to - 1)(text, end));
  return distinct(from > 0 ? more : [...more, at]);
};

export const followedBy = (parser: Parser): Parser => (text, at) =>
  parser(text, at).length > 0 ? [at] : [];
export const notBefore = (parser: Parser): Parser => (text, at) =>
  parser(text, at).length > 0 ? [] : [at];
export const notAfter = (is: (character: string) => boolean): Parser => (text, at) =>
  at > 0 && is(text[at - 1]!) ? [] : [at];
export const after = (is: (character: string) => boolean): Parser => (text, at) =>
  at > 0 && is(text[at - 1]!) ? [at] : [];
/** After a word and its opening parenthesis. */
export const behind = (call: string): Parser => (text, at) => {
  const start = at - call.length;
  const isWhole = start >= 0 && (start === 0 || !isWord(text[start - 1]!));
  return isWhole && text.slice(start, at).toLowerCase() === call ? [at] : [];
};
export const atStart: Parser = (_text, at) => at === 0 ? [at] : [];

function distinct(ends: number[]): number[] {
  return [...new Set(ends)];
}

export const digit = one(isDigit);
export const hex = one(isHex);
export const wordCharacter = one(isWord);
export const digits = (count: number) => repeat(digit, count, count);
export const wordEnd = notBefore(wordCharacter);
export const isAlphanumeric = (character: string) => isDigit(character) || isLetter(character);
export const alphanumericEnd = notBefore(one(isAlphanumeric));
export const slash = oneOf("\\/");

export const hexes = (count: number) => repeat(hex, count, count);
