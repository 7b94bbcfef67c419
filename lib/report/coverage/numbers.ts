/** Numbers as text and XML reports write them. */
import { quote } from "../report_error.ts";
import { Refusal } from "./refusal.ts";

const WHOLE = /^\s*[+-]?\d+\s*$/;
const NUMBER = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/** Reads a whole number, which `what` names. @throws {Refusal} */
export function wholeNumber(text: string | undefined, what: string): number {
  if (text !== undefined && WHOLE.test(text)) return Number(text);
  throw new Refusal(`found ${foundAs(text)} as ${what}, expected a whole number`);
}

/**
 * True for a positive execution count, which `what` names. Tools write counts above 2^53, with a
 * fraction, or negative after an overflow. @throws {Refusal}
 */
export function ran(text: string | undefined, what: string): boolean {
  if (text !== undefined && NUMBER.test(text)) return Number(text) > 0;
  throw new Refusal(`found ${foundAs(text)} as ${what}, expected a number`);
}

function foundAs(text: string | undefined): string {
  return text === undefined ? "nothing" : quote(text);
}
