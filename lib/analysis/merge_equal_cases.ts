/** Applies the rule of equal cases to the collected results of a submission. */
import {
  attemptsOf,
  doubleCount,
  type EqualCase,
  type EqualCasesRule,
  readAsRetried,
  type ReportCounts,
  type ReportedTool,
  ruleAt,
} from "../report/equal_cases.ts";
import { type Conclusion, isNegative } from "../report/result.ts";
import { ATTEMPT_KINDS, CONCLUSION_OF_KIND, kindOf } from "./columns.ts";
import { otherCauses } from "./failure_causes.ts";

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
export interface CollectedResults {
  /** Index of each result's test. */
  testIndexes: Uint32Array;
  /** Indexes of `ATTEMPT_KINDS`. */
  kinds: Uint8Array;
  /** Whole microseconds. */
  durations: Float64Array;
  /** `CaseFlag`s. */
  flags: Uint8Array;
  /** `null` if no report has lines. */
  lines: Int32Array | null;
  /** Ascending by `resultNo`. */
  negatives: CollectedNegative[];
}

/** Bits of `CollectedResults.flags`. */
export const CaseFlag = { isNewCase: 1, isBare: 2 };

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

interface Change extends Pick<CollectedNegative, "textNo" | "otherFingerprints"> {
  conclusion: Conclusion;
  durationMicroseconds: number;
}

/**
 * Merges equal cases of one report; equal cases of different reports are attempts. Returns the results
 * that are left, in order, and calls `onMerged` for each report in which different tests became one.
 */
export function mergeEqualCases(
  results: CollectedResults,
  { testHashes, reports, emptyText, fingerprintOf, onAmbiguous, onMerged }: {
    testHashes: Float64Array;
    reports: readonly CollectedReport[];
    /** The number of the text without a message. */
    emptyText(): number;
    /** The fingerprint of a text, by its number. */
    fingerprintOf(textNo: number): string;
    /** Called with each test that stands for several. */
    onAmbiguous(testIndex: number): void;
    onMerged(report: CollectedReport, shared: SharedNames): void;
  },
): CollectedResults {
  const segments = segmentsByTest(results, testHashes.length, reports);
  const counts = countReports(results, segments, reports);
  const changes = new Map<number, Change | null>();
  const shared = new Map<number, SharedNames>();
  segments((testIndex, reportIndex, resultNos) => {
    if (resultNos.length === 1) return;
    const cases = casesOf(results, resultNos);
    if (cases.length === 1) return;
    const rule = ruleOf(resultNos[0]!, reportIndex, reports);
    const { attempts, isMerged } = attemptsOf(cases, rule, counts(reportIndex, rule));
    if (isMerged) {
      onAmbiguous(testIndex);
      const [resultNo] = resultNos;
      noteShared(shared, reportIndex, { resultNo: resultNo!, testIndex, caseCount: cases.length });
    }
    resultNos.forEach((resultNo, index) => {
      const attempt = attempts[index];
      if (!attempt) return changes.set(resultNo, null);
      const { conclusion, messageOf, resultNos: own } = attempt;
      const durations = own.map((each) => results.durations[each]!);
      const durationMicroseconds = durations.reduce((sum, each) => sum + each, 0);
      if (!isNegative(conclusion)) {
        return changes.set(resultNo, { conclusion, durationMicroseconds, textNo: -1 });
      }
      const negatives = own.flatMap((each) => negativeAt(results.negatives, each) ?? []);
      const textNo = negativeAt(results.negatives, messageOf)?.textNo ?? emptyText();
      const otherFingerprints = otherCauses(
        fingerprintOf(textNo),
        negatives.flatMap((one) => [fingerprintOf(one.textNo), ...one.otherFingerprints ?? []]),
      );
      changes.set(resultNo, {
        conclusion,
        durationMicroseconds,
        textNo,
        ...otherFingerprints && { otherFingerprints },
      });
    });
  });
  for (const [reportIndex, names] of shared) onMerged(reports[reportIndex]!, names);
  return changes.size === 0 ? results : changed(results, changes, testHashes);
}

type VisitSegments = (
  visit: (testIndex: number, reportIndex: number, resultNos: Uint32Array) => void,
) => void;

/**
 * Visits the results of each test in each report that was read to its end, except for tests with one
 * result in all, which nearly all are.
 */
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
      while (start < end) {
        const reportIndex = reportOf(ordered[start]!, reports);
        if (reportIndex === reports.length) break;
        let segmentEnd = start + 1;
        while (segmentEnd < end && ordered[segmentEnd]! < reports[reportIndex]!.end) segmentEnd++;
        visit(testIndex, reportIndex, ordered.subarray(start, segmentEnd));
        start = segmentEnd;
      }
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

/**
 * What is known about each report, or about the suites of one tool in it. They were repeated as a whole
 * if at least half of their tests, and more than one, occur equally often, at least twice. Where plugins
 * leave bare cases, tests that read as retried do not show that: a broken tear-down leaves them for
 * all tests, and without a surplus.
 */
function countReports(
  results: CollectedResults,
  segments: VisitSegments,
  reports: readonly CollectedReport[],
): (reportIndex: number, rule: EqualCasesRule) => ReportCounts {
  const counts = reports.map(() => new Map<EqualCasesRule, RuleCounts>());
  const countsOf = (reportIndex: number, rule: EqualCasesRule) => {
    const known = counts[reportIndex]!.get(rule);
    const own = known ?? { testCount: 0, repetitions: new Map(), doubleCount: 0 };
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
  segments((_, reportIndex, resultNos) => {
    const rule = ruleOf(resultNos[0]!, reportIndex, reports);
    const own = countsOf(reportIndex, rule);
    own.testCount -= resultNos.length - 1;
    if (rule.hasBareAttempts) {
      const cases = casesOf(results, resultNos);
      own.doubleCount += doubleCount(cases);
      if (readAsRetried(cases)) return;
    }
    let caseCount = 0;
    for (const resultNo of resultNos) {
      if (results.flags[resultNo]! & CaseFlag.isNewCase) caseCount++;
    }
    own.repetitions.set(caseCount, (own.repetitions.get(caseCount) ?? 0) + 1);
  });
  return (reportIndex, rule) => {
    const { repetitions, testCount, doubleCount } = countsOf(reportIndex, rule);
    const report = reports[reportIndex]!;
    const surplus = rule === report.rule
      ? report.surplusCaseCount
      : report.otherSurplus?.get(rule) ?? 0;
    return {
      isRepeated: repetitions.entries().some(([times, count]) =>
        times > 1 && count > 1 && 2 * count >= testCount
      ),
      surplusCaseCount: surplus - doubleCount,
    };
  };
}

interface RuleCounts {
  testCount: number;
  /** How many tests occur so often. */
  repetitions: Map<number, number>;
  doubleCount: number;
}

function casesOf(results: CollectedResults, resultNos: Uint32Array): EqualCase[] {
  const cases: (EqualCase & { attempts: { resultNo: number; conclusion: Conclusion }[] })[] = [];
  for (const resultNo of resultNos) {
    const flags = results.flags[resultNo]!;
    if (cases.length === 0 || flags & CaseFlag.isNewCase) {
      const line = results.lines?.[resultNo] ?? 0;
      cases.push({ attempts: [], isBare: (flags & CaseFlag.isBare) !== 0, line });
    }
    cases.at(-1)!.attempts.push({ resultNo, conclusion: conclusionOf(results, resultNo) });
  }
  return cases;
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
  const { testIndexes, kinds, durations, flags, lines } = results;
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
    if (lines) lines[count] = lines[resultNo]!;
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
    lines,
    negatives,
  };
}
