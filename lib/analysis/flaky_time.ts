/** The test time that flaky failures cost. */
import {
  exceptionAttempts,
  finalOutcome,
  type ResultColumns,
  totalMicroseconds,
} from "./columns.ts";

/** A submission at a code version with disruptions. */
export interface FlakySubmission extends Omit<ResultColumns, "durations"> {
  submissionId: string;
  /** Equal for submissions of the same code, environment and job. */
  version: string;
  /** The tests that ran, in the order of the columns. */
  testNos: Int32Array;
  /** The tests with a disruption in this submission. */
  disrupted: ReadonlySet<number>;
  /** Whether its time counts; an earlier one only tells which submissions repeat it. */
  isInPeriod: boolean;
  /** Nearly all that a submission stores, and seldom needed: left out until they are. */
  durations?: Uint8Array;
}

/**
 * Microseconds that flaky failures cost: the failed attempts of flaky tests and, of submissions that
 * repeat a test which had failed flaky at last on the same code, the time of all tests. Such a submission
 * is a job that was run again.
 *
 * @param submissions oldest first
 * @returns also the ids of submissions whose time is missing because it takes their durations
 */
export function flakyTime(
  submissions: readonly FlakySubmission[],
): { microseconds: number; incomplete: string[] } {
  let microseconds = 0;
  const incomplete: string[] = [];
  /** The tests whose flaky failures made a submission fail, by version. */
  const failed = new Map<string, Set<number>>();
  for (const submission of submissions) {
    const { submissionId, version, testNos, isInPeriod, durations, durationUnit } = submission;
    const repeatable = failed.get(version);
    const isRepeated = repeatable !== undefined && testNos.some((testNo) => repeatable.has(testNo));
    const { failedMicroseconds, failedTests } = flakyFailures(submission);
    if (isInPeriod) {
      if (!isRepeated && failedTests.length === 0) microseconds += failedMicroseconds;
      else if (!durations) incomplete.push(submissionId);
      else if (isRepeated) microseconds += totalMicroseconds({ durations, durationUnit });
      else microseconds += failedMicroseconds;
    }
    if (failedTests.length === 0) continue;
    if (repeatable) failedTests.forEach((testNo) => repeatable.add(testNo));
    else failed.set(version, new Set(failedTests));
  }
  return { microseconds, incomplete };
}

/**
 * The failed attempts of the disrupted tests: their time, and the tests that failed at last. A last attempt
 * took the rest of a total, so the time of these is missing without durations.
 */
function flakyFailures({ testNos, disrupted, ...columns }: FlakySubmission) {
  let failedMicroseconds = 0;
  const failedTests: number[] = [];
  // A disrupted test did not pass exactly once: the other tests need not be decoded.
  const isDisrupted = (index: number) => disrupted.has(testNos[index]!);
  for (const [index, attempts] of exceptionAttempts(columns, isDisrupted)) {
    for (const { kind, durationMicroseconds } of attempts) {
      if (kind === "negative") failedMicroseconds += durationMicroseconds;
    }
    if (finalOutcome(attempts.map(({ kind }) => kind)) === "negative") {
      failedTests.push(testNos[index]!);
    }
  }
  return { failedMicroseconds, failedTests };
}
