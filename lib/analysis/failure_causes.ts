// Tests: tests/lib/analysis/repetition/merge_results_test.ts tests/lib/analysis/submission_content_test.ts
/**
 * The causes of a failure beyond the one of its message: of its other assertions, of its tear-down, of
 * several tests with one name. Each is a fingerprint of 16 hex digits.
 */
import { MORE_FAILURES, type TestResult } from "../report/result.ts";
import { failureCause, fingerprint, UNKNOWN_CAUSE } from "./failure_groups.ts";
import { isEmptyLine } from "./subtests.ts";

/** Stands for the causes that are too many to be kept. Not stored: no test is known for it. */
export const MORE_CAUSES = fingerprint(MORE_FAILURES);

const MAX_CAUSES = 100;

/** The causes of the messages of a failure other than its own. */
export function causesOfOtherMessages({ otherMessages = [], ...test }: TestResult): string[] {
  // pytest writes a failed subtest, and that its test contains one, as two failures.
  return otherMessages.filter((line) => !isEmptyLine(line))
    .map((line) => fingerprint(failureCause(line, "", test)));
}

/**
 * The distinct causes of a failure other than its own fingerprint, sorted, at most 101; `undefined`
 * without any, as is the case for nearly every failure.
 */
export function otherCauses(own: string, causes: Iterable<string>): string[] | undefined {
  const others = new Set(causes);
  others.delete(own);
  others.delete(UNKNOWN_CAUSE);
  const hasMore = others.delete(MORE_CAUSES) || others.size > MAX_CAUSES;
  const kept = [...[...others].sort().slice(0, MAX_CAUSES), ...hasMore ? [MORE_CAUSES] : []];
  return kept.length > 0 ? kept : undefined;
}
