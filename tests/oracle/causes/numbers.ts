/** Numbers, sizes, and endings of words that follow numbers. */
import {
  after,
  atStart,
  digit,
  digits,
  either,
  isBlank,
  isDigit,
  isLetter,
  isWord,
  maybe,
  notAfter,
  notBefore,
  oneOf,
  type Parser,
  repeat,
  sequence,
  word,
  wordEnd,
  words,
} from "./parsers.ts";

const thousands = repeat(sequence(word(","), digits(3), notBefore(digit)), 0);
export const exponent = sequence(word("e"), maybe(oneOf("+-")), repeat(digit, 1));
export const amount = sequence(
  repeat(digit, 1),
  thousands,
  maybe(sequence(word("."), repeat(digit, 1))),
);
export const sign = maybe(
  sequence(
    either(
      atStart,
      after((character) => isBlank(character) || "([{<=:,\"'`".includes(character)),
    ),
    oneOf("+-"),
  ),
);
export const number = sequence(
  sign,
  repeat(digit, 1),
  thousands,
  repeat(sequence(word("."), repeat(digit, 1)), 0),
  maybe(
    either(sequence(exponent, wordEnd), sequence(words("st nd rd th"), wordEnd)),
  ),
);

export const size = sequence(
  notAfter(isWord),
  amount,
  maybe(word(" ")),
  words("kib mib gib tib kb mb gb tb bytes byte"),
  wordEnd,
);

/** The ending of a word that follows a number and a space. */
export const plural: Parser = (text, at) => {
  let start = at;
  while (start > 0 && isLetter(text[start - 1]!)) start--;
  if (text[start - 1] !== " ") return [];
  let first = start - 1;
  while (first > 0 && (isWord(text[first - 1]!) || ".,".includes(text[first - 1]!))) first--;
  const count = [...text.slice(first, start - 1)];
  const isCount = count.length >= 1 && count.length <= 6 && isDigit(count[0]!) &&
    isDigit(count.at(-1)!) && count.every((one) => isDigit(one) || ".,".includes(one));
  if (!isCount) return [];
  const stem = text.slice(start, at).toLowerCase();
  const ends = [
    ...["s", "x", "ch", "sh"].some((end) => stem.endsWith(end) && isWithin(stem, end.length))
      ? word("es")(text, at)
      : [],
    ...!stem.endsWith("s") && isWithin(stem, 1) ? word("s")(text, at) : [],
  ];
  return ends.filter((end) => wordEnd(text, end).length > 0);
};

function isWithin(stem: string, endLength: number): boolean {
  const length = stem.length - endLength;
  return length >= 1 && length <= 30;
}
