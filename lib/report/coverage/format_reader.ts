// Tests: tests/lib/report/coverage/fixtures_test.ts tests/lib/report/coverage/numbers_test.ts
/** Shared by the readers of formats: errors, and numbers as text and XML reports write them. */
import { excerpt, type ReportErrorKind, type ReportPosition } from "../report_error.ts";

/** Reads one report of one format, and adds what it says to a map. */
export interface FormatReader {
  /** Where it is reading, for errors; formats that are read as a whole have none. */
  readonly position?: ReportPosition;
  /** @throws {CoverageFormatError} */
  write(chunk: string): void;
  /** @throws {CoverageFormatError} */
  end(): void;
}

/** Why a report is refused; the collector adds the file and the position. */
export class CoverageFormatError extends Error {
  override readonly name = "CoverageFormatError";
  readonly kind: ReportErrorKind;

  constructor(problem: string, kind: ReportErrorKind = "malformed") {
    super(problem);
    this.kind = kind;
  }
}

/** The refusal of a file that is not a coverage report; the collector adds what was expected. */
export function notCoverage(found: string): CoverageFormatError {
  return new CoverageFormatError(`found ${found}`, "not-coverage");
}

const WHOLE = /^\s*[+-]?\d+\s*$/;
const NUMBER = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/** Reads a whole number, which `what` names. @throws {CoverageFormatError} */
export function wholeNumber(text: string | undefined, what: string): number {
  if (text !== undefined && WHOLE.test(text)) return Number(text);
  throw new CoverageFormatError(`found ${foundAs(text)} as ${what}, expected a whole number`);
}

/**
 * True for a positive execution count, which `what` names. Tools write counts above 2^53, with a
 * fraction, or negative after an overflow. @throws {CoverageFormatError}
 */
export function ran(text: string | undefined, what: string): boolean {
  if (text !== undefined && NUMBER.test(text)) return Number(text) > 0;
  throw new CoverageFormatError(`found ${foundAs(text)} as ${what}, expected a number`);
}

function foundAs(text: string | undefined): string {
  return text === undefined ? "nothing" : excerpt(text);
}
