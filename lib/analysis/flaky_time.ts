/** The test time that flaky failures cost. */
import {
  exceptionAttempts,
  finalOutcome,
  forEachException,
  type ResultColumns,
  totalMicroseconds,
} from "./columns.ts";

/** A submission at a code version with disruptions. */
export interface FlakySubmission extends ResultColumns {
  /** Equal for submissions of the same code, environment and job. */
  version: string;
  /** The tests that ran, in the order of the columns. */
  testNos: Int32Array;
  /** Those with a disruption here. */
  disrupted: ReadonlySet<number>;
  /** Whether its time counts; an earlier one only tells which submissions repeat it, without durations. */
  isInPeriod: boolean;
}

/**
 * Microseconds that flaky failures cost: the failed attempts of flaky tests and, of submissions that
 * repeat a test which had failed flaky at last on the same code, the time of all tests. Such a submission
 * is a job that was run again.
 *
 * @param submissions oldest first
 */
export function flakyMicroseconds(submissions: readonly FlakySubmission[]): number {
  let total = 0;
  /** The tests whose flaky failures made a submission fail, by version. */
  const failed = new Map<string, Set<number>>();
  for (const submission of submissions) {
    const { version, testNos, disrupted, isInPeriod, exceptions } = submission;
    const repeatable = failed.get(version);
    const isRepeated = repeatable !== undefined && testNos.some((testNo) => repeatable.has(testNo));
    if (isInPeriod && isRepeated) total += totalMicroseconds(submission);
    // A flaky test did not pass exactly once: the other tests need not be decoded.
    const failedHere: number[] = [];
    if (isInPeriod && !isRepeated) {
      for (const [index, attempts] of exceptionAttempts(submission)) {
        const testNo = testNos[index]!;
        if (!disrupted.has(testNo)) continue;
        for (const { kind, durationMicroseconds } of attempts) {
          if (kind === "negative") total += durationMicroseconds;
        }
        if (finalOutcome(attempts.map(({ kind }) => kind)) === "negative") failedHere.push(testNo);
      }
    } else if (disrupted.size > 0) {
      forEachException(exceptions, (index, _counts, kinds) => {
        const testNo = testNos[index]!;
        if (finalOutcome(kinds) === "negative" && disrupted.has(testNo)) failedHere.push(testNo);
      });
    }
    if (failedHere.length === 0) continue;
    if (repeatable) failedHere.forEach((testNo) => repeatable.add(testNo));
    else failed.set(version, new Set(failedHere));
  }
  return total;
}
