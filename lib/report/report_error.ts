// Tests: tests/lib/report/read_report_files_test.ts tests/lib/report/report_files_test.ts
/**
 * Why a report was refused: it is empty or cut off (`incomplete`), it is not well-formed or lacks
 * something required (`malformed`), it is XML of another kind (`not-junit`), or no coverage report (`not-coverage`), it exceeds a limit
 * (`limit`), one attribute or tag of it does (`too-long`: an upload of several is read without it), there is no such file (`not-found`), or the system refuses access (`unreadable`).
 */
export type ReportErrorKind =
  | "incomplete"
  | "malformed"
  | "not-junit"
  | "not-coverage"
  | "limit"
  | "too-long"
  | "not-found"
  | "unreadable";

export interface ReportPosition {
  /** Counted from 1. */
  line: number;
  /** In characters, counted from 1. */
  column: number;
}

/**
 * A report cannot be read. The message begins with the file, with line and column where known, and
 * says what was found and what was expected.
 */
export class ReportError extends Error {
  override readonly name = "ReportError";
  /** The path as it was given or found. */
  readonly file: string;
  readonly kind: ReportErrorKind;
  /** Counted from 1; `undefined` when the file as a whole is meant. */
  readonly line: number | undefined;
  /** In characters, counted from 1; `undefined` when the file as a whole is meant. */
  readonly column: number | undefined;

  constructor(
    options: {
      file: string;
      kind: ReportErrorKind;
      problem: string;
      position?: ReportPosition | undefined;
    },
  ) {
    const { file, kind, problem, position } = options;
    const place = position ? `${file}:${position.line}:${position.column}` : file;
    super(`${place}: ${problem}`);
    this.file = file;
    this.kind = kind;
    this.line = position?.line;
    this.column = position?.column;
  }
}

export function limitError(file: string, found: string, expected = "fewer"): ReportError {
  return new ReportError({ file, kind: "limit", problem: `found ${found}, expected ${expected}` });
}

// Enough to find the place again, short enough for one line of a terminal.
const QUOTED_CHARACTERS = 40;

/** The beginning of a text, on one line, as error messages show it. */
export function shorten(text: string): string {
  const line = text.trim().split(/[\n\r]/, 1)[0]!;
  const characters = Array.from(line.slice(0, 2 * QUOTED_CHARACTERS + 2));
  if (characters.length <= QUOTED_CHARACTERS) return line;
  return characters.slice(0, QUOTED_CHARACTERS).join("") + "...";
}

/** The beginning of a text in double quotes, on one line, control characters made visible. */
export function excerpt(text: string): string {
  return JSON.stringify(shorten(text));
}
