// Tests: tests/lib/analysis/repetition/merge_results_test.ts
/**
 * The outcome of one attempt of one test.
 *
 * `failure` and `error` are negative, `passing` is positive; `skipped` and `unknown` are neither.
 */
export type Conclusion = "passing" | "failure" | "error" | "skipped" | "unknown";

/** One attempt of one test in a report; retries and skips are results too. */
export interface TestResult {
  /** Name of the innermost test suite, `""` when the report has none. */
  suite: string;
  /** Class name, `""` when there is none. */
  class: string;
  /** Name of the test, never empty. */
  name: string;
  /** Path of the file that holds the test, `""` when the report does not say. */
  file: string;
  conclusion: Conclusion;
  /** How long the attempt took, in whole microseconds; 0 when the report does not say. */
  durationMicroseconds: number;
  /** First line of what went wrong, at most 1,000 characters, `""` when there is nothing to say. */
  message: string;
  /** Message and stack trace of a failure or error, at most 16,384 characters, otherwise `""`. */
  body: string;
  /** The distinct messages of the other failures of this attempt; absent without any. */
  otherMessages?: readonly string[];
}

/** Stands in `otherMessages` for all beyond a hundred. */
export const MORE_FAILURES = "(more failures)";

/** True for the conclusions that count against a test. */
export function isNegative(conclusion: Conclusion): conclusion is "failure" | "error" {
  return conclusion === "failure" || conclusion === "error";
}

/** How a result stands in its report. */
export interface Reported {
  /** False for further attempts in the same case. */
  isNewCase: boolean;
  /** True for a passing case without any element that says how it ended. */
  isBare: boolean;
  /** True when the report says that the case is a retry. */
  isRetry: boolean;
  /** Differs between cases that an address, line, id, group or device distinguishes; otherwise 0. */
  variant: number;
  /** Which element of a suite in its report it is in, from 0. */
  suiteNo: number;
}

/** A case without retries that nothing distinguishes from others of its name. */
export const PLAIN_CASE: Reported = {
  isNewCase: true,
  isBare: false,
  isRetry: false,
  variant: 0,
  suiteNo: 0,
};
