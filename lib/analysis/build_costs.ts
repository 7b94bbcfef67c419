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

/** The tests with disruptions in the most builds; ties go to more disruptions, then by id. */
export function costliestTests(failures: Iterable<BuildFailure>, limit: number): TestCost[] {
  const costs = new Map<string, { builds: Set<string>; disruptionCount: number }>();
  for (const { testId, build, isDisruption } of failures) {
    if (!isDisruption) continue;
    let cost = costs.get(testId);
    if (!cost) costs.set(testId, cost = { builds: new Set(), disruptionCount: 0 });
    cost.builds.add(build);
    cost.disruptionCount++;
  }
  return [...costs].map(([testId, { builds, disruptionCount }]) => ({
    testId,
    buildCount: builds.size,
    disruptionCount,
  })).sort((a, b) =>
    b.buildCount - a.buildCount || b.disruptionCount - a.disruptionCount ||
    (a.testId < b.testId ? -1 : 1)
  ).slice(0, limit);
}

/** The tests that failed in a build: those with a disruption there, and all others. */
export interface FailedTests {
  flaky: ReadonlySet<string>;
  others: ReadonlySet<string>;
}

/** The tests that failed, by build. */
export function failedTestsByBuild(failures: Iterable<BuildFailure>): Map<string, FailedTests> {
  const builds = new Map<string, { flaky: Set<string>; others: Set<string> }>();
  for (const { testId, build, isDisruption } of failures) {
    let tests = builds.get(build);
    if (!tests) builds.set(build, tests = { flaky: new Set(), others: new Set() });
    (isDisruption ? tests.flaky : tests.others).add(testId);
  }
  return builds;
}
