/** Errors of coverage reading: what is wrong, and where. */
import { ReportError, type ReportPosition } from "../report_error.ts";

/** No coverage report of a known format: callers may skip it. Nothing of it was read. */
export class NotCoverageError extends ReportError {
  constructor(options: { file: string; found: string; position?: ReportPosition }) {
    const { file, found, position } = options;
    const problem =
      `found ${found}, expected a coverage report (lcov, Cobertura, JaCoCo, Clover, ` +
      `Go cover profile, Istanbul, SimpleCov or coverage.py JSON)`;
    super({ file, kind: "malformed", problem, position });
  }
}

/** An error of a format's reader; {@link located} adds the position. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly kind: "malformed" | "limit";

  constructor(problem: string, kind: "malformed" | "limit" = "malformed") {
    super(problem);
    this.kind = kind;
  }
}

/** Where a report is being read; without a position the file as a whole. */
export interface Place {
  file: string;
  position?: ReportPosition;
}

/** Runs one step of reading. @throws {ReportError} instead of a {@link Refusal}, with the place */
export function located(place: () => Place, step: () => void): void {
  try {
    step();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new ReportError({ ...place(), kind: error.kind, problem: error.message });
  }
}
