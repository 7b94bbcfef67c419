/**
 * Failure groups in the slowest and most obvious way: instead of one expression, small parsers that
 * return every end that a match can have, and groups that are filtered again for each of their fields.
 */
import type { FailedAttempt } from "../../lib/analysis/failure_groups.ts";

/** The ends of all matches that begin at a place, the preferred one first. */
type Parser = (text: string, at: number) => number[];

const isDigit = (character: string) => character >= "0" && character <= "9";
const isLetter = (character: string) => /^[A-Za-z]$/.test(character);
const isHex = (character: string) => /^[0-9A-Fa-f]$/.test(character);
const isWord = (character: string) =>
  isDigit(character) || isLetter(character) || character === "_";
const isBlank = (character: string) => character !== "" && character.trim() === "";

const one = (is: (character: string) => boolean): Parser => (text, at) =>
  at < text.length && is(text[at]!) ? [at + 1] : [];
const oneOf = (characters: string) => one((character) => characters.includes(character));

const word = (written: string): Parser => (text, at) =>
  text.slice(at, at + written.length).toLowerCase() === written.toLowerCase()
    ? [at + written.length]
    : [];
const words = (list: string) => either(...list.split(" ").map(word));

const sequence = (...parsers: Parser[]): Parser => (text, at) =>
  parsers.reduce((ends, parser) => distinct(ends.flatMap((end) => parser(text, end))), [at]);
const either = (...parsers: Parser[]): Parser => (text, at) =>
  distinct(parsers.flatMap((parser) => parser(text, at)));
const maybe = (parser: Parser): Parser => (text, at) => distinct([...parser(text, at), at]);

/** Greedy: more repetitions are preferred. */
const repeat = (parser: Parser, from: number, to = Infinity): Parser => (text, at) => {
  const more = to === 0 ? [] : parser(text, at).filter((end) => end > at)
    .flatMap((end) => repeat(parser, Math.max(0, from - 1), to - 1)(text, end));
  return distinct(from > 0 ? more : [...more, at]);
};

const followedBy = (parser: Parser): Parser => (text, at) =>
  parser(text, at).length > 0 ? [at] : [];
const notBefore = (parser: Parser): Parser => (text, at) => parser(text, at).length > 0 ? [] : [at];
const notAfter = (is: (character: string) => boolean): Parser => (text, at) =>
  at > 0 && is(text[at - 1]!) ? [] : [at];
const after = (is: (character: string) => boolean): Parser => (text, at) =>
  at > 0 && is(text[at - 1]!) ? [at] : [];
const atStart: Parser = (_text, at) => at === 0 ? [at] : [];

function distinct(ends: number[]): number[] {
  return [...new Set(ends)];
}

const digit = one(isDigit);
const hex = one(isHex);
const wordCharacter = one(isWord);
const digits = (count: number) => repeat(digit, count, count);
const wordEnd = notBefore(wordCharacter);
const isAlphanumeric = (character: string) => isDigit(character) || isLetter(character);
const alphanumericEnd = notBefore(one(isAlphanumeric));
const slash = oneOf("\\/");

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
const httpStatus = either(
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

const code = either(
  sequence(
    notAfter(isLetter),
    either(
      sequence(
        word("exit"),
        maybe(word("ed")),
        maybe(word(" with")),
        maybe(sequence(maybe(oneOf(" _-")), words("code status"))),
      ),
      sequence(words("return error"), maybe(oneOf(" _-")), word("code")),
      word("errno"),
      word("os error"),
      word("signal"),
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

const nameWithNumber = sequence(
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

const fraction = sequence(oneOf(".,"), repeat(digit, 1));
const clock = sequence(digits(2), word(":"), digits(2), word(":"), digits(2), maybe(fraction));
const zone = repeat(
  sequence(
    maybe(word(" ")),
    either(
      words("z utc gmt"),
      sequence(oneOf("+-"), digits(2), maybe(word(":")), digits(2)),
    ),
    wordEnd,
  ),
  0,
  2,
);
const month = words("jan feb mar apr may jun jul aug sep oct nov dec");
const shortDay = repeat(digit, 1, 2);
const timeStamp = either(
  sequence(
    digits(4),
    either(
      sequence(word("-"), digits(2), word("-")),
      sequence(word("/"), digits(2), word("/")),
    ),
    digits(2),
    maybe(
      sequence(
        either(word("T"), word(" ")),
        digits(2),
        word(":"),
        digits(2),
        maybe(sequence(word(":"), digits(2), maybe(fraction))),
        zone,
      ),
    ),
    wordEnd,
  ),
  sequence(digits(8), word("T"), digits(6), maybe(word("Z")), wordEnd),
  sequence(clock, zone, wordEnd),
  sequence(
    notAfter(isWord),
    maybe(sequence(words("mon tue wed thu fri sat sun"), maybe(word(",")), word(" "))),
    either(sequence(shortDay, word(" "), month), sequence(month, word(" "), shortDay)),
    maybe(word(",")),
    word(" "),
    either(
      sequence(digits(4), maybe(sequence(maybe(word(",")), word(" "), clock))),
      sequence(clock, word(" "), digits(4)),
    ),
    zone,
    wordEnd,
  ),
);

const hexes = (count: number) => repeat(hex, count, count);
const uuid = sequence(
  notAfter(isAlphanumeric),
  hexes(8),
  ...[4, 4, 4, 12].flatMap((count) => [word("-"), hexes(count)]),
  alphanumericEnd,
);

const plainFileName = sequence(
  repeat(one((character) => isLetter(character) || "_-".includes(character)), 1),
  repeat(sequence(word("."), repeat(one(isLetter), 1)), 1),
  notBefore(one((character) => isWord(character) || ".\\/-".includes(character))),
);
const temporaryPath = sequence(
  notAfter((character) => isWord(character) || ".-".includes(character)),
  either(
    sequence(maybe(word("/private")), words("/tmp /var/tmp /var/folders /dev/shm")),
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

/** A word in quotes that has digits on both sides of letters, or is long. */
const quotedValue: Parser = (text, at) => {
  const quote = text[at];
  if (quote === undefined || !"\"'`".includes(quote)) return [];
  const end = text.indexOf(quote, at + 1);
  if (end === -1) return [];
  const value = text.slice(at + 1, end);
  if (value.length > 128) return [];
  if (value.length >= 8 && [...value].every((one) => isWord(one) || ".+=~-".includes(one))) {
    for (let first = 0; first < Math.min(100, value.length); first++) {
      let last = first + 1;
      while (last < value.length && isLetter(value[last]!)) last++;
      const letterCount = last - first - 1;
      const isBetween = isDigit(value[first]!) && letterCount >= 1 && letterCount <= 30 &&
        last < value.length && isDigit(value[last]!);
      if (isBetween) return [end + 1];
    }
  }
  const isLong = value.length >= 20 && [...value].every(isAlphanumeric) && [...value].some(isDigit);
  return isLong ? [end + 1] : [];
};

const port = maybe(sequence(word(":"), repeat(digit, 1, 5), wordEnd));
const part = sequence(repeat(digit, 1, 3), word("."));
const address = either(
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
);

const hexLetter = one((character) => isHex(character) && !isDigit(character));
const hexadecimal = either(
  sequence(
    notAfter(isAlphanumeric),
    either(
      sequence(word("0x"), repeat(hex, 1)),
      sequence(
        followedBy(sequence(repeat(hexLetter, 0), digit)),
        followedBy(sequence(repeat(digit, 0), hexLetter)),
        repeat(hex, 8),
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

const thousands = repeat(sequence(word(","), digits(3), notBefore(digit)), 0);
const duration = sequence(
  notAfter(isWord),
  repeat(
    sequence(
      repeat(digit, 1),
      thousands,
      maybe(sequence(word("."), repeat(digit, 1))),
      either(
        sequence(
          maybe(word(" ")),
          words(
            "nanoseconds nanosecond microseconds microsecond milliseconds millisecond seconds " +
              "second minutes minute hours hour days day msecs msec secs sec mins min hrs hr ns us " +
              "\xb5s \u03bcs ms",
          ),
        ),
        oneOf("smhdSMHD"),
      ),
    ),
    1,
  ),
  wordEnd,
);

const number = sequence(
  maybe(
    sequence(
      either(
        atStart,
        after((character) => isBlank(character) || "([{<=:,".includes(character)),
      ),
      oneOf("+-"),
    ),
  ),
  repeat(digit, 1),
  thousands,
  repeat(sequence(word("."), repeat(digit, 1)), 0),
  maybe(sequence(word("e"), maybe(oneOf("+-")), repeat(digit, 1), wordEnd)),
);

const blanks = either(repeat(one(isBlank), 2), sequence(notBefore(word(" ")), one(isBlank)));

const RULES: [Parser, string | null][] = [
  [httpStatus, null],
  [code, null],
  [nameWithNumber, null],
  [timeStamp, "<time>"],
  [uuid, "<uuid>"],
  [temporaryPath, "<tmp>"],
  [quotedValue, '"<value>"'],
  [address, "<address>"],
  [hexadecimal, "<n>"],
  [duration, "<duration>"],
  [number, "<n>"],
  [blanks, " "],
];

/** Causes by message: random histories repeat few messages. */
const known = new Map<string, string>();

/** The cause that a message tells. */
export function plainCause(message: string): string {
  const cause = known.get(message) ?? readCause(message);
  known.set(message, cause);
  return cause;
}

function readCause(message: string): string {
  let cause = "";
  let at = 0;
  while (at < message.length) {
    let end = at;
    for (const [parser, replacement] of RULES) {
      const found = parser(message, at).at(0);
      if (found === undefined) continue;
      cause += replacement ?? message.slice(at, found);
      end = found;
      break;
    }
    if (end === at) cause += message[end++];
    at = end;
  }
  return cause;
}

/** A failure with the id of its test. */
type PlainFailure = Omit<FailedAttempt, "position" | "test"> & { testId: string };

/** The groups of attempts, oldest first. */
export function plainGroups<T extends PlainFailure>(attempts: T[]) {
  const fingerprints = [...new Set(attempts.map(({ fingerprint }) => fingerprint))];
  const groups = fingerprints.map((fingerprint) => {
    const own = attempts.filter((attempt) => attempt.fingerprint === fingerprint);
    const failuresOf = (test: string) => own.filter(({ testId }) => testId === test).length;
    const tests = [...new Set(own.map(({ testId }) => testId))].sort()
      .toSorted((a, b) => failuresOf(b) - failuresOf(a));
    return {
      fingerprint,
      latest: own.at(-1)!,
      count: own.length,
      disruptionCount: own.filter(({ isDisruption }) => isDisruption).length,
      firstRecordedAt: own.at(0)!.recordedAt,
      lastRecordedAt: own.at(-1)!.recordedAt,
      branches: [...new Set(own.map(({ branch }) => branch))].filter((one) => one !== "").sort(),
      tests: tests.slice(0, 20),
      testCount: tests.length,
    };
  })
    .sort((a, b) => a.fingerprint < b.fingerprint ? -1 : 1)
    .toSorted((a, b) => b.lastRecordedAt - a.lastRecordedAt)
    .toSorted((a, b) => b.count - a.count);
  return { count: groups.length, groups: groups.slice(0, 50) };
}
