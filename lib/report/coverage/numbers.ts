/** Numbers as coverage reports write them. */
import { quote } from "../report_error.ts";
import { Refusal } from "./refusal.ts";

const WHOLE = /^\s*[+-]?\d+\s*$/;
const NUMBER = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/**
 * Reads a whole number.
 *
 * @param what what the number is, for the message
 * @throws {Refusal} when the text is missing or no whole number
 */
export function wholeNumber(text: string | undefined, what: string): number {
  if (text !== undefined && WHOLE.test(text)) return Number(text);
  throw new Refusal(`found ${foundAs(text)} as ${what}, expected a whole number`);
}

/**
 * Whether something ran, by its execution count. Counts are taken as tools really write them: above
 * 2^53, with a fraction, or negative after an overflow, which counts as 0.
 *
 * @param what what the count is, for the message
 * @throws {Refusal} when the text is missing or no number
 */
export function ran(text: string | undefined, what: string): boolean {
  if (text !== undefined && NUMBER.test(text)) return Number(text) > 0;
  throw new Refusal(`found ${foundAs(text)} as ${what}, expected a number`);
}

function foundAs(text: string | undefined): string {
  return text === undefined ? "nothing" : quote(text);
}
