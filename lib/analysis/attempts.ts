// Tests: tests/lib/cli/commands/evidence_test.ts tests/lib/cli/commands/flaky_test.ts
/** The attempts of one test in a submission: its columns joined with its stored failures. */
import type { RunPosition } from "../base/cursor.ts";
import { type Conclusion, isNegative } from "../report/result.ts";
import { type Attempt, CONCLUSION_OF_KIND, type ResultCounts } from "./columns.ts";

export interface StoredFailure {
  /** Position of the result in its submission. */
  resultNo: number;
  conclusion: "failure" | "error";
  isDisruption: boolean;
  /** 20 hex digits. */
  textId: string;
}

export interface TestAttempt<Failure extends StoredFailure = StoredFailure> {
  /** 1 for the first attempt in the submission, 2 and more for retries. */
  runCount: number;
  /** Whether the submission has no later attempt of the test. */
  isLast: boolean;
  conclusion: Conclusion;
  durationMicroseconds: number;
  /** `null` unless the attempt is negative. */
  failure: Failure | null;
}

/** The attempts of a test in a submission, from attempts and failures in the report's order. */
export function testAttempts<Failure extends StoredFailure>(
  attempts: readonly Attempt[],
  failures: readonly Failure[],
): TestAttempt<Failure>[] {
  let failureCount = 0;
  return attempts.map(({ kind, durationMicroseconds }, index) => {
    const place = { runCount: index + 1, isLast: index === attempts.length - 1 };
    if (kind !== "negative") {
      return {
        ...place,
        conclusion: CONCLUSION_OF_KIND[kind],
        durationMicroseconds,
        failure: null,
      };
    }
    const failure = failures[failureCount++]!;
    return { ...place, conclusion: failure.conclusion, durationMicroseconds, failure };
  });
}

/** The values of `status`, by which attempts are filtered. */
export const ATTEMPT_STATUSES = [
  "all",
  "failed",
  "failure",
  "error",
  "skipped",
  "passed",
  "unknown",
] as const;

export type AttemptStatus = typeof ATTEMPT_STATUSES[number];

export function hasStatus(conclusion: Conclusion, status: AttemptStatus): boolean {
  if (status === "all") return true;
  if (status === "failed") return isNegative(conclusion);
  return conclusion === (status === "passed" ? "passing" : status);
}

export function negativeConclusions(status: AttemptStatus): ("failure" | "error")[] {
  return (["failure", "error"] as const).filter((conclusion) => hasStatus(conclusion, status));
}

/** How many attempts that are not negative a status selects. */
export function countNonNegative(counts: Readonly<ResultCounts>, status: AttemptStatus): number {
  const { positive, skipped, unknown } = counts;
  return (hasStatus("passing", status) ? positive : 0) +
    (hasStatus("skipped", status) ? skipped : 0) + (hasStatus("unknown", status) ? unknown : 0);
}

/** Whether a test may have attempts with a status, of which conclusions of negative ones are not known. */
export function mayHaveStatus(counts: Readonly<ResultCounts>, status: AttemptStatus): boolean {
  return countNonNegative(counts, status) > 0 ||
    counts.negative > 0 && negativeConclusions(status).length > 0;
}

/** Whether an attempt of a test comes after another one in a list that has the newest first. */
export function isBefore(run: RunPosition, other: RunPosition): boolean {
  if (run.submissionId !== other.submissionId) return run.submissionId < other.submissionId;
  return run.runCount < other.runCount;
}
