// Tests: tests/lib/analysis/repetition/merge_results_test.ts tests/lib/analysis/repetition/reports_test.ts
/** What the equal cases of each report show: whether its run was repeated as a whole, and in which order. */
import type { TestIdentity } from "../../base/identity.ts";
import {
  casesOf,
  type CollectedReport,
  type CollectedResults,
  reportOf,
  ruleOf,
  type VisitSegments,
} from "./collected_results.ts";
import type { EqualCasesRule } from "../../report/report_tool.ts";
import { areOfOneSuite, doubleCount, readAsRetried, type ReportCounts } from "./equal_cases.ts";

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
export function countReports(
  results: CollectedResults,
  segments: VisitSegments,
  { reports, identityOf }: {
    reports: readonly CollectedReport[];
    identityOf(testIndex: number): TestIdentity;
  },
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
      if (cases.length === 1) continue;
      if (rule.hasBareAttempts) {
        counted.doubleCount += doubleCount(cases);
        if (readAsRetried(cases)) continue;
      }
      if (!areOfOneSuite(cases)) continue;
      counted.repeated.set(testIndex, cases.map(({ attempts }) => attempts[0]!.resultNo));
    }
  });
  const suites = suiteFinder(results, reports, identityOf);
  const rounds = counts.map((byRule, reportIndex) =>
    new Map(
      [...byRule].map(([rule, { testCount, repeated }]) =>
        [rule, rule.rounds && roundsOf({ repeated, testCount }, suites(reportIndex))] as const
      ),
    )
  );
  return {
    of(reportIndex, rule) {
      const { doubleCount } = countsOf(reportIndex, rule);
      const report = reports[reportIndex]!;
      const found = rounds[reportIndex]!.get(rule) ?? null;
      const surplus = rule === report.rule
        ? report.surplusCaseCount
        : report.otherSurplus?.get(rule) ?? 0;
      return {
        isRepeated: found !== null && found === rule.rounds,
        // Workers of pytest overlap.
        isJoined: found === "in turn" && rule.rounds === "overlapping",
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

/** The suites of a report, by number and name. */
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
  { testIndexes, suiteNos }: CollectedResults,
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
      const { suite: suiteName, name } = identityOf(testIndex);
      const suite = `${suiteNos?.[resultNo] ?? 0} ${suiteName}`;
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
 * In which order the rounds of a run are in its report; `null` without rounds. There are rounds if at least half of
 * the tests, of at least 4, occur equally often, in every suite. Reports of two configurations that were merged look like this as well, so that only the
 * rounds that a tool writes are a repetition.
 */
function roundsOf(
  { repeated, testCount }: Pick<RuleCounts, "repeated" | "testCount">,
  suites: () => ReportSuites,
): EqualCasesRule["rounds"] | null {
  if (testCount < MIN_TESTS_IN_ROUNDS || 2 * repeated.size < testCount) return null;
  const byTimes = Map.groupBy(repeated.values(), ({ length }) => length);
  if (!byTimes.values().some(({ length }) => 2 * length >= testCount)) return null;
  const { suiteOf, lastFirst, testCounts } = suites();
  const bySuite = Map.groupBy(repeated, ([testIndex]) => suiteOf(testIndex));
  const counts = Array.from(bySuite.keys(), (suite) => testCounts.get(suite)!);
  const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);
  // A suite of one test, which is repeated alone, shows no rounds.
  const shown = sum(counts.filter((count) => count > 1));
  if (sum(counts) < testCount || 2 * shown < testCount) return null;
  const inTurn = [...bySuite].filter(([suite, own]) =>
    areRounds(own.map(([, resultNos]) => resultNos), lastFirst.get(suite)!)
  );
  return inTurn.length === bySuite.size ? "in turn" : inTurn.length === 0 ? "overlapping" : null;
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
export function doubleIn(
  results: CollectedResults,
  segments: readonly Uint32Array[],
  reports: readonly CollectedReport[],
  counts: CountedReports,
): boolean {
  return segments.some((resultNos) => {
    if (resultNos.length === 1) return false;
    const reportIndex = reportOf(resultNos[0]!, reports);
    const rule = ruleOf(resultNos[0]!, reportIndex, reports);
    const cases = casesOf(results, resultNos);
    const isRound = counts.of(reportIndex, rule).isRepeated && areOfOneSuite(cases);
    // A bare case may be a failed attempt.
    if (rule.hasBareAttempts || isRound) return false;
    const passed = cases.filter(({ attempts }) => attempts.at(-1)!.conclusion === "passing");
    return new Set(passed.map(({ variant }) => variant)).size < passed.length;
  });
}
