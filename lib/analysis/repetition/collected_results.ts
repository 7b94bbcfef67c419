// Tests: tests/lib/analysis/repetition/merge_results_test.ts
/** The results of an upload as they were collected, and their cases. */
import { ATTEMPT_KINDS, CONCLUSION_OF_KIND } from "../columns.ts";
import { negativeOf, type Negatives } from "../negatives.ts";
import type { Conclusion } from "../../report/result.ts";
import type { EqualCasesRule, ReportedTool } from "../../report/report_tool.ts";
import { type EqualCase, ruleAt } from "./equal_cases.ts";

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
  /** `null` if nothing distinguishes cases of one name. */
  variants: Int32Array | null;
  /** Which suite of its report each is in; `null` if every report has one. */
  suiteNos: Uint32Array | null;
  negatives: Negatives;
}

/** Bits of `CollectedResults.flags`. */
export const CaseFlag = { isNewCase: 1, isBare: 2, isRetry: 4 };

/** A report that was read to its end. */
export interface CollectedReport extends ReportedTool {
  /** Number of results up to its end. */
  end: number;
}

/** Visits each test with its results in each report that was read to its end. */
export type VisitSegments = (visit: (testIndex: number, segments: Uint32Array[]) => void) => void;

/** Visits the tests with several results, which few are. */
export function segmentsByTest(
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
export function reportOf(resultNo: number, reports: readonly CollectedReport[]): number {
  let low = 0;
  let high = reports.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (reports[middle]!.end <= resultNo) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function ruleOf(
  resultNo: number,
  reportIndex: number,
  reports: readonly CollectedReport[],
): EqualCasesRule {
  return ruleAt(reports[reportIndex]!, resultNo - (reports[reportIndex - 1]?.end ?? 0));
}

export function casesOf(results: CollectedResults, resultNos: Uint32Array): EqualCase[] {
  const cases: (EqualCase & { attempts: { resultNo: number; conclusion: Conclusion }[] })[] = [];
  for (const resultNo of resultNos) {
    const flags = results.flags[resultNo]!;
    if (cases.length === 0 || flags & CaseFlag.isNewCase) {
      cases.push({
        attempts: [],
        isBare: (flags & CaseFlag.isBare) !== 0,
        isRetry: (flags & CaseFlag.isRetry) !== 0,
        variant: results.variants?.[resultNo] ?? 0,
        suiteNo: results.suiteNos?.[resultNo] ?? 0,
      });
    }
    cases.at(-1)!.attempts.push({ resultNo, conclusion: conclusionOf(results, resultNo) });
  }
  return cases;
}

export function conclusionOf({ kinds, negatives }: CollectedResults, resultNo: number): Conclusion {
  const kind = ATTEMPT_KINDS[kinds[resultNo]!]!;
  return kind === "negative"
    ? negativeOf(negatives, resultNo)!.conclusion
    : CONCLUSION_OF_KIND[kind];
}
