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
/** After a word and its opening parenthesis. */
const behind = (call: string): Parser => (text, at) => {
  const start = at - call.length;
  const isWhole = start >= 0 && (start === 0 || !isWord(text[start - 1]!));
  return isWhole && text.slice(start, at).toLowerCase() === call ? [at] : [];
};
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
const shortNumber = repeat(digit, 1, 2);
const halfOfDay = sequence(maybe(oneOf(" \u202f")), words("am pm"), wordEnd);
const clock = sequence(
  shortNumber,
  word(":"),
  digits(2),
  either(
    sequence(word(":"), digits(2), maybe(fraction), maybe(halfOfDay)),
    halfOfDay,
  ),
);
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
const zoneName = either(
  sequence(word("gmt"), maybe(sequence(oneOf("+-"), digits(2), word(":"), digits(2)))),
  words(
    "utc cet cest eet eest wet west ast adt cst cdt est edt mst mdt pst pdt bst hst ist jst kst " +
      "msk acst acdt aest aedt awst awdt nzst nzdt",
  ),
);
const weekday = sequence(
  words(
    "monday mon tuesday tueday tues tue wednesday wedday wednes wed thursday thuday thurs thu " +
      "friday fri saturday satday satur sat sunday sun",
  ),
  maybe(word(",")),
  word(" "),
);
const month = words(
  "january jan february feb march mar april apr may june jun july jul august aug september sept " +
    "sep october oct november nov december dec",
);
const yearAndClock = sequence(
  either(
    sequence(oneOf(" /-"), digits(4)),
    sequence(oneOf("/-"), digits(2)),
  ),
  notBefore(digit),
  maybe(
    sequence(
      either(sequence(maybe(word(",")), word(" "), maybe(word("at "))), word(":")),
      clock,
    ),
  ),
);
const shortYearAndClock = sequence(
  word(" "),
  digits(2),
  word(" "),
  digits(2),
  word(":"),
  digits(2),
  notBefore(digit),
);
const clockAndYear = sequence(
  word(" "),
  clock,
  maybe(sequence(maybe(sequence(word(" "), zoneName)), word(" "), digits(4))),
);
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
    maybe(weekday),
    either(
      sequence(shortNumber, oneOf(" /-"), month),
      sequence(month, repeat(word(" "), 1, 2), shortNumber),
    ),
    maybe(word(",")),
    either(yearAndClock, shortYearAndClock, clockAndYear),
    zone,
    wordEnd,
  ),
  sequence(
    behind("datetime("),
    repeat(digit, 1),
    repeat(sequence(word(", "), repeat(digit, 1)), 2, 6),
  ),
);

const hexes = (count: number) => repeat(hex, count, count);
const uuid = sequence(
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
const podName = sequence(
  (text, at) => isAlphanumeric(text[at - 1] ?? "") ? [at] : [],
  podSuffix,
);

/** A word in quotes or brackets that has digits on both sides of letters, or is long. */
const enclosedValue: Parser = (text, at) => {
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

const groupEnd = notBefore(one((character) => isWord(character) || character === ":"));
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

const hexLetter = one((character) => isHex(character) && !isDigit(character));
const hexadecimal = either(
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

const thousands = repeat(sequence(word(","), digits(3), notBefore(digit)), 0);
const exponent = sequence(word("e"), maybe(oneOf("+-")), repeat(digit, 1));
const amount = sequence(
  repeat(digit, 1),
  thousands,
  maybe(sequence(word("."), repeat(digit, 1))),
);
const sign = maybe(
  sequence(
    either(
      atStart,
      after((character) => isBlank(character) || "([{<=:,\"'`".includes(character)),
    ),
    oneOf("+-"),
  ),
);
const timeSpan = sequence(
  amount,
  maybe(exponent),
  either(
    sequence(
      maybe(word(" ")),
      words(
        "nanoseconds nanosecond microseconds microsecond milliseconds millisecond seconds " +
          "second minutes minute hours hour days day msecs msec secs sec mins min hrs hr ns us " +
          "\xb5s \u03bcs ms s",
      ),
    ),
    oneOf("mhdMHD"),
  ),
);
const duration = either(
  sequence(
    notAfter(isWord),
    sign,
    timeSpan,
    repeat(
      sequence(maybe(sequence(maybe(word(",")), word(" "), maybe(word("and ")))), timeSpan),
      0,
    ),
    wordEnd,
  ),
  sequence(
    notAfter(isWord),
    maybe(word("-")),
    word("p"),
    maybe(sequence(repeat(digit, 1), word("d"))),
    word("t"),
    repeat(
      sequence(
        maybe(word("-")),
        repeat(digit, 1),
        maybe(sequence(word("."), repeat(digit, 1))),
        oneOf("hmsHMS"),
      ),
      1,
      3,
    ),
    wordEnd,
  ),
  sequence(
    behind("timedelta("),
    maybe(sequence(words("days seconds microseconds"), word("="))),
    maybe(word("-")),
    repeat(digit, 1),
    repeat(
      sequence(word(", "), repeat(wordCharacter, 1), word("="), repeat(digit, 1)),
      0,
      2,
    ),
  ),
);

const size = sequence(
  notAfter(isWord),
  amount,
  maybe(word(" ")),
  words("kib mib gib tib kb mb gb tb bytes byte"),
  wordEnd,
);

const letters = repeat(one(isLetter), 1);
const someDigits = repeat(digit, 1);
const notBeforeUuid = notBefore(
  sequence(word("-"), ...[4, 4, 4].flatMap((count) => [hexes(count), word("-")])),
);
const randomName = either(
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

const number = sequence(
  sign,
  repeat(digit, 1),
  thousands,
  repeat(sequence(word("."), repeat(digit, 1)), 0),
  maybe(
    either(sequence(exponent, wordEnd), sequence(words("st nd rd th"), wordEnd)),
  ),
);

/** The ending of a word that follows a number and a space. */
const plural: Parser = (text, at) => {
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
function withoutRandomValue(value: string): string {
  const isName = [camelCase, apiVersion].some((parser) => parser(value, 0).length > 0);
  return isName ? value.replaceAll(/\d+/g, "<n>") : "<n>";
}

const blanks = either(repeat(one(isBlank), 2), sequence(notBefore(word(" ")), one(isBlank)));

const RULES: [Parser, string | null | ((value: string) => string)][] = [
  [httpStatus, null],
  [code, null],
  [nameWithNumber, null],
  [address, "<address>"],
  [timeStamp, "<time>"],
  [uuid, "<uuid>"],
  [temporaryPath, "<tmp>"],
  [enclosedValue, withoutRandomValue],
  [podName, "-<n>"],
  [hexadecimal, "<n>"],
  [duration, "<duration>"],
  [size, "<size>"],
  [randomName, withoutRandomValue],
  [number, "<n>"],
  [plural, ""],
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
      const text = message.slice(at, found);
      cause += typeof replacement === "function" ? replacement(text) : replacement ?? text;
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
