/** Whether a run is whole: the number of tests, files and classes that earlier runs of its job had. */
import { medianOf, type TestCounts } from "../analysis/test_counts.ts";
import type { Run } from "../analysis/run.ts";
import type { ReportGaps } from "../report/report_gaps.ts";
import type { TestIdentity } from "../base/identity.ts";
import { compareTexts, cutText, formatCount, fullTestName, plural } from "../base/text.ts";

/** Percentage of the usual tests that may be missing in a whole run, unless it is given. */
export const DEFAULT_MAX_MISSING = 5;

/** Fewer earlier runs say nothing about the tests and files of a job. */
export const MIN_EARLIER_RUNS = 3;

/** How many tests the last runs of a job on the base branch had. */
export interface UsualCounts {
  /** Median number of tests that ran; `null` when unknown. */
  expectedTestCount: number | null;
  /** The number of tests that ran in each run. */
  baseTestCounts: number[];
  /** Median number of skipped tests; `null` when unknown. */
  expectedSkippedCount: number | null;
}

/** The usual counts of a job by its last runs on the base branch. */
export function usualCounts(
  runs: readonly Run<"ranTestCount" | "skippedTestCount">[],
): UsualCounts {
  // Runs without counts are not loaded.
  const baseTestCounts = runs.map(({ ranTestCount }) => ranTestCount!);
  const skipped = runs.map(({ skippedTestCount }) => skippedTestCount!);
  const isKnown = runs.length >= MIN_EARLIER_RUNS;
  return {
    expectedTestCount: isKnown ? medianOf(baseTestCounts) : null,
    baseTestCounts,
    expectedSkippedCount: isKnown ? medianOf(skipped) : null,
  };
}

/**
 * Compares the run with earlier ones of its job: `missing` says that it was not whole, `unchecked` why
 * that is not known.
 */
export function compareWithEarlier(
  { counts: { ran, skipped }, earlier, maxMissing = DEFAULT_MAX_MISSING }: {
    counts: Pick<TestCounts, "ran" | "skipped">;
    /** `null` when the service did not answer. */
    earlier: UsualCounts | null;
    maxMissing?: number;
  },
): { missing: string | null; unchecked: string | null } {
  const unchecked = (why: string) => ({
    missing: null,
    unchecked: `not checked whether all tests ran: ${why}`,
  });
  if (earlier === null) return unchecked("the service did not answer");
  const { expectedTestCount: expected, expectedSkippedCount, baseTestCounts } = earlier;
  if (expected === null || expectedSkippedCount === null) {
    return unchecked(
      `the service knows fewer than ${MIN_EARLIER_RUNS} runs of this job on the base branch (--job)`,
    );
  }
  const tolerance = expected * maxMissing / 100;
  const isFar = (count: number) => Math.abs(count - expected) > tolerance;
  if (baseTestCounts.filter(isFar).length * 4 > baseTestCounts.length) {
    return unchecked("the number of tests on the base branch varies");
  }
  if (ran < expected - tolerance) {
    return {
      missing: `${formatCount(ran)} of about ${formatCount(expected)} tests ran`,
      unchecked: null,
    };
  }
  if (skipped > expectedSkippedCount + tolerance) {
    return {
      missing: `${plural(skipped, "test")} skipped, usually ${expectedSkippedCount}`,
      unchecked: null,
    };
  }
  return { missing: null, unchecked: null };
}

/** What is said of a run without a test that passed or failed. */
export const NO_TEST_RAN = "no test ran";

/** Whether a run has no test, while it is not known that its job usually has none. */
export function isWithoutTest(
  { ran }: Pick<TestCounts, "ran">,
  { unchecked }: Pick<ReturnType<typeof compareWithEarlier>, "unchecked">,
): boolean {
  return ran === 0 && unchecked !== null;
}

/** A file with the class of one of its tests, a class of tests without a file, or a suite of tests with neither. */
export interface TestPlace {
  /** `""` for a class or suite of tests without a file. */
  file: string;
  /** `""` for a suite. */
  class: string;
  /** `""` for a file or class. */
  suite: string;
}

/** What is in the reports of a run. */
export interface ReportedPlaces {
  files: ReadonlySet<string>;
  classes: ReadonlySet<string>;
  classesWithoutFile: ReadonlySet<string>;
  suitesWithoutClass: ReadonlySet<string>;
}

export function placesOf(tests: Iterable<TestPlace>): ReportedPlaces {
  const files = new Set<string>();
  const classes = new Set<string>();
  const classesWithoutFile = new Set<string>();
  const suitesWithoutClass = new Set<string>();
  for (const { file, class: className, suite } of tests) {
    classes.add(className);
    if (className === "") suitesWithoutClass.add(suite);
    if (file === "") classesWithoutFile.add(className);
    else files.add(file);
  }
  return { files, classes, classesWithoutFile, suitesWithoutClass };
}

/** The files in each of some runs, the classes of tests without one, and the suites of those with neither, sorted. */
export function placesInAll(runs: readonly (readonly TestPlace[])[]): TestPlace[] {
  const [latest = new Map<string, TestPlace>(), ...before] = runs.map((tests) => {
    const places = new Map<string, TestPlace>();
    for (const { file, class: className, suite } of tests) {
      const place = { file, class: className, suite: file || className ? "" : suite };
      const key = JSON.stringify(file === "" ? [className, place.suite] : file);
      const known = places.get(key);
      if (!known || className < known.class) places.set(key, place);
    }
    return places;
  });
  return [...latest].filter(([key]) => before.every((places) => places.has(key)))
    .map(([, place]) => place)
    .sort((a, b) =>
      compareTexts(a.file, b.file) || compareTexts(a.class, b.class) ||
      compareTexts(a.suite, b.suite)
    );
}

/**
 * The expected places of which no test is in the reports. Some reports name a test with its file and others
 * without one, which is found by its class.
 */
export function missingPlaces(
  expected: readonly TestPlace[],
  { files, classes, classesWithoutFile, suitesWithoutClass: suites }: ReportedPlaces,
): TestPlace[] {
  return expected.filter(({ file, class: className, suite }) => {
    if (file !== "") return !files.has(file) && !classesWithoutFile.has(className);
    if (className !== "") return !classes.has(className);
    // An earlier version of the service does not name the suite: any counts.
    return suite === "" ? suites.size === 0 : !suites.has(suite);
  });
}

/** Named at most. */
const MAX_NAMED = 3;

/** What says that a run is not whole. */
interface Missing extends ReportGaps {
  /** The tests that are missing by their number; `null` when none are. */
  missing: string | null;
  places: readonly TestPlace[];
  /** Other reports that cannot be read. */
  unreadReportCount?: number;
  /** Tests whose outcome is unknown. */
  unclear?: readonly TestIdentity[];
}

/**
 * What says that a run is not whole, such as `212 of about 482 tests ran; 3 test processes ended without a
 * report`; `null` when nothing does.
 */
export function sayNotWhole(
  { missing, places, unreadReportCount: unread = 0, unclear = [], ...gaps }: Missing,
): string | null {
  const { cutOffReportCount, unlistedSuiteCount: unlisted, outsideFailureCount: outside } = gaps;
  const parts = missing === null ? [] : [missing];
  const ended = places.length + cutOffReportCount;
  if (ended > 0) {
    const names = places.slice(0, MAX_NAMED).map(({ file, class: className, suite }) =>
      file || className || suite || "tests without a suite"
    );
    const more = places.length > MAX_NAMED ? ", ..." : "";
    const which = places.length === 0
      ? ""
      : `, unlike the last ${MIN_EARLIER_RUNS} runs on the base branch: ${names.join(", ")}${more}`;
    const processes = plural(ended, "test process", "test processes");
    parts.push(`${processes} ended without a report${which}`);
  }
  if (unlisted > 0) {
    const verbs = unlisted === 1 ? ["declares", "lists"] : ["declare", "list"];
    const it = unlisted === 1 ? "it" : "they";
    parts.push(`${plural(unlisted, "suite")} ${verbs[0]} more tests than ${it} ${verbs[1]}`);
  }
  if (outside > 0) parts.push(`${plural(outside, "failure")} outside of a test`);
  if (unread > 0) parts.push(`${plural(unread, "report")} could not be read`);
  parts.push(...sayUnclear(unclear));
  return parts.length === 0 ? null : parts.join("; ");
}

const NAME_CHARACTERS = 200;

/** What is said of tests whose outcome is unknown, such as after a crash; nothing without any. */
export function sayUnclear(tests: readonly TestIdentity[]): string[] {
  if (tests.length === 0) return [];
  const names = tests.slice(0, MAX_NAMED).map((test) =>
    cutText(fullTestName(test), NAME_CHARACTERS)
  );
  const more = tests.length > MAX_NAMED ? ", ..." : "";
  return [`the outcome of ${plural(tests.length, "test")} is unknown: ${names.join(", ")}${more}`];
}
