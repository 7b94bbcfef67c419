/** The rule of the gate: decides the exit code of a test run, with the reason. */
import * as v from "valibot";
import type { TestIdentity } from "../base/identity.ts";
import { isMassFailure, type TestCounts } from "../analysis/test_counts.ts";
import type { MassFailure } from "../evidence/evidence.ts";
import { formatCount, plural } from "../base/text.ts";
import { formatTimestamp } from "../base/time.ts";
import { UNKNOWN_CAUSE } from "../analysis/failure_groups.ts";
import { coversEnvironment } from "../analysis/quarantine.ts";
import { isSubtest } from "../analysis/subtests.ts";
import {
  compareWithEarlier,
  isWithoutTest,
  NO_TEST_RAN,
  sayNotWhole,
  type TestPlace,
  type UsualCounts,
} from "./whole_run.ts";

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
  /** Patterns of the environments that it is limited to; an earlier service has none. */
  quarantine_environment: v.nullish(v.string()),
});
export type QuarantinedTest = v.InferOutput<typeof QUARANTINED_TEST>;

/** A report of the test run. */
export interface GateReport {
  path: string;
  /** Whether it was written after the tests started. */
  isFresh: boolean;
  /** What says that it is older than the job; absent if it is not, or where the gate started the tests. */
  older?: string;
  /** Why it cannot be read; `null` when it is complete. */
  problem: string | null;
  /** Whether it is empty or cut off: the process that wrote it died. */
  isCutOff?: true;
  /** Failures and errors that belong to no test, with their positions. */
  failuresOutsideTests: readonly string[];
  /** Suites whose totals declare more tests than they list, with their positions. */
  unlistedTests: readonly string[];
}

/** Exit codes that shells give a command that a signal ended: 128 and the number of the signal. */
const SIGNALS_BY_EXIT_CODE: Readonly<Record<number, string>> = {
  129: "SIGHUP",
  130: "SIGINT",
  131: "SIGQUIT",
  132: "SIGILL",
  133: "SIGTRAP",
  134: "SIGABRT",
  135: "SIGBUS",
  136: "SIGFPE",
  137: "SIGKILL",
  139: "SIGSEGV",
  141: "SIGPIPE",
  142: "SIGALRM",
  143: "SIGTERM",
  152: "SIGXCPU",
};

// Where Maven and Gradle write a report per class, as soon as the class is done.
const PER_CLASS_REPORT =
  /(^|\/)((surefire|failsafe)-reports|test-results)\/(.*\/)?TEST-[^/]*\.xml$/;

/** A test whose final attempt failed. */
export interface FailedTest extends TestIdentity {
  /** The cause of the final failure. */
  fingerprint: string;
  /** The other causes of its failures in this run, in any attempt; absent without any. */
  otherFingerprints?: readonly string[];
  /** Whether an attempt of it in this run passed before. */
  hasPassed?: true;
  /** Whether it failed, by what its failure says, only because a subtest did. */
  bySubtest?: true;
}

/** Which failures of a quarantined test are excused: of causes that it is known for, or all. */
export const CAUSES = ["seen", "any"] as const;

/** What the service knows of earlier runs. */
export interface EarlierRuns extends UsualCounts {
  /** The fingerprints of the disruptions of the failed tests, by {@linkcode identityKey}. */
  causes: ReadonlyMap<string, readonly string[]>;
  /** The files, classes and suites that ran in each of the last 3; `null` when unknown. */
  expectedPlaces: readonly TestPlace[] | null;
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
  /** The environment of the run, `""` when unknown. */
  environment: string;
  /** By {@linkcode identityKey}; `null` when unknown because the request failed. */
  quarantined: ReadonlyMap<string, QuarantinedTest> | null;
  maxExcused: number;
  cause: typeof CAUSES[number];
  /** Percentage of the tests of the job's earlier runs that may be missing. */
  maxMissing: number;
  counts: TestCounts;
  /** What the service says of a run in which many tests failed; `null` when it did not answer. */
  massFailure: MassFailure | null;
  /** `null` when the request failed, or was not made. */
  earlier: EarlierRuns | null;
  /** Expected files and classes of which no test is in the reports, and that were there to run. */
  missingPlaces: readonly TestPlace[];
  /** Seconds since 1970. */
  now: number;
}

/** The identity of a test as a map key. */
export function identityKey({ suite, class: className, name, file }: TestIdentity): string {
  return JSON.stringify([suite, className, name, file]);
}

/** The active quarantine of a test in the environment of the run. */
export function quarantineOf(
  test: TestIdentity,
  { quarantined, environment, now }: Pick<GateInput, "quarantined" | "environment" | "now">,
): QuarantinedTest | undefined {
  const entry = quarantined?.get(identityKey(test));
  if (!entry) return undefined;
  const { quarantine_environment: quarantineEnvironment = null } = entry;
  if (!coversEnvironment({ quarantineEnvironment }, environment)) return undefined;
  const end = entry.quarantine_expires_at;
  return end === null || formatTimestamp(now) < end ? entry : undefined;
}

/** Whether a quarantined test failed for a cause that it is not known for. */
export function hasNewCause(test: FailedTest, input: GateInput): boolean {
  const { cause, earlier } = input;
  if (cause === "any" || earlier === null || !quarantineOf(test, input)) return false;
  return !isKnownFor(test, earlier.causes.get(identityKey(test)) ?? []);
}

/** Whether all failures of a test have one of the given causes. */
export function isKnownFor(
  { fingerprint, otherFingerprints = [] }: Pick<FailedTest, "fingerprint" | "otherFingerprints">,
  causes: readonly string[],
): boolean {
  // An unknown cause is equal to no other.
  return fingerprint !== UNKNOWN_CAUSE &&
    [fingerprint, ...otherFingerprints].every((one) => causes.includes(one));
}

/** Whether a test is known for the causes of all its failures in a build; an attempt without a text has none. */
export function isKnownForAll(inBuild: readonly string[], causes: readonly string[]): boolean {
  const [fingerprint = UNKNOWN_CAUSE, ...otherFingerprints] = inBuild.filter((one) =>
    one !== UNKNOWN_CAUSE
  );
  return isKnownFor({ fingerprint, otherFingerprints }, causes);
}

/**
 * Whether the failure of a test may be excused: it is quarantined and known for this cause, or it failed
 * only with its subtests and all of these may be.
 */
export function isExcusable(test: FailedTest, input: GateInput): boolean {
  if (quarantineOf(test, input) && !hasNewCause(test, input)) return true;
  if (!test.bySubtest) return false;
  const subtests = input.failed.filter((other) => isSubtest(other, test));
  return subtests.length > 0 && subtests.every((one) => isExcusable(one, input));
}

/**
 * Decides the exit code: the tests' own, or 0 when they failed and every failure can be excused.
 * In doubt, failures are not excused.
 */
export function decideExitCode(input: GateInput) {
  const { testsExitCode, failed } = input;
  let reason: string | null = null;
  if (testsExitCode === 0) {
    reason = failed.length === 0
      ? input.counts.ran === 0 ? "the tests ended with 0, although no test ran" : "the tests passed"
      : `the tests ended with 0, although ${failed.length} failed`;
  }
  reason ??= reasonNotToExcuse(input);
  if (reason !== null) return { exitCode: testsExitCode, isExcused: false, reason };
  reason = failed.length === 1
    ? "the failed test is quarantined"
    : `all ${failed.length} failed tests are quarantined`;
  return { exitCode: 0, isExcused: true, reason };
}

/** Says how many failed tests may not be excused, `null` for none. */
function notExcusable(input: GateInput): string | null {
  const { failed } = input;
  const others = failed.filter((test) => !isExcusable(test, input));
  if (others.length === 0) return null;
  const newCause = others.filter((test) => hasNewCause(test, input)).length;
  const unknown = others.length - newCause;
  if (failed.length === 1) {
    return newCause > 0
      ? "the failed test is quarantined, but failed for a new cause (--cause)"
      : "the failed test is not quarantined";
  }
  const are = (count: number) => count === 1 ? "is" : "are";
  if (newCause === 0) {
    return `${unknown} of ${failed.length} failed tests ${are(unknown)} not quarantined`;
  }
  const rest = unknown > 0 ? `, ${unknown} ${are(unknown)} not quarantined` : "";
  return `${newCause} of ${failed.length} failed tests failed for a new cause (--cause)${rest}`;
}

/** What says that a run is not whole; `null` when it is, or when that is not known. */
export function notWhole(
  input: Pick<GateInput, "counts" | "earlier" | "missingPlaces" | "reports" | "unclear"> & {
    maxMissing?: number;
  },
): string | null {
  const compared = compareWithEarlier(input);
  return sayNotWhole({
    missing: isWithoutTest(input.counts, compared) ? NO_TEST_RAN : compared.missing,
    places: input.missingPlaces,
    unclear: input.unclear,
    ...gapsOf(input.reports),
  });
}

/** What the reports of a run hide. */
function gapsOf(reports: readonly GateReport[]) {
  const cutOff = reports.filter(({ isCutOff }) => isCutOff).length;
  const sum = (key: "unlistedTests" | "failuresOutsideTests") =>
    reports.reduce((sum, report) => sum + report[key].length, 0);
  return {
    cutOffReportCount: cutOff,
    unlistedSuiteCount: sum("unlistedTests"),
    outsideFailureCount: sum("failuresOutsideTests"),
    emptyReportCount: 0,
    unreadReportCount: reports.filter(({ problem }) => problem !== null).length - cutOff,
  };
}

function reasonNotToExcuse(input: GateInput): string | null {
  const { testsExitCode, signal, reports, failed, maxExcused } = input;
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
  if (stale) return `${stale.path} ${stale.older ?? "is older than the start of the tests"}`;
  const outside = reports.flatMap(({ failuresOutsideTests }) => failuresOutsideTests);
  if (outside.length > 0) return `a failure outside of a test: ${outside[0]}`;
  const [unlisted] = reports.flatMap(({ unlistedTests }) => unlistedTests);
  if (unlisted !== undefined) return `a report does not list all tests: ${unlisted}`;
  if (failed.length === 0) {
    return input.isCodeFromReports
      ? "every failed test passed on retry; --exit-code tells how the tests ended"
      : "no report has a failed test";
  }
  const { ran, failed: failedOnce } = input.counts;
  if (isMassFailure(input.counts)) {
    const count = `${formatCount(failedOnce)} of ${plural(ran, "test")} failed`;
    if (input.massFailure === null) return `${count}: too many at once to excuse any`;
    return input.massFailure === "outage"
      ? `an outage: ${count}, the change is probably not the cause`
      : `${count} together, with this change alone: it is the probable cause`;
  }
  if (input.quarantined === null) return "the quarantined tests are unknown";
  if (input.cause === "seen" && input.earlier === null) {
    return "the causes that quarantined tests are known for are unknown (--cause)";
  }
  const problem = notExcusable(input);
  if (problem !== null) return problem;
  // A quarantined test may have an unknown outcome.
  const unclear = input.unclear.filter((test) => !quarantineOf(test, input));
  const partly = notWhole({ ...input, unclear });
  if (partly !== null) {
    return compareWithEarlier(input).missing ? `${partly} (--max-missing)` : partly;
  }
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
