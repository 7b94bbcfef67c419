/** Where something is: addresses and temporary paths. */
import {
  digit,
  either,
  followedBy,
  hex,
  hexes,
  isBlank,
  isDigit,
  isHex,
  isLetter,
  isWord,
  maybe,
  notAfter,
  notBefore,
  one,
  repeat,
  sequence,
  slash,
  word,
  wordEnd,
  words,
} from "./parsers.ts";

const plainFileName = sequence(
  repeat(one((character) => isLetter(character) || "_-".includes(character)), 1),
  repeat(sequence(word("."), repeat(one(isLetter), 1)), 1),
  notBefore(one((character) => isWord(character) || ".\\/-".includes(character))),
);
export const temporaryPath = sequence(
  notAfter((character) => isWord(character) || ".-".includes(character)),
  either(
    sequence(maybe(word("/private")), words("/tmp /var/tmp /var/folders /dev/shm")),
    word("/home/runner/work/_temp"),
    sequence(
      one(isLetter),
      word(":"),
      slash,
      word("users"),
      slash,
      repeat(one((character) => !isBlank(character) && !"\\/".includes(character)), 1, 64),
      slash,
      word("appdata"),
      slash,
      word("local"),
      slash,
      word("temp"),
    ),
    sequence(
      one(isLetter),
      word(":"),
      slash,
      maybe(sequence(word("windows"), slash)),
      word("temp"),
    ),
  ),
  notBefore(one((character) => isWord(character) || ".-".includes(character))),
  repeat(
    sequence(
      slash,
      notBefore(plainFileName),
      repeat(
        one((character) => !isBlank(character) && !"\\/\"'`:;,()<>|*?[]{}".includes(character)),
        1,
      ),
    ),
    0,
  ),
);

const groupEnd = notBefore(one((character) => isWord(character) || character === ":"));
const port = maybe(sequence(word(":"), repeat(digit, 1, 5), wordEnd));
const part = sequence(repeat(digit, 1, 3), word("."));
export const address = either(
  sequence(
    notAfter((character) => isWord(character) || character === "."),
    part,
    part,
    part,
    repeat(digit, 1, 3),
    wordEnd,
    notBefore(sequence(word("."), digit)),
    port,
  ),
  sequence(
    word("["),
    repeat(sequence(repeat(hex, 0, 4), word(":")), 2, 7),
    repeat(either(hex, word(".")), 0, 15),
    word("]"),
    port,
  ),
  sequence(
    notAfter((character) => isWord(character) || character === ":"),
    ...Array.from({ length: 7 }, () => sequence(repeat(hex, 1, 4), word(":"))),
    repeat(hex, 1, 4),
    groupEnd,
  ),
  sequence(
    notAfter((character) => isWord(character) || character === ":"),
    maybe(
      sequence(repeat(hex, 1, 4), repeat(sequence(word(":"), repeat(hex, 1, 4)), 0, 6)),
    ),
    word("::"),
    followedBy(
      sequence(repeat(one((c) => (isHex(c) && !isDigit(c)) || c === ":"), 0), digit),
    ),
    repeat(hex, 1, 5),
    repeat(sequence(word(":"), repeat(hex, 1, 5)), 0, 7),
    wordEnd,
  ),
  sequence(
    notAfter((character) => isWord(character) || character === ":"),
    hexes(2),
    repeat(sequence(word(":"), hexes(2)), 5, 31),
    groupEnd,
  ),
);
