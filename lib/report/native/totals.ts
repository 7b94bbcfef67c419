// Tests: tests/lib/report/archive/contents_test.ts tests/lib/report/native/formats_test.ts
import { plural } from "../../base/text.ts";
import { excerpt } from "../report_error.ts";
import type { ReportOptions } from "../report_reader.ts";

/** Totals of a report, as they were read; absent ones are `undefined`. */
interface DeclaredTotals {
  tests: unknown;
  failures: readonly unknown[];
}

/**
 * Counts what a report lists, and compares its totals with it: a report that lists less may hide a
 * failure.
 */
export class Totals {
  testCount = 0;
  /** Every failed attempt counts. */
  failureCount = 0;
  readonly #options: Pick<ReportOptions, "file" | "onFailureOutside" | "onUnlisted">;

  constructor(options: Pick<ReportOptions, "file" | "onFailureOutside" | "onUnlisted">) {
    this.#options = options;
  }

  /** @param position `LINE` or `LINE:COLUMN` of the totals */
  check({ tests, failures }: DeclaredTotals, position: string): void {
    const { file, onFailureOutside, onUnlisted } = this.#options;
    const place = `${file}:${position}`;
    const totalOf = (value: unknown): number => {
      const total = numberOf(value);
      if (total !== null) return total;
      onFailureOutside?.(`${place}: the total ${excerpt(String(value))}, expected a number`);
      return 0;
    };
    const declaredTests = totalOf(tests);
    if (declaredTests > this.testCount) {
      onUnlisted?.(
        `${place}: ${plural(declaredTests, "test")} in the totals, ${this.testCount} listed`,
      );
    }
    const declaredFailures = failures.reduce<number>((sum, value) => sum + totalOf(value), 0);
    if (declaredFailures > this.failureCount) {
      onFailureOutside?.(
        `${place}: ${declaredFailures} failures and errors in the totals, ${this.failureCount} in tests`,
      );
    }
  }
}

/** A total as text or number, 0 without one; `null` if it cannot be read. */
function numberOf(value: unknown): number | null {
  if (value === undefined || value === null || value === "") return 0;
  const isText = typeof value === "string" && /^\s*\d+\s*$/.test(value);
  const total = isText ? Number(value) : value;
  return typeof total === "number" && Number.isInteger(total) && total >= 0 ? total : null;
}
