/** The cost of failures: the number of builds they occurred in. */

/** A failure or error of a test in a build. */
export interface BuildFailure {
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

/** The disruptions of a test. */
export interface TestCost {
  testId: string;
  /** Builds with at least one of them. */
  buildCount: number;
  disruptionCount: number;
}

/** The tests that failed in a build: those with a disruption there, with their number, and others. */
export interface FailedTests {
  flaky: ReadonlyMap<string, number>;
  others: ReadonlySet<string>;
}

/** The tests that failed, by build. */
export function failedTestsByBuild(failures: Iterable<BuildFailure>): Map<string, FailedTests> {
  const builds = new Map<string, { flaky: Map<string, number>; others: Set<string> }>();
  for (const { testId, build, isDisruption } of failures) {
    let tests = builds.get(build);
    if (!tests) builds.set(build, tests = { flaky: new Map(), others: new Set() });
    if (isDisruption) tests.flaky.set(testId, (tests.flaky.get(testId) ?? 0) + 1);
    else tests.others.add(testId);
  }
  return builds;
}

/** The tests with disruptions in the most builds; ties go to more disruptions, then by id. */
export function costliestTests(builds: Iterable<FailedTests>, limit: number): TestCost[] {
  const costs = new Map<string, TestCost>();
  for (const { flaky } of builds) {
    for (const [testId, disruptionCount] of flaky) {
      const cost = costs.get(testId);
      if (cost) {
        cost.buildCount++;
        cost.disruptionCount += disruptionCount;
      } else costs.set(testId, { testId, buildCount: 1, disruptionCount });
    }
  }
  return [...costs.values()].sort((a, b) =>
    b.buildCount - a.buildCount || b.disruptionCount - a.disruptionCount ||
    (a.testId < b.testId ? -1 : 1)
  ).slice(0, limit);
}
