/** Applies the rules for equal cases and for reports to the collected results of an upload. */
import type { TestIdentity } from "../../base/identity.ts";
import { type Conclusion, isNegative } from "../../report/result.ts";
import { ATTEMPT_KINDS, kindOf } from "../columns.ts";
import { otherCauses } from "../failure_causes.ts";
import { type CollectedNegative, negativeAt, NegativeCollector, negativeOf } from "../negatives.ts";
import {
  casesOf,
  type CollectedReport,
  type CollectedResults,
  conclusionOf,
  reportOf,
  ruleOf,
  segmentsByTest,
} from "./collected_results.ts";
import { attemptsOf, type EqualCase, type MergedAttempt } from "./equal_cases.ts";
import { countReports, doubleIn } from "./report_counts.ts";
import { relateReports } from "./report_relations.ts";
import { attemptsInReports, type TestInReport } from "./reports.ts";

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
  const negatives = own.flatMap((each) => negativeOf(results.negatives, each) ?? []);
  const textNo = negativeOf(results.negatives, messageOf)?.textNo ?? emptyText();
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

function attemptsOfCases(cases: readonly EqualCase[]): MergedAttempt[] {
  return cases.flatMap(({ attempts }) =>
    attempts.map(({ resultNo, conclusion }) => (
      { conclusion, messageOf: resultNo, resultNos: [resultNo] }
    ))
  );
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
  const { testIndexes, kinds, durations, flags, variants, suiteNos } = results;
  const negatives = new NegativeCollector();
  let count = 0;
  let negativeNo = 0;
  for (let resultNo = 0; resultNo < testIndexes.length; resultNo++) {
    const change = changes.get(resultNo);
    const hasFailed = results.negatives.resultNos[negativeNo] === resultNo;
    const own = hasFailed ? negativeAt(results.negatives, negativeNo++) : null;
    if (change === null) continue;
    const testIndex = testIndexes[resultNo]!;
    testIndexes[count] = testIndex;
    flags[count] = flags[resultNo]!;
    if (variants) variants[count] = variants[resultNo]!;
    if (suiteNos) suiteNos[count] = suiteNos[resultNo]!;
    kinds[count] = change ? ATTEMPT_KINDS.indexOf(kindOf(change.conclusion)) : kinds[resultNo]!;
    durations[count] = change?.durationMicroseconds ?? durations[resultNo]!;
    if (change && isNegative(change.conclusion)) {
      const { conclusion, durationMicroseconds: _, ...causes } = change;
      negatives.push({ testHash: testHashes[testIndex]!, resultNo: count, conclusion, ...causes });
    } else if (!change && own) {
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
    suiteNos,
    negatives: negatives.finish(),
  };
}
