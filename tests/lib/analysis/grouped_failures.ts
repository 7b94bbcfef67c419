import { FailureColumns } from "../../../lib/analysis/failure_columns.ts";
import { type FailureGroup, groupFailures } from "../../../lib/analysis/failure_groups.ts";

export interface FailedAttempt {
  /** Fingerprint of its cause. */
  fingerprint: string;
  /** Number of its test: an index of their ids. */
  test: number;
  /** `""` when unknown. */
  branch: string;
  /** Seconds since 1970. */
  recordedAt: number;
  /** Greater than the positions of all earlier failures. */
  position: number;
  isDisruption: boolean;
}

/** Columns of failures, oldest first, whose runs are numbered by the caller. */
export function failureColumnsOf(
  failures: readonly (
    & Pick<FailedAttempt, "test" | "isDisruption">
    & Partial<Pick<FailedAttempt, "fingerprint" | "position">>
    & { run: number }
  )[],
): FailureColumns {
  const columns = new FailureColumns(failures.length);
  const causes: string[] = [];
  for (const { run, test, isDisruption, fingerprint = "", position = 0 } of failures) {
    if (!causes.includes(fingerprint)) causes.push(fingerprint);
    // Causes that differ in either half only.
    const [high, low] = [causes.indexOf(fingerprint) % 3, causes.indexOf(fingerprint)];
    const cause = columns.causeOf(high, low) ?? columns.addCause(high, low, fingerprint);
    columns.add(run, test, cause, isDisruption ? ~position : position);
  }
  return columns;
}

/** Groups failures in any order; those of one moment and branch are of one run. */
export function groupedFailures<Given extends FailedAttempt>(
  attempts: readonly Given[],
  testIds: readonly string[],
): { count: number; groups: (Omit<FailureGroup, "latest"> & { latest: Given })[] } {
  const sorted = attempts.toSorted((a, b) =>
    a.recordedAt - b.recordedAt || a.position - b.position
  );
  const runs: Given[] = [];
  const failures = sorted.map((attempt) => {
    const run = runs.at(-1);
    if (run?.recordedAt !== attempt.recordedAt || run.branch !== attempt.branch) runs.push(attempt);
    return { ...attempt, run: runs.length - 1 };
  });
  // Within a run failures come in any order.
  failures.sort((a, b) => a.run - b.run || a.test - b.test);
  const columns = failureColumnsOf(failures);
  const idOf = (test: number) => testIds[columns.testNos[test]!]!;
  const { count, groups: largest } = groupFailures(columns, { runs, idOf, withUnknown: true });
  const groups = [...largest];
  const attemptAt = (index: number) => {
    const { run: _, ...found } = failures[index]!;
    return found as unknown as Given;
  };
  return {
    count,
    groups: groups.map((group) => ({ ...group, latest: attemptAt(group.latest) })),
  };
}
