// Tests: tests/routes/failures_test.ts tests/routes/flaky_groups_page_test.ts
/** Tests of a repository that fail together: what to repair first. */
import { UNKNOWN_CAUSE } from "../../lib/analysis/failure_groups.ts";
import {
  buildKey,
  type FailuresInBuilds,
  type LostBuilds,
  lostBuildsByTest,
} from "../../lib/analysis/build_costs.ts";
import type { FailureColumns } from "../../lib/analysis/failure_columns.ts";
import { groupFailures } from "../../lib/analysis/failure_groups.ts";
import { firstSubmissionId, type TestIdentity } from "../../lib/base/identity.ts";
import {
  type FailedTest,
  type GroupedBy,
  groupedBy,
  groupsByBuilds,
  groupTests,
} from "../../lib/evidence/groups.ts";
import { compareTexts } from "../../lib/base/text.ts";
import { ALL_SUBMISSIONS, type SubmissionFilter } from "../../lib/query/submission_filter.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { failureColumns, selectFailures } from "./failure_rows.ts";
import {
  type FailuresInRuns,
  loadFailuresInRuns,
  loadIdsOfTests,
  withMessages,
} from "./failures.ts";
import { buildKeyOf, isSelected } from "./fragments.ts";
import { loadIdentities } from "./names_of_tests.ts";

/** Tests that fail together, or one test alone. */
interface GroupOfTests {
  /** Builds with a failure of one of its tests. */
  builds: number;
  testCount: number;
  /** The first of its tests. */
  tests: (TestIdentity & { id: string })[];
  /** Causes of its failures. */
  fingerprints: string[];
}

interface GroupsQuery {
  repositoryId: number;
  idPrefix: number;
  windowStart: number;
  maxGroups: number;
  maxTests: number;
}

interface GroupsOfTests {
  count: number;
  groups: GroupOfTests[];
  /** The numbers of the tests of each group, in the order of `groups`. */
  all: number[][];
  /** What joins the tests of a group, one of `all`. */
  groupedBy(group: readonly number[]): GroupedBy;
}

/** The groups of the window that cost most builds, and how many there are. */
export async function loadGroupsOfTests(
  sql: Queryable,
  { windowStart, ...query }: GroupsQuery,
): Promise<GroupsOfTests> {
  const found = await loadFailuresInRuns(sql, { ...everything(query), windowStart });
  const { builds } = numberBuilds(found.runs);
  const idOf = await loadIdsOfTests(sql, { ...query, ...found });
  return await groupsOfTests(sql, { ...query, inBuilds: { ...found, builds }, idOf });
}

export interface FailuresOfRepository extends FailuresInBuilds {
  /** The number of a build by {@linkcode buildKey}; `undefined` where it is not in the window. */
  buildOf(key: string): number | undefined;
  idOf(test: number): string;
  /** The largest groups with a cause that several tests have. */
  causes: Awaited<ReturnType<typeof withMessages>>;
  together: GroupsOfTests;
}

/** All failures of the window by cause, and the groups of tests that fail together. */
export async function loadFailuresOfRepository(
  sql: Queryable,
  { windowStart, maxCauses, ...query }: GroupsQuery & { maxCauses: number },
): Promise<FailuresOfRepository> {
  const found = await loadFailuresInRuns(sql, { ...everything(query), windowStart });
  const { failures, runs } = found;
  const inBuilds = { failures, ...numberBuilds(runs) };
  const idOf = await loadIdsOfTests(sql, { ...query, failures });
  const groups = groupFailures(failures, { runs, idOf, withUnknown: false }).groups
    .filter(({ testCount }) => testCount > 1).take(maxCauses).toArray();
  const [causes, together] = await Promise.all([
    withMessages(sql, { ...query, groups, found }),
    groupsOfTests(sql, { ...query, inBuilds, idOf }),
  ]);
  return { ...inBuilds, idOf, causes, together };
}

function everything({ repositoryId, idPrefix }: Pick<GroupsQuery, "repositoryId" | "idPrefix">) {
  return { repositoryId, idPrefix, testNo: null, filter: ALL_SUBMISSIONS };
}

/** The number of the build of each run, and of each build. */
function numberBuilds(runs: FailuresInRuns["runs"]) {
  const numbers = new Map<string, number>();
  const builds = Int32Array.from(runs, (run) => numberOf(buildKey(run), numbers));
  return { builds, buildOf: (key: string) => numbers.get(key) };
}

async function groupsOfTests(
  sql: Queryable,
  { repositoryId, idPrefix, maxGroups, maxTests, inBuilds: { failures, builds }, idOf }:
    & Omit<GroupsQuery, "windowStart">
    & { inBuilds: FailuresInBuilds; idOf: (test: number) => string },
): Promise<GroupsOfTests> {
  const failed = failedTests(failures);
  const groups = groupsByBuilds(withIds(failed, idOf), (run) => builds[run]!);
  const shown = groups.slice(0, maxGroups).map(({ builds, tests }) => {
    const causes = new Set(tests.flatMap(({ causes }) => [...causes]));
    return {
      builds,
      testNos: tests.map(({ testNo }) => testNo),
      fingerprints: Array.from(causes, (cause) => failures.fingerprints[cause]!).sort(),
    };
  });
  const testNos = shown.flatMap((group) => group.testNos.slice(0, maxTests));
  const names = await loadIdentities(sql, { repositoryId, idPrefix, testNos });
  return {
    count: groups.length,
    all: groups.map(({ tests }) => tests.map(({ test }) => test)),
    groupedBy: (group) => groupedBy(group.map((test) => failed[test]!)),
    groups: shown.map(({ testNos, ...group }) => ({
      ...group,
      testCount: testNos.length,
      tests: testNos.slice(0, maxTests).flatMap((testNo) => names.get(testNo) ?? []),
    })),
  };
}

/** The number of a name: from 0, in the order in which they come. */
function numberOf(name: string, numbers: Map<string, number>): number {
  const number = numbers.get(name) ?? numbers.size;
  numbers.set(name, number);
  return number;
}

interface FailedTestInColumns extends FailedTest<number> {
  /** Its number in the columns. */
  test: number;
  testNo: number;
}

/** Tests in the order of their ids. */
function withIds(tests: readonly FailedTestInColumns[], idOf: (test: number) => string) {
  return tests.map((one) => ({ ...one, id: idOf(one.test) }))
    .sort((a, b) => compareTexts(a.id, b.id));
}

/** The failures of each test, without those that do not count. */
function failedTests(
  failures: FailureColumns,
  isCounted: (index: number) => boolean = () => true,
): FailedTestInColumns[] {
  const unknown = failures.fingerprints.indexOf(UNKNOWN_CAUSE);
  /** The latest test with each cause: to know that without a set. */
  const latestOf = new Int32Array(failures.fingerprints.length).fill(-1);
  return failures.byTest().map((indexes, test) => {
    const runs: number[] = [];
    const causes: number[] = [];
    let latestRun = -1;
    for (let at = 0; at < indexes.length; at++) {
      const index = indexes[at]!;
      if (!isCounted(index)) continue;
      const run = failures.runs[index]!;
      const cause = failures.causes[index]!;
      if (run !== latestRun) runs.push(latestRun = run);
      if (cause === unknown || latestOf[cause] === test) continue;
      latestOf[cause] = test;
      causes.push(cause);
    }
    return { test, testNo: failures.testNos[test]!, runs, causes };
  });
}

/** The disruptive tests of a repository that fail together since a moment, with the builds they cost. */
export async function loadFlakyFaults(
  sql: Queryable,
  { since, ...query }: { repositoryId: number; idPrefix: number; since: number },
): Promise<{ builds: number; tests: string[]; grouped_by: GroupedBy }[]> {
  const { failures, runs } = await loadFailuresInRuns(sql, {
    ...everything(query),
    windowStart: since,
  });
  const { builds } = numberBuilds(runs);
  const idOf = await loadIdsOfTests(sql, { ...query, failures });
  const isFlaky = (index: number) => failures.disruptions[index] === 1;
  const tests = withIds(failedTests(failures, isFlaky).filter(({ runs }) => runs.length > 0), idOf);
  return groupsByBuilds(tests, (run) => builds[run]!)
    .filter(({ tests }) => tests.length > 1)
    .map(({ builds, tests }) => (
      { builds, tests: tests.map(({ id }) => id), grouped_by: groupedBy(tests) }
    ));
}

/** What a list of disruptive tests shows of the failures of one of them. */
export interface FlakyFailures extends LostBuilds {
  /** The tests that fail together, the test itself included: the same array for all of them. */
  group: readonly (FailedTest<number> & { testNo: number })[];
}

/**
 * The failures of the disruptive tests of each repository, by test_no.
 *
 * @param options.filter of the submissions whose builds are lost
 */
export async function loadFlakyFailures(
  sql: Queryable,
  { repositoryIds, windowStart, filter }: {
    repositoryIds: readonly number[];
    windowStart: number;
    filter: SubmissionFilter;
  },
): Promise<Map<number, ReadonlyMap<number, FlakyFailures>>> {
  // 16 bytes for each failure of the window, and a row for each submission with a failure. Only failures of disruptive
  // tests in SQL, by a join or a hashed set, took 130 to 280 ms instead of 40 to 60 for 52,000 failures of 3,000
  // submissions; only builds with a disruption 38 ms instead of 6.
  const [rows, builds] = await Promise.all([
    selectFailures(sql, { repositoryIds, windowStart }),
    sql<{ submissionId: string; build: string }[]>`
      select encode(s.submission_id, 'hex') as "submissionId", ${buildKeyOf(sql)} as build
      from submission s
      where s.repository_id = any(${arrayOf(repositoryIds)}::bigint[])
        and s.submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex')
        and s.failed_test_count is distinct from 0 and ${isSelected(sql, filter)}`,
  ]);
  const numbers = new Map<string, number>();
  const buildOf = new Map(builds.map((row) => [row.submissionId, numberOf(row.build, numbers)]));
  return new Map(
    Array.from(Map.groupBy(rows, ({ repositoryId }) => repositoryId), ([repositoryId, runs]) => {
      const builds = Int32Array.from(runs, ({ submissionId }) => buildOf.get(submissionId) ?? -1);
      return [repositoryId, flakyFailures({ failures: failureColumns(runs, runs), builds })];
    }),
  );
}

function flakyFailures(inBuilds: FailuresInBuilds): Map<number, FlakyFailures> {
  const lost = lostBuildsByTest(inBuilds);
  const tests = failedTests(inBuilds.failures).filter(({ test }) =>
    lost[test]!.disruptionCount > 0
  );
  return new Map(
    groupTests(tests).flatMap((group) =>
      group.map(({ test, testNo }) => [testNo, { ...lost[test]!, group }] as const)
    ),
  );
}
