/** Values that are made up for one run: ids, random names, hexadecimal numbers. */
import {
  alphanumericEnd,
  digit,
  either,
  followedBy,
  hex,
  hexes,
  isAlphanumeric,
  isDigit,
  isHex,
  isLetter,
  isWord,
  notAfter,
  notBefore,
  one,
  oneOf,
  type Parser,
  repeat,
  sequence,
  word,
} from "./parsers.ts";

export const uuid = sequence(
  hexes(8),
  ...[4, 4, 4, 12].flatMap((count) => [word("-"), hexes(count)]),
  alphanumericEnd,
);

const podCharacter = one((character) =>
  isAlphanumeric(character) && !"aeiouy013".includes(character.toLowerCase())
);
const podSuffix = sequence(
  word("-"),
  followedBy(sequence(repeat(one(isLetter), 0), digit)),
  repeat(podCharacter, 8, 10),
  word("-"),
  repeat(podCharacter, 5, 5),
  notBefore(one((character) => isWord(character) || character === "-")),
);
export const podName = sequence(
  (text, at) => isAlphanumeric(text[at - 1] ?? "") ? [at] : [],
  podSuffix,
);

/** A word in quotes or brackets that has digits on both sides of letters, or is long. */
export const enclosedValue: Parser = (text, at) => {
  if (!"\"'`{[".includes(text[at - 1] ?? " ")) return [];
  let end = at;
  while (end < text.length && (isWord(text[end]!) || ".+=~-".includes(text[end]!))) end++;
  if (!"\"'`}]".includes(text[end] ?? " ")) return [];
  const value = text.slice(at, end);
  if (value.length > 128) return [];
  if (value.length >= 8) {
    for (let first = 0; first < Math.min(100, value.length); first++) {
      let last = first + 1;
      while (last < value.length && isLetter(value[last]!)) last++;
      const letterCount = last - first - 1;
      const isBetween = isDigit(value[first]!) && letterCount >= 1 && letterCount <= 30 &&
        last < value.length && isDigit(value[last]!);
      if (isBetween) return [end];
    }
  }
  for (let suffix = 1; suffix <= 100 && suffix < value.length; suffix++) {
    const name = [...value.slice(0, suffix)];
    const isName = isAlphanumeric(name[0]!) &&
      name.every((one) => isAlphanumeric(one) || ".-".includes(one));
    if (isName && podSuffix(value, suffix).includes(value.length)) return [end];
  }
  const isLong = value.length >= 20 && [...value].every(isAlphanumeric) && [...value].some(isDigit);
  return isLong ? [end] : [];
};

const hexLetter = one((character) => isHex(character) && !isDigit(character));
export const hexadecimal = either(
  sequence(
    notAfter(isAlphanumeric),
    either(
      sequence(word("0x"), repeat(hex, 1)),
      sequence(
        followedBy(sequence(repeat(hexLetter, 0), digit)),
        followedBy(sequence(repeat(digit, 0), hexLetter)),
        repeat(hex, 7),
      ),
    ),
    alphanumericEnd,
  ),
  sequence(
    (text, at) => {
      const before = text[at - 2] ?? "";
      return text[at - 1] === "@" && before !== "" && (isWord(before) || "$;])".includes(before))
        ? [at]
        : [];
    },
    followedBy(sequence(repeat(hexLetter, 0), digit)),
    repeat(hex, 1, 16),
    notBefore(one((character) => isWord(character) || character === ".")),
  ),
);

const letters = repeat(one(isLetter), 1);
const someDigits = repeat(digit, 1);
const notBeforeUuid = notBefore(
  sequence(word("-"), ...[4, 4, 4].flatMap((count) => [hexes(count), word("-")])),
);
export const randomName = either(
  sequence(
    notAfter(isAlphanumeric),
    followedBy(
      sequence(
        repeat(one(isLetter), 0),
        someDigits,
        letters,
        someDigits,
        letters,
        digit,
      ),
    ),
    repeat(one(isAlphanumeric), 6),
    alphanumericEnd,
    notBeforeUuid,
  ),
  sequence(
    notAfter(isAlphanumeric),
    followedBy(sequence(repeat(one(isLetter), 0), someDigits, letters, digit)),
    repeat(one(isAlphanumeric), 20),
    alphanumericEnd,
    notBeforeUuid,
  ),
  sequence(
    (text, at) => text[at - 1] === "-" && isAlphanumeric(text[at - 2] ?? "") ? [at] : [],
    followedBy(sequence(repeat(one(isLetter), 0), digit)),
    followedBy(sequence(repeat(digit, 0), one(isLetter))),
    repeat(podCharacter, 5, 5),
    notBefore(one((character) => isWord(character) || character === "-")),
  ),
);

const exactly = (written: string): Parser => (text, at) =>
  text.startsWith(written, at) ? [at + written.length] : [];
const atEnd: Parser = (text, at) => at === text.length ? [at] : [];
const upper = one((character) => character >= "A" && character <= "Z");
const lower = one((character) => character >= "a" && character <= "z");
const separator = oneOf("._-");
const anywhere = (parser: Parser): Parser => (text, at) =>
  [...text].some((_, start) => parser(text, start).length > 0) ? [at] : [];
const camelCase = sequence(
  anywhere(sequence(lower, repeat(digit, 0, 3), upper, lower)),
  repeat(
    sequence(
      either(
        sequence(upper, repeat(lower, 1)),
        repeat(lower, 2),
        sequence(oneOf("Vv"), followedBy(digit)),
      ),
      repeat(digit, 0, 3),
      either(separator, followedBy(upper), atEnd),
    ),
    1,
  ),
  atEnd,
);
const isConsonant = (character: string) =>
  isLetter(character) && !"aeiouy".includes(character.toLowerCase());
const oneCase = sequence(
  notBefore(anywhere(repeat(one(isConsonant), 5))),
  either(repeat(lower, 1), repeat(upper, 1)),
  repeat(digit, 1, 3),
  atEnd,
);
const apiVersion = sequence(
  repeat(sequence(letters, separator), 0),
  exactly("v"),
  repeat(digit, 1, 2),
  either(exactly("alpha"), exactly("beta")),
  repeat(digit, 1, 2),
  repeat(sequence(separator, letters), 0),
  atEnd,
);

/** Names of source code keep their words. */
export function withoutRandomValue(value: string): string {
  const isName = [camelCase, oneCase, apiVersion].some((parser) => parser(value, 0).length > 0);
  return isName ? value.replaceAll(/\d+/g, "<n>") : "<n>";
}
