// Tests: tests/routes/failures_test.ts tests/routes/flaky_groups_page_test.ts
/** Tests of a repository that fail together: what to repair first. */
import { NO_TEXT } from "../../lib/analysis/failure_causes.ts";
import { buildKey } from "../../lib/analysis/build_costs.ts";
import { firstSubmissionId, testId, type TestIdentity } from "../../lib/base/identity.ts";
import { type FailedTest, FailuresByTest, groupFailures } from "../../lib/evidence/groups.ts";
import { ALL_SUBMISSIONS, type SubmissionFilter } from "../../lib/query/submission_filter.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import {
  failuresIn,
  type FailuresRow,
  type PackedFailure,
  selectFailures,
} from "./failure_rows.ts";
import {
  type FailuresInRuns,
  loadCausesOfFailures,
  loadFailuresInRuns,
  type ShownGroups,
} from "./failures.ts";
import { buildKeyOf, isSelected } from "./fragments.ts";
import { loadIdentities } from "./names_of_tests.ts";
import { testHashesIn } from "./packed_rows.ts";

/** Tests with one fault behind them, or one test alone. */
export interface GroupOfTests {
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
}

/** The groups of the window that cost most builds, and how many there are. */
export async function loadGroupsOfTests(
  sql: Queryable,
  { windowStart, ...query }: GroupsQuery,
): Promise<GroupsOfTests> {
  const found = await loadFailuresInRuns(sql, { ...everything(query), windowStart });
  return await groupsOfTests(sql, { ...query, found });
}

/** All failures of the window by cause, and the groups of tests that fail together. */
export async function loadFailuresOfRepository(
  sql: Queryable,
  { windowStart, ...query }: GroupsQuery,
): Promise<ShownGroups & { together: GroupsOfTests }> {
  const found = await loadFailuresInRuns(sql, { ...everything(query), windowStart });
  const [causes, together] = await Promise.all([
    loadCausesOfFailures(sql, { ...everything(query), found }),
    groupsOfTests(sql, { ...query, found }),
  ]);
  return { ...causes, together };
}

function everything({ repositoryId, idPrefix }: Pick<GroupsQuery, "repositoryId" | "idPrefix">) {
  return { repositoryId, idPrefix, testNo: null, filter: ALL_SUBMISSIONS };
}

async function groupsOfTests(
  sql: Queryable,
  { repositoryId, idPrefix, maxGroups, maxTests, found: { runs, rows } }:
    & Omit<GroupsQuery, "windowStart">
    & { found: FailuresInRuns },
): Promise<GroupsOfTests> {
  const builds = new Numbers();
  const buildOf = new Map(runs.map((run) => [run.submissionId, builds.of(buildKey(run))]));
  const counted = rows.filter(({ submissionId }) => buildOf.has(submissionId));
  const groups = groupFailures(
    failedTests(counted),
    (run) => buildOf.get(counted[run]!.submissionId)!,
  );
  const shown = groups.slice(0, maxGroups).map(({ builds, tests }) => ({
    builds,
    testNos: tests.map(({ testNo }) => testNo),
    fingerprints: [...new Set(tests.flatMap(({ causes }) => [...causes]))].sort(),
  }));
  const testNos = shown.flatMap((group) => group.testNos.slice(0, maxTests));
  const names = await loadIdentities(sql, { repositoryId, idPrefix, testNos });
  return {
    count: groups.length,
    groups: shown.map(({ testNos, ...group }) => ({
      ...group,
      testCount: testNos.length,
      tests: testNos.slice(0, maxTests).flatMap((testNo) => names.get(testNo) ?? []),
    })),
  };
}

/** Numbers names from 0, in the order in which they come. */
class Numbers {
  readonly #numbers = new Map<string, number>();

  of(name: string): number {
    let number = this.#numbers.get(name);
    if (number === undefined) this.#numbers.set(name, number = this.#numbers.size);
    return number;
  }
}

/** The tests that failed in submissions, which are numbered by their places. */
function failedTests(rows: readonly FailuresRow[]): FailedTest[] {
  const found = new FailuresByTest();
  const causes = new LatestCauses();
  for (const [run, row] of rows.entries()) {
    for (const failure of failuresIn(row)) causes.add(found.add(failure.testNo, run), failure);
  }
  return found.tests;
}

/** Adds the causes of failures to their tests. Most have the same one again, which takes no text to notice. */
class LatestCauses {
  readonly #causes = new Map<FailedTest, { high: number; low: number }>();

  add(test: FailedTest, failure: PackedFailure): void {
    const { causeHigh: high, causeLow: low } = failure;
    const latest = this.#causes.get(test);
    if (latest?.high === high && latest.low === low) return;
    if (!latest) this.#causes.set(test, { high, low });
    else [latest.high, latest.low] = [high, low];
    const { fingerprint } = failure;
    if (fingerprint !== NO_TEXT) test.causes.add(fingerprint);
  }
}

/** The disruptive tests of a repository that fail together since a moment, with the builds they cost. */
export async function loadFlakyFaults(
  sql: Queryable,
  { repositoryId, idPrefix, since }: { repositoryId: number; idPrefix: number; since: number },
): Promise<{ builds: number; tests: string[] }[]> {
  const rows = await sql<
    { testHash: number; runId: string; buildId: string; fingerprint: string }[]
  >`
    select t.test_hash::float8 as "testHash", encode(n.submission_id, 'hex') as "runId",
      ${buildKeyOf(sql)} as "buildId", encode(n.fingerprint, 'hex') as fingerprint
    from negative_result n
    join submission s on s.repository_id = n.repository_id and s.submission_id = n.submission_id
    join test t on t.repository_id = n.repository_id and t.test_no = n.test_no
    where n.repository_id = ${repositoryId} and n.is_disruption
      and n.submission_id >= decode(${firstSubmissionId(since)}, 'hex')
    order by n.submission_id, n.test_no, n.result_no`;
  const hashes = [...new Set(rows.map(({ testHash }) => testHash))];
  const places = new Map(hashes.map((hash, index) => [hash, index]));
  const runs = new Numbers();
  const builds = new Numbers();
  const buildOfRun: number[] = [];
  const found = new FailuresByTest();
  for (const { testHash, runId, buildId, fingerprint } of rows) {
    const run = runs.of(runId);
    buildOfRun[run] = builds.of(buildId);
    const test = found.add(places.get(testHash)!, run);
    if (fingerprint !== NO_TEXT) test.causes.add(fingerprint);
  }
  const groups = groupFailures(found.tests, (run) => buildOfRun[run]!);
  return groups.filter(({ tests }) => tests.length > 1).map(({ builds, tests }) => ({
    builds,
    tests: tests.map(({ testNo }) => testId(idPrefix, hashes[testNo]!)),
  }));
}

/** What a list of disruptive tests shows of their failures. */
export interface FlakyFailures {
  /** The ids (24 hex digits) of tests that fail together, which are one row; without those that fail alone. */
  groups: string[][];
  /** The numbers of the builds with a flaky failure of each test, by its id. */
  lostBuilds: Map<string, number[]>;
}

/**
 * The groups of the disruptive tests, and the builds that they cost since a moment.
 *
 * @param options.filter of the submissions whose builds count
 */
export async function loadFlakyFailures(
  sql: Queryable,
  { repositoryIds, windowStart, filter }: {
    repositoryIds: readonly number[];
    windowStart: number;
    filter: SubmissionFilter;
  },
): Promise<FlakyFailures> {
  const ids = arrayOf(repositoryIds);
  const first = firstSubmissionId(windowStart);
  // 16 bytes for each failure of the window, and a row for each submission with a failure. Only failures of disruptive
  // tests in SQL, by a join or a hashed set, took 130 to 280 ms instead of 40 to 60 for 52,000 failures of 3,000
  // submissions; only builds with a disruption 38 ms instead of 6.
  const [rows, builds, repositories] = await Promise.all([
    selectFailures(sql, { repositoryIds, windowStart }),
    sql<{ submissionId: string; build: string }[]>`
      select encode(s.submission_id, 'hex') as "submissionId", ${buildKeyOf(sql)} as build
      from submission s
      where s.repository_id = any(${ids}::bigint[])
        and s.submission_id >= decode(${first}, 'hex')
        and s.failed_test_count is distinct from 0 and ${isSelected(sql, filter)}`,
    sql<{ repositoryId: number; idPrefix: number; tests: Uint8Array }[]>`
      select r.repository_id::float8 as "repositoryId", r.id_prefix::float8 as "idPrefix", d.tests
      from (
        select t.repository_id, string_agg(int4send(t.test_no) || int8send(t.test_hash), '') as tests
        from disruptive_test d
        join test t on t.repository_id = d.repository_id and t.test_no = d.test_no
        where d.repository_id = any(${ids}::bigint[]) and t.repository_id = any(${ids}::bigint[])
          and d.latest_submission_id >= decode(${first}, 'hex')
        group by t.repository_id
      ) d
      join repository r on r.repository_id = d.repository_id
      where r.repository_id = any(${ids}::bigint[])`,
  ]);
  const buildNos = new Numbers();
  const buildOf = new Map(builds.map((row) => [row.submissionId, buildNos.of(row.build)]));
  const rowsOf = Map.groupBy(rows, ({ repositoryId }) => repositoryId);
  const found: FlakyFailures = { groups: [], lostBuilds: new Map() };
  for (const { repositoryId, idPrefix, tests } of repositories) {
    const hashes = testHashesIn(tests);
    const failed = new FailuresByTest();
    const causes = new LatestCauses();
    const lost = new Map<number, number[]>();
    for (const [run, row] of (rowsOf.get(repositoryId) ?? []).entries()) {
      const build = buildOf.get(row.submissionId);
      for (const failure of failuresIn(row)) {
        const { testNo, isDisruption } = failure;
        if (!hashes.has(testNo)) continue;
        causes.add(failed.add(testNo, run), failure);
        if (!isDisruption || build === undefined) continue;
        const own = lost.get(testNo);
        if (own) own.push(build);
        else lost.set(testNo, [build]);
      }
    }
    const idOf = (testNo: number) => testId(idPrefix, hashes.get(testNo)!);
    for (const { tests } of groupFailures(failed.tests)) {
      if (tests.length > 1) found.groups.push(tests.map(({ testNo }) => idOf(testNo)));
    }
    for (const [testNo, own] of lost) found.lostBuilds.set(idOf(testNo), own);
  }
  return found;
}
