/** The cost of failures: the number of builds they occurred in. */

/** A failure or error of a test in a build. */
export interface FailureInBuild {
  testId: string;
  /** As {@linkcode buildKey} names it. */
  build: string;
  isDisruption: boolean;
}

/** Names the build of a submission: its URL, or the submission alone. */
export function buildKey(
  { submissionId, buildUrl }: { submissionId: string; buildUrl: string },
): string {
  return buildUrl === "" ? submissionId : buildUrl;
}

/** The disruptions of a test, or of each of some tests that failed together. */
export interface TestCost {
  testId: string;
  /** The first tests of an outage, that with `testId` included; `[]` for a single test. */
  togetherIds: string[];
  /** How many tests failed together; 1 for a single test. */
  testCount: number;
  /** Builds with at least one of them. */
  buildCount: number;
  disruptionCount: number;
}

/** The tests that failed in a build: those with a disruption there, with their number, and others. */
export interface FailedTests {
  flaky: ReadonlyMap<string, number>;
  others: ReadonlySet<string>;
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

/** The tests that failed, by build. */
export function failedTestsByBuild(failures: Iterable<FailureInBuild>): Map<string, FailedTests> {
  const builds = new Map<string, { flaky: Map<string, number>; others: Set<string> }>();
  for (const { testId, build, isDisruption } of failures) {
    let tests = builds.get(build);
    if (!tests) builds.set(build, tests = { flaky: new Map(), others: new Set() });
    if (isDisruption) tests.flaky.set(testId, (tests.flaky.get(testId) ?? 0) + 1);
    else tests.others.add(testId);
  }
  return builds;
}

/** Tests that failed in the same one or two builds and nowhere else are one row from this number on. */
const MIN_TOGETHER = 3;
const MAX_BUILDS_TOGETHER = 2;
const MAX_SHOWN_TOGETHER = 10;

interface BuildsOfTest {
  testId: string;
  buildCount: number;
  disruptionCount: number;
  firstBuild: number;
  lastBuild: number;
}

/**
 * The tests with disruptions in the most builds; ties go to more disruptions, then by id. Tests that an
 * outage hit together are one row, so that they leave room for others.
 */
export function costliestTests(builds: Iterable<FailedTests>, limit: number): TestCost[] {
  const costs = new Map<string, BuildsOfTest>();
  let build = 0;
  for (const { flaky } of builds) {
    for (const [testId, disruptionCount] of flaky) {
      const cost = costs.get(testId);
      if (cost) {
        cost.buildCount++;
        cost.disruptionCount += disruptionCount;
        cost.lastBuild = build;
      } else {
        const counts = { buildCount: 1, disruptionCount, firstBuild: build, lastBuild: build };
        costs.set(testId, { testId, ...counts });
      }
    }
    build++;
  }
  const sorted = [...costs.values()].sort((a, b) =>
    b.buildCount - a.buildCount || b.disruptionCount - a.disruptionCount ||
    (a.testId < b.testId ? -1 : 1)
  );
  return groupsOf(sorted, limit);
}

/** The first rows of sorted tests. */
function groupsOf(sorted: readonly BuildsOfTest[], limit: number): TestCost[] {
  const keyOf = ({ buildCount, disruptionCount, firstBuild, lastBuild }: BuildsOfTest) =>
    buildCount > MAX_BUILDS_TOGETHER ? null : `${firstBuild} ${lastBuild} ${disruptionCount}`;
  const together = Map.groupBy(
    sorted.filter(({ buildCount }) => buildCount <= MAX_BUILDS_TOGETHER),
    keyOf,
  );
  const rows: TestCost[] = [];
  for (const test of sorted) {
    if (rows.length === limit) break;
    const { testId, buildCount, disruptionCount } = test;
    const group = together.get(keyOf(test)) ?? [];
    const isGroup = group.length >= MIN_TOGETHER;
    if (isGroup && group[0] !== test) continue;
    const shown = isGroup ? group.slice(0, MAX_SHOWN_TOGETHER).map(({ testId }) => testId) : [];
    const testCount = isGroup ? group.length : 1;
    rows.push({ testId, togetherIds: shown, testCount, buildCount, disruptionCount });
  }
  return rows;
}
