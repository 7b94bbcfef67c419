/** Applies the rules for equal cases and for reports to the collected results of an upload. */
import type { TestIdentity } from "../../base/identity.ts";
import {
  attemptsOf,
  doubleCount,
  type EqualCase,
  type EqualCasesRule,
  type MergedAttempt,
  readAsRetried,
  type ReportCounts,
  type ReportedTool,
  ruleAt,
} from "./equal_cases.ts";
import { type Conclusion, isNegative } from "../../report/result.ts";
import { ATTEMPT_KINDS, CONCLUSION_OF_KIND, kindOf } from "../columns.ts";
import { otherCauses } from "../failure_causes.ts";
import { type AttemptSign, signsOf } from "./report_order.ts";
import {
  attemptsInReports,
  type ReportRelation,
  type ReportTests,
  RerunFinder,
  type TestInReport,
} from "./reports.ts";
import { groupOf, isSetUp } from "./set_up.ts";

/** A failure or error. */
export interface CollectedNegative {
  testHash: number;
  /** Position of the result in its submission. */
  resultNo: number;
  conclusion: "failure" | "error";
  /** Index of its text in `texts`. */
  textNo: number;
  /** Fingerprints of its causes other than its text's, sorted; absent without any. */
  otherFingerprints?: string[];
}

/** Results in the order of their reports; all arrays have the same length. */
interface CollectedResults {
  /** Index of each result's test. */
  testIndexes: Uint32Array;
  /** Indexes of `ATTEMPT_KINDS`. */
  kinds: Uint8Array;
  /** Whole microseconds. */
  durations: Float64Array;
  /** `CaseFlag`s. */
  flags: Uint8Array;
  /** `null` if nothing tells cases of one name apart. */
  variants: Int32Array | null;
  /** Ascending by `resultNo`. */
  negatives: CollectedNegative[];
}

/** Bits of `CollectedResults.flags`. */
export const CaseFlag = { isNewCase: 1, isBare: 2, isRetry: 4 };

/** A report that was read to its end. */
export interface CollectedReport extends ReportedTool {
  /** Number of results up to its end. */
  end: number;
}

// Names in one note.
const NAMED_TESTS = 5;

/** Tests that share a name with others of their report, as they are counted for its note. */
interface SharedNames {
  count: number;
  /** The first tests, each by its first result. */
  first: { resultNo: number; testIndex: number; caseCount: number }[];
}

/** Tests that stand in several reports, which are configurations, as they are counted for a note. */
interface Configurations {
  count: number;
  /** The test with the first result, and two reports that have it. */
  first: { resultNo: number; testIndex: number; files: [string, string] };
}

interface Change extends Pick<CollectedNegative, "textNo" | "otherFingerprints"> {
  conclusion: Conclusion;
  durationMicroseconds: number;
}

interface MergeOptions {
  testHashes: Float64Array;
  reports: readonly CollectedReport[];
  identityOf(testIndex: number): TestIdentity;
  /** The number of the text without a message. */
  emptyText(): number;
  /** The fingerprint of a text, by its number. */
  fingerprintOf(textNo: number): string;
  /** Called with each test that stands for several. */
  onAmbiguous(testIndex: number): void;
  onMerged(report: CollectedReport, shared: SharedNames): void;
  onConfigurations(configurations: Configurations): void;
  /** Called with a report whose tests all stand equally in another. */
  onRepeatedReport(report: CollectedReport, other: CollectedReport): void;
}

/**
 * Finds out which results of a submission are attempts of one test, by the rules for equal cases of one
 * report and for the reports of one upload, and merges the others. Returns the results that are left, in
 * order, and calls `onMerged` for each report in which different tests became one.
 */
export function mergeResults(given: CollectedResults, options: MergeOptions): CollectedResults {
  const { testHashes, reports, emptyText, fingerprintOf, onAmbiguous, onMerged } = options;
  const results = given;
  const segments = segmentsByTest(results, testHashes.length, reports);
  const counts = countReports(results, segments, options);
  const relations = relateReports(results, segments, options);
  const changes = new Map<number, Change | null>();
  const shared = new Map<number, SharedNames>();
  let configurations: Configurations | null = null;

  segments((testIndex, own) => {
    const doubles = doubleIn(results, own, reports, counts);
    const parts = own.flatMap((resultNos): (TestInReport & { resultNos: Uint32Array })[] => {
      const reportIndex = reportOf(resultNos[0]!, reports);
      if (relations.isRepeated(reportIndex)) {
        resultNos.forEach((resultNo) => changes.set(resultNo, null));
        return [];
      }
      const relation = relations.of(reportIndex);
      const cases = casesOf(results, resultNos);
      const plain = attemptsOfCases(cases);
      if (cases.length === 1) return [{ relation, attempts: plain, resultNos }];
      const rule = ruleOf(resultNos[0]!, reportIndex, reports);
      const isAtEnd = !rule.retriesAtEnd || counts.areAtEnd(reportIndex, testIndex);
      const applied = doubles || !isAtEnd ? { ...rule, meaning: "tests" as const } : rule;
      const { attempts, isMerged } = attemptsOf(cases, applied, counts.of(reportIndex, rule));
      if (isMerged) {
        onAmbiguous(testIndex);
        const [resultNo] = resultNos;
        noteShared(shared, reportIndex, {
          resultNo: resultNo!,
          testIndex,
          caseCount: cases.length,
        });
      }
      return [{ relation, attempts, resultNos }];
    });
    if (parts.length === 0) return;
    const { attempts, isConfiguration } = parts.length === 1
      ? { ...parts[0]!, isConfiguration: false }
      : attemptsInReports(parts);
    if (isConfiguration) {
      onAmbiguous(testIndex);
      const [first, second] = parts.map(({ resultNos }) => resultNos[0]!);
      const earliest = configurations?.first.resultNo ?? Infinity;
      const fileOf = (resultNo: number) => reports[reportOf(resultNo, reports)]?.file ?? "";
      configurations = {
        count: (configurations?.count ?? 0) + 1,
        first: configurations && earliest <= first! ? configurations.first : {
          resultNo: first!,
          testIndex,
          files: [fileOf(first!), fileOf(second!)],
        },
      };
    }
    const resultNos = parts.flatMap((part) => [...part.resultNos]);
    // Nearly always: nothing was merged.
    const isUnchanged = attempts.length === resultNos.length &&
      attempts.every(({ conclusion }, index) =>
        conclusion === conclusionOf(results, resultNos[index]!)
      );
    if (isUnchanged) return;
    resultNos.forEach((resultNo, index) => {
      changes.set(resultNo, changeOf(results, attempts[index], { emptyText, fingerprintOf }));
    });
  });
  for (const [reportIndex, names] of shared) onMerged(reports[reportIndex]!, names);
  if (configurations) options.onConfigurations(configurations);
  const merged = changes.size === 0 ? results : changed(results, changes, testHashes);
  return relations.healed.length === 0 ? merged : withPasses(merged, relations.healed);
}

/** What becomes of a result that has this attempt; `null` without one. */
function changeOf(
  results: CollectedResults,
  attempt: MergedAttempt | undefined,
  { emptyText, fingerprintOf }: Pick<MergeOptions, "emptyText" | "fingerprintOf">,
): Change | null {
  if (!attempt) return null;
  const { conclusion, messageOf, resultNos: own } = attempt;
  const durations = own.map((each) => results.durations[each]!);
  const durationMicroseconds = durations.reduce((sum, each) => sum + each, 0);
  if (!isNegative(conclusion)) return { conclusion, durationMicroseconds, textNo: -1 };
  const negatives = own.flatMap((each) => negativeAt(results.negatives, each) ?? []);
  const textNo = negativeAt(results.negatives, messageOf)?.textNo ?? emptyText();
  const otherFingerprints = otherCauses(
    fingerprintOf(textNo),
    negatives.flatMap((one) => [fingerprintOf(one.textNo), ...one.otherFingerprints ?? []]),
  );
  return {
    conclusion,
    durationMicroseconds,
    textNo,
    ...otherFingerprints && { otherFingerprints },
  };
}

/** Visits each test with its results in each report that was read to its end. */
type VisitSegments = (visit: (testIndex: number, segments: Uint32Array[]) => void) => void;

/** Visits the tests with several results, which few are. */
function segmentsByTest(
  { testIndexes }: CollectedResults,
  testCount: number,
  reports: readonly CollectedReport[],
): VisitSegments {
  // A counting sort: result numbers by test, in order within each test.
  const ends = new Uint32Array(testCount + 1);
  for (const testIndex of testIndexes) ends[testIndex + 1]!++;
  for (let index = 1; index <= testCount; index++) {
    const own = ends[index]!;
    ends[index] = ends[index - 1]! + (own > 1 ? own : 0);
  }
  const ordered = new Uint32Array(ends[testCount]!);
  const next = ends.slice(0, testCount);
  for (let resultNo = 0; resultNo < testIndexes.length; resultNo++) {
    const testIndex = testIndexes[resultNo]!;
    if (ends[testIndex] !== ends[testIndex + 1]) ordered[next[testIndex]!++] = resultNo;
  }
  return (visit) => {
    for (let testIndex = 0; testIndex < testCount; testIndex++) {
      const end = ends[testIndex + 1]!;
      let start = ends[testIndex]!;
      if (start === end) continue;
      const segments: Uint32Array[] = [];
      while (start < end) {
        const reportIndex = reportOf(ordered[start]!, reports);
        if (reportIndex === reports.length) break;
        let segmentEnd = start + 1;
        while (segmentEnd < end && ordered[segmentEnd]! < reports[reportIndex]!.end) segmentEnd++;
        segments.push(ordered.subarray(start, segmentEnd));
        start = segmentEnd;
      }
      if (segments.length > 0) visit(testIndex, segments);
    }
  };
}

/** The index of the report with a result; their number if it belongs to none. */
function reportOf(resultNo: number, reports: readonly CollectedReport[]): number {
  let low = 0;
  let high = reports.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (reports[middle]!.end <= resultNo) low = middle + 1;
    else high = middle;
  }
  return low;
}

function ruleOf(
  resultNo: number,
  reportIndex: number,
  reports: readonly CollectedReport[],
): EqualCasesRule {
  return ruleAt(reports[reportIndex]!, resultNo - (reports[reportIndex - 1]?.end ?? 0));
}

/** What is known about each report, or about the suites of one tool in it. */
interface CountedReports {
  of(reportIndex: number, rule: EqualCasesRule): ReportCounts;
  /** Whether the further cases of a test follow the first cases of all tests of their suite. */
  areAtEnd(reportIndex: number, testIndex: number): boolean;
}

/**
 * Counts what `attemptsOf` wants to know about each report. Where plugins leave bare cases, tests that read
 * as retried do not show that the run was repeated: a broken tear-down leaves them for all tests, and
 * without a surplus.
 */
function countReports(
  results: CollectedResults,
  segments: VisitSegments,
  { reports, identityOf }: Pick<MergeOptions, "reports" | "identityOf">,
): CountedReports {
  const counts = reports.map(() => new Map<EqualCasesRule, RuleCounts>());
  const countsOf = (reportIndex: number, rule: EqualCasesRule) => {
    const known = counts[reportIndex]!.get(rule);
    const own = known ?? { testCount: 0, repeated: new Map(), doubleCount: 0 };
    if (!known) counts[reportIndex]!.set(rule, own);
    return own;
  };
  // All results, less those that repeat a test.
  for (const [index, { rule, changes = [], end }] of reports.entries()) {
    const resultCount = end - (reports[index - 1]?.end ?? 0);
    [{ resultNo: 0, rule }, ...changes].forEach((change, at) => {
      const next = changes[at]?.resultNo ?? resultCount;
      countsOf(index, change.rule).testCount += next - change.resultNo;
    });
  }
  segments((testIndex, own) => {
    for (const resultNos of own) {
      if (resultNos.length === 1) continue;
      const reportIndex = reportOf(resultNos[0]!, reports);
      const rule = ruleOf(resultNos[0]!, reportIndex, reports);
      const counted = countsOf(reportIndex, rule);
      counted.testCount -= resultNos.length - 1;
      const cases = casesOf(results, resultNos);
      if (rule.hasBareAttempts) {
        counted.doubleCount += doubleCount(cases);
        if (readAsRetried(cases)) continue;
      }
      const [first] = cases;
      if (cases.some(({ variant }) => variant !== first!.variant)) continue;
      counted.repeated.set(testIndex, cases.map(({ attempts }) => attempts[0]!.resultNo));
    }
  });
  const suites = suiteFinder(results, reports, identityOf);
  const rounds = counts.map((byRule, reportIndex) =>
    new Map(
      [...byRule].map(([rule, { testCount, repeated }]) =>
        [rule, isInRounds({ rule, repeated, testCount }, suites(reportIndex))] as const
      ),
    )
  );
  return {
    of(reportIndex, rule) {
      const { doubleCount } = countsOf(reportIndex, rule);
      const report = reports[reportIndex]!;
      const surplus = rule === report.rule
        ? report.surplusCaseCount
        : report.otherSurplus?.get(rule) ?? 0;
      return {
        isRepeated: rounds[reportIndex]!.get(rule) === true,
        surplusCaseCount: surplus - doubleCount,
      };
    },
    areAtEnd(reportIndex, testIndex) {
      const [, second = 0] = counts[reportIndex]!.values().flatMap(({ repeated }) =>
        repeated.get(testIndex) ?? []
      );
      const { suiteOf, lastFirstMethod } = suites(reportIndex)();
      return second > (lastFirstMethod.get(suiteOf(testIndex)) ?? -1);
    },
  };
}

interface RuleCounts {
  testCount: number;
  /** The tests that occur several times, each with the numbers of its cases' first results. */
  repeated: Map<number, number[]>;
  doubleCount: number;
}

/** The suites of a report. */
interface ReportSuites {
  suiteOf(testIndex: number): string;
  /** Of each suite, the last result that is the first of its test. */
  lastFirst: ReadonlyMap<string, number>;
  /** The same without rows of parameters, which Gradle lists behind all others. */
  lastFirstMethod: ReadonlyMap<string, number>;
  /** Of each suite, its number of tests. */
  testCounts: ReadonlyMap<string, number>;
}

/** Looks at the suites of a report when they are needed, once. */
function suiteFinder(
  { testIndexes }: CollectedResults,
  reports: readonly CollectedReport[],
  identityOf: (testIndex: number) => TestIdentity,
): (reportIndex: number) => () => ReportSuites {
  const found = new Map<number, ReportSuites>();
  const find = (reportIndex: number): ReportSuites => {
    const names = new Map<number, string>();
    const lastFirst = new Map<string, number>();
    const lastFirstMethod = new Map<string, number>();
    const testCounts = new Map<string, number>();
    const start = reports[reportIndex - 1]?.end ?? 0;
    for (let resultNo = start; resultNo < reports[reportIndex]!.end; resultNo++) {
      const testIndex = testIndexes[resultNo]!;
      if (names.has(testIndex)) continue;
      const { suite, name } = identityOf(testIndex);
      names.set(testIndex, suite);
      lastFirst.set(suite, resultNo);
      if (!/\[\d+\]$/.test(name)) lastFirstMethod.set(suite, resultNo);
      testCounts.set(suite, (testCounts.get(suite) ?? 0) + 1);
    }
    return {
      suiteOf: (testIndex) => names.get(testIndex)!,
      lastFirst,
      lastFirstMethod,
      testCounts,
    };
  };
  return (reportIndex) => () => {
    const suites = found.get(reportIndex) ?? find(reportIndex);
    found.set(reportIndex, suites);
    return suites;
  };
}

/** Fewer tests, or fewer that occur equally often, show nothing. */
const MIN_TESTS_IN_ROUNDS = 4;

/**
 * Whether a run was repeated as a whole: at least half of its tests, of at least 4, occur equally often,
 * and none again before its round has ended. A round is one of the whole report or, if every suite was
 * repeated, of its suite: Go runs a package to its end.
 */
function isInRounds(
  { rule, repeated, testCount }: Pick<RuleCounts, "repeated" | "testCount"> & {
    rule: EqualCasesRule;
  },
  suites: () => ReportSuites,
): boolean {
  if (testCount < MIN_TESTS_IN_ROUNDS || 2 * repeated.size < testCount) return false;
  const byTimes = Map.groupBy(repeated.values(), ({ length }) => length);
  if (!byTimes.values().some(({ length }) => 2 * length >= testCount)) return false;
  if (rule.hasParallelRounds) return true;
  const { suiteOf, lastFirst, testCounts } = suites();
  const lastOfAll = lastFirst.values().reduce((last, resultNo) => Math.max(last, resultNo), 0);
  if (areRounds([...repeated.values()], lastOfAll)) return true;
  const bySuite = Map.groupBy(repeated, ([testIndex]) => suiteOf(testIndex));
  // A suite of one test, which is repeated alone, shows no rounds.
  const tests = [...testCounts].filter(([suite, count]) => count > 1 && bySuite.has(suite))
    .reduce((sum, [, count]) => sum + count, 0);
  return bySuite.size === testCounts.size && 2 * tests >= testCount &&
    bySuite.entries().every(([suite, own]) =>
      areRounds(own.map(([, resultNos]) => resultNos), lastFirst.get(suite)!)
    );
}

/** Whether no case comes again before its round has ended; `lastFirst` is where the first one does. */
function areRounds(repeated: readonly (readonly number[])[], lastFirst: number): boolean {
  let end = lastFirst;
  for (let round = 1, rest = repeated;; round++) {
    rest = rest.filter(({ length }) => length > round);
    if (rest.length === 0) return true;
    let next = end;
    for (const resultNos of rest) {
      if (resultNos[round]! < end) return false;
      next = Math.max(next, resultNos[round]!);
    }
    end = next;
  }
}

/** Whether two equal cases of a test passed in some report, outside of rounds: they are two tests. */
function doubleIn(
  results: CollectedResults,
  segments: readonly Uint32Array[],
  reports: readonly CollectedReport[],
  counts: CountedReports,
): boolean {
  return segments.some((resultNos) => {
    if (resultNos.length === 1) return false;
    const reportIndex = reportOf(resultNos[0]!, reports);
    const rule = ruleOf(resultNos[0]!, reportIndex, reports);
    // A bare case may be a failed attempt.
    if (rule.hasBareAttempts || counts.of(reportIndex, rule).isRepeated) return false;
    const passed = casesOf(results, resultNos).filter(({ attempts }) =>
      attempts.at(-1)!.conclusion === "passing"
    );
    return passed.some(({ variant }, index) =>
      passed.findIndex((one) => one.variant === variant) < index
    );
  });
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
function relateReports(
  results: CollectedResults,
  segments: VisitSegments,
  options: MergeOptions,
): ReportRelations {
  const { reports, identityOf } = options;
  const signs = signsOf(reports.map(({ file }) => file));
  const signOf = (reportIndex: number): AttemptSign => {
    const { file, attempt } = reports[reportIndex]!;
    return attempt === undefined ? signs.get(file)! : { rank: attempt, series: "" };
  };
  /** The reports that share a test with each. */
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
  const repeated = repeatedReports(results, sharing, options);
  const reruns = new Set<number>();
  const isRelated = sharing.size > 0 || hasSetUpFailure(results, reports, identityOf);
  const memory = new Map<number, { group: string; isSetUp: boolean }>();
  const known = (testIndex: number) => {
    const before = memory.get(testIndex);
    if (before) return before;
    const identity = identityOf(testIndex);
    const found = { group: groupOf(identity), isSetUp: isSetUp(identity) };
    memory.set(testIndex, found);
    return found;
  };
  const healed: number[] = [];
  if (isRelated && reports.length > 1) {
    const finder = new RerunFinder({
      groupOf: (testIndex) => known(testIndex).group,
      isSetUp: (testIndex) => known(testIndex).isSetUp,
    });
    /** Set-up that failed in the reports so far, by group, with the rank of the report. */
    const failing = new Map<string, Map<number, number>>();
    reports.forEach((_, reportIndex) => {
      if (repeated.has(reportIndex)) return;
      const tests = testsOf(results, reports, reportIndex);
      const { rank } = signOf(reportIndex);
      const isRerun = reportIndex > 0 && finder.isRerun(tests);
      if (isRerun) reruns.add(reportIndex);
      finder.add(tests);
      const own = [...tests.testIndexes];
      const groups = new Set(own.map((test) => known(test).group));
      const broken = new Set(
        own.filter((test) => known(test).isSetUp).map((test) => known(test).group),
      );
      for (const group of groups) {
        const failed = failing.get(group);
        if (!failed || broken.has(group)) continue;
        for (const [test, failedAt] of failed) {
          if (!isRerun && rank <= failedAt) continue;
          healed.push(test);
          failed.delete(test);
        }
      }
      for (const test of own) {
        const { group, isSetUp } = known(test);
        if (!isSetUp || !tests.hasFailed(test)) continue;
        const failed = failing.get(group) ?? new Map<number, number>();
        failing.set(group, failed.set(test, rank));
      }
    });
  }
  return {
    of: (reportIndex) => ({ ...signOf(reportIndex), isRerun: reruns.has(reportIndex) }),
    isRepeated: (reportIndex) => repeated.has(reportIndex),
    healed,
  };
}

function hasSetUpFailure(
  { negatives, testIndexes }: CollectedResults,
  reports: readonly CollectedReport[],
  identityOf: (testIndex: number) => TestIdentity,
): boolean {
  return reports.length > 1 &&
    negatives.some(({ resultNo }) => isSetUp(identityOf(testIndexes[resultNo]!)));
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

/** Reports whose tests all stand equally in another: one merged from several beside its parts. */
function repeatedReports(
  results: CollectedResults,
  sharing: ReadonlyMap<number, ReadonlySet<number>>,
  { reports, onRepeatedReport }: Pick<MergeOptions, "reports" | "onRepeatedReport">,
): Set<number> {
  const repeated = new Set<number>();
  const contents = new Map<number, Map<string, number>>();
  const contentOf = (reportIndex: number) => {
    const known = contents.get(reportIndex);
    if (known) return known;
    const counts = new Map<string, number>();
    for (let no = reports[reportIndex - 1]?.end ?? 0; no < reports[reportIndex]!.end; no++) {
      const { testIndexes, kinds, durations, negatives } = results;
      const textNo = negativeAt(negatives, no)?.textNo ?? -1;
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

/** The results and, after them, a pass of each of these tests. */
function withPasses(results: CollectedResults, tests: readonly number[]): CollectedResults {
  const { testIndexes, kinds, durations } = results;
  return {
    ...results,
    testIndexes: Uint32Array.from([...testIndexes, ...tests]),
    kinds: Uint8Array.from([...kinds, ...tests.map(() => ATTEMPT_KINDS.indexOf("positive"))]),
    durations: Float64Array.from([...durations, ...tests.map(() => 0)]),
  };
}

function casesOf(results: CollectedResults, resultNos: Uint32Array): EqualCase[] {
  const cases: (EqualCase & { attempts: { resultNo: number; conclusion: Conclusion }[] })[] = [];
  for (const resultNo of resultNos) {
    const flags = results.flags[resultNo]!;
    if (cases.length === 0 || flags & CaseFlag.isNewCase) {
      cases.push({
        attempts: [],
        isBare: (flags & CaseFlag.isBare) !== 0,
        isRetry: (flags & CaseFlag.isRetry) !== 0,
        variant: results.variants?.[resultNo] ?? 0,
      });
    }
    cases.at(-1)!.attempts.push({ resultNo, conclusion: conclusionOf(results, resultNo) });
  }
  return cases;
}

/** The attempts of a test with one case. */
function attemptsOfCases(cases: readonly EqualCase[]): MergedAttempt[] {
  return cases.flatMap(({ attempts }) =>
    attempts.map(({ resultNo, conclusion }) => (
      { conclusion, messageOf: resultNo, resultNos: [resultNo] }
    ))
  );
}

function conclusionOf({ kinds, negatives }: CollectedResults, resultNo: number): Conclusion {
  const kind = ATTEMPT_KINDS[kinds[resultNo]!]!;
  return kind === "negative"
    ? negativeAt(negatives, resultNo)!.conclusion
    : CONCLUSION_OF_KIND[kind];
}

function negativeAt(
  negatives: readonly CollectedNegative[],
  resultNo: number,
): CollectedNegative | undefined {
  let low = 0;
  let high = negatives.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (negatives[middle]!.resultNo < resultNo) low = middle + 1;
    else high = middle;
  }
  return negatives[low]?.resultNo === resultNo ? negatives[low] : undefined;
}

function noteShared(
  shared: Map<number, SharedNames>,
  reportIndex: number,
  test: SharedNames["first"][number],
): void {
  const names = shared.get(reportIndex) ?? { count: 0, first: [] };
  shared.set(reportIndex, names);
  names.count++;
  // Tests come in the order of their hashes.
  const at = names.first.findLastIndex(({ resultNo }) => resultNo < test.resultNo) + 1;
  if (at === NAMED_TESTS) return;
  names.first.splice(at, 0, test);
  names.first.splice(NAMED_TESTS);
}

/** The results with changes applied; `null` leaves a result out. */
function changed(
  results: CollectedResults,
  changes: ReadonlyMap<number, Change | null>,
  testHashes: Float64Array,
): CollectedResults {
  const { testIndexes, kinds, durations, flags, variants } = results;
  const negatives: CollectedNegative[] = [];
  let count = 0;
  let negativeNo = 0;
  for (let resultNo = 0; resultNo < testIndexes.length; resultNo++) {
    const change = changes.get(resultNo);
    const own = results.negatives[negativeNo];
    const isOwn = own?.resultNo === resultNo;
    if (isOwn) negativeNo++;
    if (change === null) continue;
    const testIndex = testIndexes[resultNo]!;
    testIndexes[count] = testIndex;
    flags[count] = flags[resultNo]!;
    if (variants) variants[count] = variants[resultNo]!;
    kinds[count] = change ? ATTEMPT_KINDS.indexOf(kindOf(change.conclusion)) : kinds[resultNo]!;
    durations[count] = change?.durationMicroseconds ?? durations[resultNo]!;
    if (change && isNegative(change.conclusion)) {
      const { conclusion, durationMicroseconds: _, ...causes } = change;
      negatives.push({ testHash: testHashes[testIndex]!, resultNo: count, conclusion, ...causes });
    } else if (!change && isOwn) {
      negatives.push({ ...own, resultNo: count });
    }
    count++;
  }
  return {
    testIndexes: testIndexes.subarray(0, count),
    kinds: kinds.subarray(0, count),
    durations: durations.subarray(0, count),
    flags: flags.subarray(0, count),
    variants,
    negatives,
  };
}
