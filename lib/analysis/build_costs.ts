/** The cost of failures: the number of builds they occurred in. */
import type { FailureColumns } from "./failure_columns.ts";

/** Names the build of a submission: its URL, or the submission alone. */
export function buildKey(
  { submissionId, buildUrl }: { submissionId: string; buildUrl: string },
): string {
  return buildUrl === "" ? submissionId : buildUrl;
}

/** The disruptions of a test, or of each of some tests that failed together. */
export interface TestCost {
  testId: string;
  /** The first tests that failed together, that with `testId` included; `[]` for a single test. */
  togetherIds: string[];
  /** How many tests failed together; 1 for a single test. */
  testCount: number;
  /** Builds with at least one of them. */
  buildCount: number;
  disruptionCount: number;
}

/** Failures, and the builds that they are of. */
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

/** How many tests of a build have a disruption in it, and how many other failures only. */
export function countFailedTests(
  failures: Iterable<{ testNo: number; isDisruption: boolean }>,
): { flakyTestCount: number; failedTestCount: number } {
  const flaky = new Map<number, boolean>();
  for (const { testNo, isDisruption } of failures) {
    flaky.set(testNo, isDisruption || flaky.get(testNo) === true);
  }
  const flakyTestCount = [...flaky.values()].filter(Boolean).length;
  return { flakyTestCount, failedTestCount: flaky.size - flakyTestCount };
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

/** Tests that failed in the same one or two builds and nowhere else are one row from this number on. */
const MIN_TOGETHER = 3;
const MAX_BUILDS_TOGETHER = 2;
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
 * The tests with disruptions in the most builds; ties go to more disruptions, then by id. Tests that
 * failed together are one row, so that they leave room for others.
 *
 * @param options.idOf the id of a test, by its number
 */
export function costliestTests(
  found: FailuresInBuilds,
  { idOf, limit }: { idOf: (test: number) => string; limit: number },
): TestCost[] {
  const costs = lostBuildsByTest(found).map((cost, test) => ({ ...cost, test }))
    .filter(({ disruptionCount }) => disruptionCount > 0);
  // Leaves few ids to compare: a test with more builds than are shown together is a row.
  const least = Int32Array.from(costs, buildCountOf).sort().at(-limit) ?? 0;
  const sorted = costs.filter((cost) => buildCountOf(cost) >= least || least <= MAX_BUILDS_TOGETHER)
    .map(({ test, ...cost }) => ({ ...cost, testId: idOf(test) }))
    .sort((a, b) =>
      buildCountOf(b) - buildCountOf(a) || b.disruptionCount - a.disruptionCount ||
      (a.testId < b.testId ? -1 : 1)
    );
  return rowsOf(sorted, limit);
}

function buildCountOf({ lostBuilds }: LostBuilds): number {
  return lostBuilds.length;
}

type NamedCost = LostBuilds & { testId: string };

/** The first rows of sorted tests. */
function rowsOf(sorted: readonly NamedCost[], limit: number): TestCost[] {
  const mayBeTogether = (cost: LostBuilds) => buildCountOf(cost) <= MAX_BUILDS_TOGETHER;
  const keyOf = ({ lostBuilds, disruptionCount }: LostBuilds) =>
    `${lostBuilds.toSorted()} ${disruptionCount}`;
  const together = Map.groupBy(sorted.filter(mayBeTogether), keyOf);
  const rows: TestCost[] = [];
  for (const test of sorted) {
    if (rows.length === limit) break;
    const { testId, disruptionCount } = test;
    const group = mayBeTogether(test) ? together.get(keyOf(test))! : [];
    const isGroup = group.length >= MIN_TOGETHER;
    if (isGroup && group[0] !== test) continue;
    const shown = isGroup ? group.slice(0, MAX_SHOWN_TOGETHER).map(({ testId }) => testId) : [];
    const testCount = isGroup ? group.length : 1;
    const buildCount = buildCountOf(test);
    rows.push({ testId, togetherIds: shown, testCount, buildCount, disruptionCount });
  }
  return rows;
}
