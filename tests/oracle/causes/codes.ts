/** Codes and names whose numbers are kept. */
import {
  alphanumericEnd,
  digit,
  digits,
  either,
  followedBy,
  hex,
  isAlphanumeric,
  isLetter,
  isWord,
  maybe,
  notAfter,
  notBefore,
  one,
  oneOf,
  type Parser,
  repeat,
  sequence,
  word,
  wordEnd,
  words,
} from "./parsers.ts";

const gapText = repeat(one((character) => !isWord(character)), 1, 5);
const gap = sequence(
  gapText,
  repeat(
    sequence(
      words(
        "actual be but code deeply equal expected got instead is not of received returned status " +
          "than to vs want was",
      ),
      gapText,
    ),
    0,
    5,
  ),
);
const statusEnd = sequence(wordEnd, notBefore(sequence(oneOf(".,"), digit)));
const status = sequence(oneOf("12345"), digits(2), statusEnd);
const knownStatus: Parser = (text, at) => {
  const number = Number(text.slice(at, at + 3));
  const isKnown = digits(3)(text, at).length > 0 &&
    ((number >= 200 && number <= 206) || [301, 302, 303, 304, 307, 308].includes(number) ||
      (number >= 400 && number <= 419) || (number >= 422 && number <= 429) ||
      (number >= 500 && number <= 504));
  return isKnown ? statusEnd(text, at + 3) : [];
};
export const httpStatus = either(
  sequence(
    notAfter(isLetter),
    either(
      sequence(
        word("http"),
        maybe(sequence(word("/"), digit, maybe(sequence(word("."), digit)))),
      ),
      sequence(word("status"), maybe(sequence(maybe(oneOf(" _-")), word("code")))),
      sequence(word("response"), maybe(oneOf(" _-")), word("code")),
      word("<response"),
    ),
    gap,
    status,
    maybe(sequence(gap, status)),
  ),
  sequence(
    notAfter((character) => isWord(character) || ".,".includes(character)),
    knownStatus,
    gap,
    knownStatus,
  ),
);

export const code = either(
  sequence(
    notAfter(isLetter),
    either(
      sequence(
        word("exit"),
        maybe(word("ed")),
        maybe(word(" with")),
        maybe(sequence(maybe(oneOf(" _-")), words("code status"))),
      ),
      sequence(words("closed ended failed finished"), word(" with "), words("code status")),
      sequence(words("return error"), maybe(oneOf(" _-")), word("code")),
      word("errno"),
      word("os error"),
      word("signal"),
      word("sqlcode"),
      word("sqlstate"),
      word("hresult"),
    ),
    repeat(oneOf(" :=#(["), 1, 4),
    maybe(word("-")),
    either(
      sequence(word("0x"), repeat(hex, 1)),
      sequence(
        followedBy(sequence(repeat(one(isLetter), 0, 4), digit)),
        repeat(one(isAlphanumeric), 1, 11),
      ),
    ),
    wordEnd,
  ),
  sequence(
    notAfter(isWord),
    either(
      sequence(word("cs"), digits(4)),
      sequence(word("e"), repeat(digit, 4, 5)),
      sequence(word("ora-"), digits(5)),
      sequence(word("ts"), repeat(digit, 4, 5)),
    ),
    wordEnd,
  ),
);

export const nameWithNumber = sequence(
  notAfter(isAlphanumeric),
  words(
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 " +
      "f8 f16 f32 f64 f128 i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 " +
      "utf8 utf16 utf32 utf-8 utf-16 utf-32 sha1 sha256 sha384 sha512 sha-1 sha-256 sha-384 " +
      "sha-512 md5 base32 base64 aarch64 amd64 arm64 x86_64 x64 x86 ipv4 ipv6 http/1 http/2 " +
      "http/3 oauth2 s3",
  ),
  alphanumericEnd,
);
