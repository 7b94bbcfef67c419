/** The rule of the gate: decides the exit code of a test run, with the reason. */
import * as v from "valibot";
import type { TestIdentity } from "../base/identity.ts";
import { plural } from "../base/text.ts";
import { formatTimestamp } from "../base/time.ts";
import { isSubtest } from "./subtests.ts";

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** The fields of a {@linkcode TestIdentity}. */
export const IDENTITY = {
  suite: v.string(),
  class: v.string(),
  name: v.string(),
  file: v.string(),
};

/** A quarantined test, as the API lists it. */
export const QUARANTINED_TEST = v.object({
  ...IDENTITY,
  /** `null` when the quarantine has no end. */
  quarantine_expires_at: v.nullable(v.pipe(v.string(), v.regex(TIMESTAMP))),
  quarantine_owner: v.nullable(v.string()),
});
export type QuarantinedTest = v.InferOutput<typeof QUARANTINED_TEST>;

/** A report of the test run. */
export interface GateReport {
  path: string;
  /** Whether it was written after the tests started. */
  isFresh: boolean;
  /** Why it cannot be read; `null` when it is complete. */
  problem: string | null;
  /** Failures and errors that belong to no test, with their positions. */
  failuresOutsideTests: readonly string[];
}

/** Exit codes that shells give a command that a signal ended: 128 and the number of the signal. */
const SIGNALS_BY_EXIT_CODE: Readonly<Record<number, string>> = {
  134: "SIGABRT",
  137: "SIGKILL",
  139: "SIGSEGV",
  143: "SIGTERM",
};

// Where Maven and Gradle write a report per class, as soon as the class is done.
const PER_CLASS_REPORT =
  /(^|\/)((surefire|failsafe)-reports|test-results)\/(.*\/)?TEST-[^/]*\.xml$/;

/** A test whose final attempt failed. */
export interface FailedTest extends TestIdentity {
  /** Whether the failure says nothing of its own, as when a subtest failed. */
  saysNothing?: true;
}

/** Input of the rule. */
export interface GateInput {
  /** How the tests ended. */
  testsExitCode: number;
  /** Whether it was derived from the reports: 1 with any failure, even of a test that passed on retry. */
  isCodeFromReports: boolean;
  /** Exit codes that mean failed tests; `null` unless given: 1, except with reports per class. */
  failureCodes: readonly number[] | null;
  /** The signal that stopped the run; `null` without one. */
  signal: string | null;
  reports: readonly GateReport[];
  /** Tests whose final attempt failed. */
  failed: readonly FailedTest[];
  /** Tests whose final attempt has no known outcome. */
  unclear: readonly TestIdentity[];
  /** By {@linkcode identityKey}; `null` when unknown because the request failed. */
  quarantined: ReadonlyMap<string, QuarantinedTest> | null;
  maxExcused: number;
  /** Seconds since 1970. */
  now: number;
}

/** The identity of a test as a map key. */
export function identityKey({ suite, class: className, name, file }: TestIdentity): string {
  return JSON.stringify([suite, className, name, file]);
}

/** The active quarantine of a test. */
export function quarantineOf(
  test: TestIdentity,
  { quarantined, now }: Pick<GateInput, "quarantined" | "now">,
): QuarantinedTest | undefined {
  const entry = quarantined?.get(identityKey(test));
  if (!entry) return undefined;
  const end = entry.quarantine_expires_at;
  return end === null || formatTimestamp(now) < end ? entry : undefined;
}

/**
 * Whether the failure of a test may be excused: it is quarantined, or it failed only with its subtests
 * and all of these may be.
 */
export function isExcusable(test: FailedTest, input: GateInput): boolean {
  if (quarantineOf(test, input)) return true;
  if (!test.saysNothing) return false;
  const subtests = input.failed.filter((other) => isSubtest(other, test));
  return subtests.length > 0 && subtests.every((one) => isExcusable(one, input));
}

/**
 * Decides the exit code: that of the tests, or 0 when they failed and every failure can be excused.
 * In doubt, failures are not excused.
 */
export function decideExitCode(input: GateInput) {
  const { testsExitCode, failed } = input;
  let reason: string | null = null;
  if (testsExitCode === 0) {
    reason = failed.length === 0
      ? "the tests passed"
      : `the tests ended with 0, although ${failed.length} failed`;
  }
  reason ??= reasonNotToExcuse(input);
  if (reason !== null) return { exitCode: testsExitCode, isExcused: false, reason };
  reason = failed.length === 1
    ? "the failed test is quarantined"
    : `all ${failed.length} failed tests are quarantined`;
  return { exitCode: 0, isExcused: true, reason };
}

/** The reason not to excuse the failures, or `null`. */
function reasonNotToExcuse(input: GateInput): string | null {
  const { testsExitCode, signal, reports, failed, unclear, maxExcused } = input;
  const failureCodes = input.failureCodes ?? [1];
  if (signal !== null) return `the run was stopped by ${signal}`;
  const ended = SIGNALS_BY_EXIT_CODE[testsExitCode];
  if (ended) return `exit code ${testsExitCode} means that ${ended} ended the tests`;
  if (!failureCodes.includes(testsExitCode)) {
    return `exit code ${testsExitCode} does not mean failed tests: expected ${
      failureCodes.join(" or ")
    } (--failure-codes)`;
  }
  if (reports.length === 0) return "no report was found";
  const broken = reports.find(({ problem }) => problem !== null);
  if (broken) return `a report cannot be read: ${broken.problem}`;
  const stale = reports.find(({ isFresh }) => !isFresh);
  if (stale) return `${stale.path} is older than the start of the tests`;
  const outside = reports.flatMap(({ failuresOutsideTests }) => failuresOutsideTests);
  if (outside.length > 0) return `a failure outside of a test: ${outside[0]}`;
  if (failed.length === 0) {
    return input.isCodeFromReports
      ? "every failed test passed on retry; --exit-code tells how the tests ended"
      : "no report has a failed test";
  }
  if (input.quarantined === null) return "the quarantined tests are unknown";
  const otherCount = failed.filter((test) => !isExcusable(test, input)).length;
  if (otherCount > 0) {
    if (failed.length === 1) return "the failed test is not quarantined";
    return `${otherCount} of ${failed.length} failed tests ${
      otherCount === 1 ? "is" : "are"
    } not quarantined`;
  }
  const unclearCount = unclear.filter((test) => !quarantineOf(test, input)).length;
  if (unclearCount > 0) return `the outcome of ${plural(unclearCount, "test")} is unknown`;
  if (failed.length > maxExcused) {
    return `${
      plural(failed.length, "quarantined test")
    } failed, more than ${maxExcused} (--max-excused)`;
  }
  const perClass = reports.find(({ path }) => PER_CLASS_REPORT.test(path));
  if (perClass && input.failureCodes === null) {
    return `Maven and Gradle (${perClass.path}) also exit with 1 after a crash: have them ignore failed ` +
      "tests (see --help), or set --failure-codes";
  }
  return null;
}
