/**
 * The first rule of repetition: equal cases, which are cases of one report with the same suite, class,
 * name and file. They prove nothing by themselves. They are attempts of one test if the report says so,
 * if the tool repeats the case for a retry, or if the run was repeated as a whole. Otherwise they are
 * different tests that share a name.
 */
import type { EqualCasesRule, ReportedTool } from "../../report/report_tool.ts";
import { type Conclusion, isNegative } from "../../report/result.ts";

/** The rule for a result, counted from the beginning of its report. */
export function ruleAt({ rule, changes = [] }: ReportedTool, resultNo: number): EqualCasesRule {
  // A binary search: a hostile report with 1,000 changes took twice as long with one in order.
  let low = 0;
  let high = changes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (changes[middle]!.resultNo <= resultNo) low = middle + 1;
    else high = middle;
  }
  return changes[low - 1]?.rule ?? rule;
}

export interface EqualCase {
  /** In order; more than one if the case itself contains its retries. */
  attempts: readonly { resultNo: number; conclusion: Conclusion }[];
  /** True for a passing case without any outcome element. */
  isBare: boolean;
  /** True when the report says that it is a retry. */
  isRetry: boolean;
  /** Differs between tests of one name that the report distinguishes; otherwise 0. */
  variant: number;
  /** Which suite of its report it is in. */
  suiteNo: number;
}

/** One attempt of the test that equal cases stand for. */
export interface MergedAttempt {
  conclusion: Conclusion;
  /** The result that has its message. */
  messageOf: number;
  /** The results that it consists of, whose times add up. */
  resultNos: readonly number[];
}

/** What is known about the whole report. */
export interface ReportCounts {
  /** True if the tool repeated the whole run: each round of it is an attempt of its tests. */
  isRepeated: boolean;
  /** True if it looks like reports of several runs whose suites were joined: none of its cases repeats another. */
  isJoined?: boolean;
  /** Cases in it beyond those that its suites declare, without those that are declared as one. */
  surplusCaseCount: number;
}

/**
 * The attempts of the test that equal cases stand for, in order.
 *
 * Only a case that follows a failure is an attempt: runners repeat failures, not passes. Different tests
 * become one that is negative if any of them is.
 */
export function attemptsOf(
  cases: readonly EqualCase[],
  rule: EqualCasesRule,
  report: ReportCounts,
): { attempts: MergedAttempt[]; isMerged: boolean } {
  // Plugins declare a test once, so that true duplicates have no surplus.
  const isRepeated = report.isRepeated && areOfOneSuite(cases) && report.surplusCaseCount <= 0;
  if (isRepeated) return { attempts: cases.flatMap(inOrder), isMerged: false };
  // A tool repeats a case in its suite: another one of the same name is of another run, in a merged report.
  const hasRetries = rule.meaning === "attempts" && report.isJoined !== true;
  const suites = hasRetries && !saysRetries(cases)
    ? [...Map.groupBy(cases, ({ suiteNo }) => suiteNo).values()]
    : [cases];
  if (suites.length > 1) {
    const tests = suites.map((own) => attemptsOf(own, rule, report).attempts);
    return { attempts: mergeTests(tests), isMerged: true };
  }
  const byVariant = variantsOf(cases).map((own) =>
    rule.hasBareAttempts ? withFailedAttempts(own, report) : own
  );
  if (hasRetries || saysRetries(cases)) {
    if (byVariant.every(areAttempts)) {
      const tests = byVariant.map((own) => own.flatMap(inOrder));
      return { attempts: mergeTests(tests), isMerged: tests.length > 1 };
    }
  }
  // Steps of a test that is retried are repeated in their line, also those that passed.
  const isOneTest = rule.meaning === "parts" ||
    rule.hasLines && byVariant.length === 1 && cases[0]?.variant !== 0;
  return { attempts: mergeTests(byVariant.flat().map(inOrder)), isMerged: isOneTest !== true };
}

/** Whether cases differ in nothing that the report says about them, as the rounds of a run do. */
export function areOfOneSuite([first, ...others]: readonly EqualCase[]): boolean {
  return others.every(({ variant, suiteNo }) =>
    variant === first!.variant && suiteNo === first!.suiteNo
  );
}

/** Equal cases by what the report distinguishes: each array is one test. */
function variantsOf(cases: readonly EqualCase[]): EqualCase[][] {
  return [...Map.groupBy(cases, ({ variant }) => variant).values()];
}

/** Whether the report marks every case but the first as a retry. */
function saysRetries([first, ...others]: readonly EqualCase[]): boolean {
  return first?.isRetry === false && others.every(({ isRetry }) => isRetry);
}

/** Whether equal cases look like the attempts that plugins leave bare before a failed last one. */
export function readAsRetried(cases: readonly EqualCase[]): boolean {
  const last = cases.at(-1);
  return cases.length > 1 && isNegative(lastConclusion(last!)) &&
    cases.every((one) => one === last || one.isBare);
}

/** How many of equal cases pytest declares with another: an error in the tear-down of a failed test. */
export function doubleCount(cases: readonly EqualCase[]): number {
  const count = (own: readonly EqualCase[], conclusion: Conclusion) =>
    own.filter((one) => lastConclusion(one) === conclusion).length;
  return variantsOf(cases)
    .reduce((sum, own) => sum + Math.min(count(own, "failure"), count(own, "error")), 0);
}

function inOrder({ attempts }: EqualCase): MergedAttempt[] {
  return attempts.map(({ resultNo, conclusion }) => ({
    conclusion,
    messageOf: resultNo,
    resultNos: [resultNo],
  }));
}

function lastConclusion({ attempts }: EqualCase): Conclusion {
  return attempts.at(-1)!.conclusion;
}

function areAttempts(cases: readonly EqualCase[]): boolean {
  return cases.slice(0, -1).every((one) => isNegative(lastConclusion(one)));
}

// For an attempt that is repeated, `flaky` and newer `rerunfailures` leave a bare case. The last case has
// the outcome; if it passed, only the number of tests shows that the others are attempts.
function withFailedAttempts(
  cases: readonly EqualCase[],
  { surplusCaseCount }: ReportCounts,
): readonly EqualCase[] {
  const last = cases.at(-1)!;
  if (!isNegative(lastConclusion(last)) && !(last.isBare && surplusCaseCount > 0)) return cases;
  return cases.map((one) =>
    one === last || !one.isBare ? one : {
      ...one,
      attempts: one.attempts.map((attempt) => ({ ...attempt, conclusion: "failure" as const })),
    }
  );
}

// The strongest first.
const PRECEDENCE: readonly Conclusion[] = ["error", "failure", "passing", "unknown", "skipped"];

/** Merges tests of one name attempt by attempt; one with fewer attempts ended as its last did. */
export function mergeTests(tests: readonly MergedAttempt[][]): MergedAttempt[] {
  const count = tests.reduce((most, { length }) => Math.max(most, length), 0);
  return Array.from({ length: count }, (_, index) => {
    const current = tests.map((test) => test[index] ?? test.at(-1)!);
    const { conclusion, messageOf } = current.reduce((strongest, one) =>
      PRECEDENCE.indexOf(one.conclusion) < PRECEDENCE.indexOf(strongest.conclusion)
        ? one
        : strongest
    );
    const resultNos = tests.flatMap((test) => test[index]?.resultNos ?? []);
    return { conclusion, messageOf, resultNos };
  });
}
