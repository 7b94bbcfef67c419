/** The cause of a failure, read rule by rule. */
import { code, httpStatus, nameWithNumber } from "./codes.ts";
import {
  enclosedValue,
  hexadecimal,
  podName,
  randomName,
  uuid,
  withoutRandomValue,
} from "./names.ts";
import { number, plural, size } from "./numbers.ts";
import { either, isBlank, notBefore, one, type Parser, repeat, sequence, word } from "./parsers.ts";
import { address, temporaryPath } from "./places.ts";
import { duration, timeStamp } from "./times.ts";

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
