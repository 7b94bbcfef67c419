/** The test time that flaky failures cost. */
import { attemptsAt, attemptsOfTests, finalOutcome, type ResultColumns } from "./columns.ts";

/** A submission at a code version with disruptions. */
export interface FlakySubmission extends ResultColumns {
  /** Equal for submissions of the same code, environment and job. */
  version: string;
  /** The tests that ran, in the order of the columns. */
  testNos: Int32Array;
  /** Those with a disruption here. */
  disrupted: readonly number[];
  /** Whether its time counts; an earlier one only tells which submissions repeat it. */
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
    const { version, testNos, disrupted, isInPeriod } = submission;
    const repeatable = failed.get(version);
    const isRepeated = repeatable !== undefined && testNos.some((testNo) => repeatable.has(testNo));
    if (isInPeriod && isRepeated) total += wholeTime(submission);
    for (const testNo of disrupted) {
      const attempts = attemptsAt(submission, testNos.indexOf(testNo));
      if (isInPeriod && !isRepeated) {
        for (const { kind, durationMicroseconds } of attempts) {
          if (kind === "negative") total += durationMicroseconds;
        }
      }
      if (finalOutcome(attempts.map(({ kind }) => kind)) !== "negative") continue;
      const tests = failed.get(version) ?? new Set();
      failed.set(version, tests.add(testNo));
    }
  }
  return total;
}

function wholeTime(columns: ResultColumns): number {
  let total = 0;
  for (const attempts of attemptsOfTests(columns)) {
    for (const { durationMicroseconds } of attempts) total += durationMicroseconds;
  }
  return total;
}
