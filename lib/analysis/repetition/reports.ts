/**
 * The second rule of repetition: the reports of one upload. A later report repeats earlier ones if its
 * path says so, if the uploader said that the paths are given in the order of attempts, or if it is a
 * rerun of what failed. Any other report with an equal test is a configuration: another interpreter,
 * variant, module or package.
 */
import { isNegative } from "../../report/result.ts";
import { type MergedAttempt, mergeTests } from "./equal_cases.ts";
import { type ReportSign, saysToRepeat } from "./report_order.ts";

/** How a report stands to those before it. */
export interface ReportRelation extends ReportSign {
  /** True for a rerun of what failed in the reports of its home before it. */
  isRerun: boolean;
}

export interface TestInReport {
  relation: ReportRelation;
  attempts: MergedAttempt[];
}

/** What ran in a report, each test once. */
export interface ReportTests {
  testIndexes: readonly number[];
  hasFailed(testIndex: number): boolean;
}

/** Attempts that follow each other, in one configuration. */
interface Series extends ReportSign {
  attempts: MergedAttempt[];
}

/** The attempts of a test in several reports, in order, and whether these are configurations. */
export function attemptsInReports(
  parts: readonly TestInReport[],
): { attempts: MergedAttempt[]; isConfiguration: boolean } {
  let all: Series[] = [];
  let isConfiguration = false;
  for (const { relation: { isRerun, ...sign }, attempts } of parts) {
    const earlier = all.filter((one) => saysToRepeat(sign, one));
    const own = earlier.findLast((one) => one.series === sign.series);
    const repeated = isRerun ? repeatedBy(sign, all) : null;
    if (own) {
      own.attempts = [...own.attempts, ...attempts];
      own.rank = sign.rank;
    } else if (earlier.length > 0) {
      const before = mergeTests(earlier.map((one) => one.attempts));
      all = all.filter((one) => !earlier.includes(one));
      all.push({ ...sign, attempts: [...before, ...attempts] });
    } else if (repeated) {
      // Passed, then failed, is never a retry unless the path says so.
      const isRetry = hasFailed(repeated) ||
        attempts.every(({ conclusion }) => !isNegative(conclusion));
      repeated.attempts = isRetry
        ? [...repeated.attempts, ...attempts]
        : mergeTests([repeated.attempts, attempts]);
    } else {
      isConfiguration ||= all.length > 0;
      all.push({ ...sign, attempts });
    }
  }
  const merged = all.length === 1 ? all[0]!.attempts : mergeTests(all.map((one) => one.attempts));
  return { attempts: merged, isConfiguration };
}

/**
 * The one that a rerun of what failed repeats: what it is named after, or else the only one of its home that
 * failed. Of several it is not known which it is of.
 */
function repeatedBy({ home, namedAfter }: ReportSign, all: readonly Series[]): Series | null {
  const own = all.filter((one) => one.home === home);
  const named = own.filter(({ series }) => series === namedAfter);
  const failed = own.filter(hasFailed);
  const candidates = [named, failed, own].find(({ length }) => length > 0) ?? [];
  return candidates.length === 1 ? candidates[0]! : null;
}

function hasFailed({ attempts }: Series): boolean {
  return isNegative(attempts.at(-1)!.conclusion);
}

/**
 * Finds the reports that are reruns of what failed: each has fewer tests than ran before it, and of each
 * of its files, or classes, or suites, either only tests that had failed, or all that ran before, in one
 * that had a failure.
 */
export class RerunFinder {
  /** Of each test that ran before. */
  readonly #hasFailed = new Map<number, boolean>();
  readonly #groups = new Map<string, GroupBefore>();
  readonly #groupOf: (testIndex: number) => string;
  readonly #isSetUp: (testIndex: number) => boolean;

  constructor({ groupOf, isSetUp }: {
    groupOf(testIndex: number): string;
    isSetUp(testIndex: number): boolean;
  }) {
    this.#groupOf = groupOf;
    this.#isSetUp = isSetUp;
  }

  /** Whether the next report is one. */
  isRerun({ testIndexes }: ReportTests): boolean {
    if (testIndexes.length >= this.#hasFailed.size) return false;
    for (const [group, tests] of Map.groupBy(testIndexes, this.#groupOf)) {
      if (tests.every((test) => this.#hasFailed.get(test) === true)) continue;
      const before = this.#groups.get(group);
      if (!before?.hasFailed) return false;
      const known = tests.filter((test) => this.#hasFailed.has(test) && !this.#isSetUp(test));
      if (known.length < before.testCount) return false;
      // Tests of a file that had not loaded are new.
      if (!before.hasSetUpFailure && known.length < tests.length) return false;
    }
    return true;
  }

  /** Adds a report, which those after it follow. */
  add({ testIndexes, hasFailed }: ReportTests): void {
    for (const test of testIndexes) {
      const failed = hasFailed(test);
      const group = this.#groupOf(test);
      const before = this.#groups.get(group) ??
        { testCount: 0, hasFailed: false, hasSetUpFailure: false };
      this.#groups.set(group, before);
      const isSetUp = this.#isSetUp(test);
      if (!this.#hasFailed.has(test) && !isSetUp) before.testCount++;
      before.hasFailed ||= failed;
      before.hasSetUpFailure ||= failed && isSetUp;
      this.#hasFailed.set(test, failed || this.#hasFailed.get(test) === true);
    }
  }
}

/** What ran of a file, class or suite in the reports before. */
interface GroupBefore {
  /** Tests, without cases of set-up. */
  testCount: number;
  hasFailed: boolean;
  hasSetUpFailure: boolean;
}
