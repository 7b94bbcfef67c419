// Tests: tests/lib/analysis/repetition/merge_results_test.ts tests/lib/analysis/repetition/reports_test.ts
/** How the reports of one upload stand to each other: which repeat earlier ones, or stand in others. */
import type { TestIdentity } from "../../base/identity.ts";
import { ATTEMPT_KINDS } from "../columns.ts";
import { negativeOf } from "../negatives.ts";
import {
  type CollectedReport,
  type CollectedResults,
  reportOf,
  type VisitSegments,
} from "./collected_results.ts";
import { areOtherParts, type ReportSign, saysToRepeat, signsOf } from "./report_order.ts";
import { type ReportRelation, type ReportTests, RerunFinder } from "./reports.ts";
import { groupOf, groupsOf, isSetUp } from "./set_up.ts";

interface RelationOptions {
  reports: readonly CollectedReport[];
  identityOf(testIndex: number): TestIdentity;
  /** Called with a report whose tests all stand equally in another. */
  onRepeatedReport(report: CollectedReport, other: CollectedReport): void;
}

// Reports that a report is compared with, to find one that repeats it.
const MAX_COMPARED = 20;

/** How the reports of an upload stand to each other. */
interface ReportRelations {
  of(reportIndex: number): ReportRelation;
  /** Whether the tests of a report all stand equally in another. */
  isRepeated(reportIndex: number): boolean;
  /** Tests that stand for a set-up that failed, and passed in a later report. */
  healed: number[];
}

/** What is done for the few uploads in which several reports have a test in common. */
export function relateReports(
  results: CollectedResults,
  segments: VisitSegments,
  options: RelationOptions,
): ReportRelations {
  const { reports, identityOf } = options;
  const signs = signsOf(reports.map(({ file }) => file));
  const signOf = (reportIndex: number): ReportSign => {
    const { file, attempt } = reports[reportIndex]!;
    return attempt === undefined
      ? signs.get(file)!
      : { rank: attempt, series: "", folder: "", repeatsFolder: true, home: "", namedAfter: "" };
  };
  const sharing = reportsSharingTests(segments, reports);
  const repeated = repeatedReports(results, sharing, options);
  const isRelated = reports.length > 1 &&
    (sharing.size > 0 || hasSetUpFailure(results, reports, identityOf));
  const groups = groupsByTest(identityOf);
  const own: OwnTests[] = isRelated
    ? reports.flatMap(({ file }, reportIndex) =>
      repeated.has(reportIndex) ? [] : {
        file,
        reportIndex,
        sign: signOf(reportIndex),
        tests: testsOf(results, reports, reportIndex),
      }
    )
    : [];
  const reruns = findReruns(own, groups);
  return {
    of: (reportIndex) => ({ ...signOf(reportIndex), isRerun: reruns.has(reportIndex) }),
    isRepeated: (reportIndex) => repeated.has(reportIndex),
    healed: healedSetUps(own, reruns, groups),
  };
}

/** A report with what ran in it. */
interface OwnTests {
  file: string;
  reportIndex: number;
  sign: ReportSign;
  tests: ReportTests;
}

interface TestGroups {
  group: string;
  groups: string[];
  isSetUp: boolean;
}

/** The groups of tests, each looked up once. */
function groupsByTest(
  identityOf: (testIndex: number) => TestIdentity,
): (testIndex: number) => TestGroups {
  const memory = new Map<number, TestGroups>();
  return (testIndex) => {
    const before = memory.get(testIndex);
    if (before) return before;
    const identity = identityOf(testIndex);
    const found = {
      group: groupOf(identity),
      groups: groupsOf(identity),
      isSetUp: isSetUp(identity),
    };
    memory.set(testIndex, found);
    return found;
  };
}

/** The indexes of the reports that are reruns of what failed in those before. */
function findReruns(
  reports: readonly OwnTests[],
  groupsOf: (testIndex: number) => TestGroups,
): Set<number> {
  const reruns = new Set<number>();
  /** By home: a rerun repeats no report of another package. */
  const finders = new Map<string, RerunFinder>();
  const finderOf = (home: string) => {
    const finder = finders.get(home) ?? new RerunFinder({
      groupOf: (testIndex) => groupsOf(testIndex).group,
      isSetUp: (testIndex) => groupsOf(testIndex).isSetUp,
    });
    finders.set(home, finder);
    return finder;
  };
  /** The reports in which a test failed. */
  const failedIn = new Map<number, string[]>();
  for (const { file, reportIndex, sign, tests } of reports) {
    const finder = finderOf(sign.home);
    const earlier = new Set(tests.testIndexes.flatMap((test) => failedIn.get(test) ?? []));
    const isOtherPart = earlier.values().some((path) => areOtherParts(path, file));
    if (!isOtherPart && finder.isRerun(tests)) reruns.add(reportIndex);
    finder.add(tests);
    for (const test of tests.testIndexes) {
      if (!tests.hasFailed(test)) continue;
      const files = failedIn.get(test) ?? [];
      if (files.length < MAX_COMPARED) files.push(file);
      failedIn.set(test, files);
    }
  }
  return reruns;
}

/** Tests that stand for a set-up that failed, and passed in a report that repeats it. */
function healedSetUps(
  reports: readonly OwnTests[],
  reruns: ReadonlySet<number>,
  groupsOf: (testIndex: number) => TestGroups,
): number[] {
  const healed: number[] = [];
  /** Set-up that failed in the reports so far, by group, with the sign of the report. */
  const failing = new Map<string, Map<number, ReportSign>>();
  for (const { reportIndex, sign, tests } of reports) {
    const isRerun = reruns.has(reportIndex);
    const [setUps, others] = [true, false].map((isSetUp) =>
      tests.testIndexes.filter((test) => groupsOf(test).isSetUp === isSetUp)
    ) as [number[], number[]];
    const broken = new Set(setUps.map((test) => groupsOf(test).group));
    for (const group of new Set(others.flatMap((test) => groupsOf(test).groups))) {
      const failed = failing.get(group);
      if (!failed || broken.has(group)) continue;
      for (const [test, failedIn] of failed) {
        const repeats = isRerun && sign.home === failedIn.home || saysToRepeat(sign, failedIn);
        if (!repeats) continue;
        healed.push(test);
        failed.delete(test);
      }
    }
    for (const test of setUps.filter(tests.hasFailed)) {
      const { group } = groupsOf(test);
      const failed = failing.get(group) ?? new Map<number, ReportSign>();
      failing.set(group, failed.set(test, sign));
    }
  }
  return healed;
}

/** The reports that share a test with each. */
function reportsSharingTests(
  segments: VisitSegments,
  reports: readonly CollectedReport[],
): Map<number, Set<number>> {
  const sharing = new Map<number, Set<number>>();
  segments((_, own) => {
    if (own.length === 1) return;
    const indexes = own.map(([resultNo]) => reportOf(resultNo!, reports));
    for (const index of indexes) {
      const others = sharing.get(index) ?? new Set();
      for (const other of indexes) {
        if (others.size === MAX_COMPARED) break;
        if (other !== index) others.add(other);
      }
      sharing.set(index, others);
    }
  });
  return sharing;
}

function hasSetUpFailure(
  { negatives, testIndexes }: CollectedResults,
  reports: readonly CollectedReport[],
  identityOf: (testIndex: number) => TestIdentity,
): boolean {
  return reports.length > 1 &&
    negatives.resultNos.some((resultNo) => isSetUp(identityOf(testIndexes[resultNo]!)));
}

/** The tests of a report. */
function testsOf(
  { testIndexes, kinds }: CollectedResults,
  reports: readonly CollectedReport[],
  reportIndex: number,
): ReportTests {
  const hasFailed = new Map<number, boolean>();
  for (let no = reports[reportIndex - 1]?.end ?? 0; no < reports[reportIndex]!.end; no++) {
    const testIndex = testIndexes[no]!;
    const failed = ATTEMPT_KINDS[kinds[no]!] === "negative";
    if (failed || !hasFailed.has(testIndex)) hasFailed.set(testIndex, failed);
  }
  return {
    testIndexes: hasFailed.keys().toArray(),
    hasFailed: (testIndex) => hasFailed.get(testIndex) === true,
  };
}

/** Reports whose tests are all in another one too: the parts of a merged report. */
function repeatedReports(
  results: CollectedResults,
  sharing: ReadonlyMap<number, ReadonlySet<number>>,
  { reports, onRepeatedReport }: Pick<RelationOptions, "reports" | "onRepeatedReport">,
): Set<number> {
  const repeated = new Set<number>();
  const contents = new Map<number, Map<string, number>>();
  const contentOf = (reportIndex: number) => {
    const known = contents.get(reportIndex);
    if (known) return known;
    const counts = new Map<string, number>();
    for (let no = reports[reportIndex - 1]?.end ?? 0; no < reports[reportIndex]!.end; no++) {
      const { testIndexes, kinds, durations, negatives } = results;
      const textNo = negativeOf(negatives, no)?.textNo ?? -1;
      const key = `${testIndexes[no]} ${kinds[no]} ${durations[no]} ${textNo}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    contents.set(reportIndex, counts);
    return counts;
  };
  for (const [reportIndex, others] of sharing) {
    const own = contentOf(reportIndex);
    for (const other of others) {
      if (repeated.has(other)) continue;
      const counts = contentOf(other);
      if (counts.size < own.size) continue;
      if (!own.entries().every(([key, count]) => (counts.get(key) ?? 0) >= count)) continue;
      repeated.add(reportIndex);
      onRepeatedReport(reports[reportIndex]!, reports[other]!);
      break;
    }
  }
  return repeated;
}
