/** Times and durations. */
import { amount, exponent, sign } from "./numbers.ts";
import {
  behind,
  digit,
  digits,
  either,
  isWord,
  maybe,
  notAfter,
  notBefore,
  oneOf,
  repeat,
  sequence,
  word,
  wordCharacter,
  wordEnd,
  words,
} from "./parsers.ts";

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
export const timeStamp = either(
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
export const duration = either(
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
