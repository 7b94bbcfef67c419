/** The cost of failures: the number of builds they occurred in. */
import { compareTexts } from "../base/text.ts";
import type { FailureColumns } from "./failure_columns.ts";

/** Names the build of a submission: its URL, or the submission alone. */
export function buildKey(
  { submissionId, buildUrl }: { submissionId: string; buildUrl: string },
): string {
  return buildUrl === "" ? submissionId : buildUrl;
}

/** The disruptions of a test, or of tests that fail together. */
export interface TestCost {
  /** The first of them, those with the most builds first. */
  testIds: string[];
  /** How many there are. */
  testCount: number;
  /** The numbers of all tests that fail together, those without a disruption too. */
  group: readonly number[];
  /** Builds with a disruption of at least one of them. */
  buildCount: number;
  disruptionCount: number;
}

export interface FailuresInBuilds {
  failures: FailureColumns;
  /** The number of the build of each run, from 0; -1 for one that does not count. */
  builds: Int32Array;
}

/** What the disruptions of a test cost. */
export interface LostBuilds {
  disruptionCount: number;
  /** Numbers of the builds with a disruption of the test, each once. */
  lostBuilds: readonly number[];
}

const NONE: ReadonlySet<number> = new Set();

/**
 * How many tests of a build failed at last, perhaps in one of several jobs, and how many others have a disruption.
 *
 * @param options.cleared tests of which no failure that is no disruption stands at last
 * @param options.standing tests with a disruption that failed at last
 */
export function countFailedTests(
  failures: Iterable<{ testNo: number; isDisruption: boolean }>,
  { cleared = NONE, standing = NONE }: {
    cleared?: ReadonlySet<number> | undefined;
    standing?: ReadonlySet<number> | undefined;
  } = {},
): { flakyTestCount: number; failedTestCount: number } {
  const [flaky, failed] = [new Set<number>(), new Set<number>()];
  for (const { testNo, isDisruption } of failures) {
    if (isDisruption) flaky.add(testNo);
    if (isDisruption ? standing.has(testNo) : !cleared.has(testNo)) failed.add(testNo);
  }
  return { flakyTestCount: flaky.difference(failed).size, failedTestCount: failed.size };
}

/** Tests that failed in a build: those with a disruption there, and those with another failure. */
export interface FailedTests {
  flaky: ReadonlySet<number>;
  others: ReadonlySet<number>;
}

/** The numbers of the tests that failed in some builds, by the numbers of the builds. */
export function failedTestsByBuild(
  { failures, builds }: FailuresInBuilds,
  wanted: Iterable<number>,
): Map<number, FailedTests> {
  const found = new Map(
    Array.from(wanted, (build) => [build, { flaky: new Set<number>(), others: new Set<number>() }]),
  );
  for (let index = 0; index < failures.length; index++) {
    const build = found.get(builds[failures.runs[index]!]!);
    if (build) {
      (failures.disruptions[index] ? build.flaky : build.others).add(failures.tests[index]!);
    }
  }
  return found;
}

/** The others are counted. */
const MAX_SHOWN_TOGETHER = 10;

/** The builds that the disruptions of each test cost, by the number of the test. */
export function lostBuildsByTest({ failures, builds }: FailuresInBuilds): LostBuilds[] {
  const buildCount = builds.reduce((most, build) => Math.max(most, build + 1), 0);
  /** The test by which each build was counted last. */
  const countedFor = new Int32Array(buildCount).fill(-1);
  return failures.byTest().map((indexes, test) => {
    let disruptionCount = 0;
    const lostBuilds: number[] = [];
    for (let at = 0; at < indexes.length; at++) {
      const index = indexes[at]!;
      if (failures.disruptions[index] === 0) continue;
      disruptionCount++;
      const build = builds[failures.runs[index]!]!;
      if (build < 0 || countedFor[build] === test) continue;
      countedFor[build] = test;
      lostBuilds.push(build);
    }
    return { disruptionCount, lostBuilds };
  });
}

/**
 * The tests with disruptions in the most builds; ties go to more disruptions, then by the first id. Tests that fail together are
 * one row, with the builds of all of them.
 *
 * @param options.groups the numbers of the tests of each group; a test that fails alone is one
 * @param options.idOf the id of a test, by its number
 */
export function costliestTests(
  found: FailuresInBuilds,
  { groups, idOf, limit }: {
    groups: readonly (readonly number[])[];
    idOf: (test: number) => string;
    limit: number;
  },
): TestCost[] {
  const costs = lostBuildsByTest(found);
  const rows = groups.flatMap((group): TestCost[] => {
    const tests = group.filter((test) => costs[test]!.disruptionCount > 0).sort((a, b) =>
      costs[b]!.lostBuilds.length - costs[a]!.lostBuilds.length || compareTexts(idOf(a), idOf(b))
    );
    return tests.length === 0 ? [] : [{
      testIds: tests.slice(0, MAX_SHOWN_TOGETHER).map(idOf),
      testCount: tests.length,
      group,
      buildCount: new Set(tests.flatMap((test) => costs[test]!.lostBuilds)).size,
      disruptionCount: tests.reduce((sum, test) => sum + costs[test]!.disruptionCount, 0),
    }];
  });
  return rows.sort((a, b) =>
    b.buildCount - a.buildCount || b.disruptionCount - a.disruptionCount ||
    compareTexts(a.testIds[0]!, b.testIds[0]!)
  ).slice(0, limit);
}
