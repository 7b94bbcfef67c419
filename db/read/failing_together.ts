// Tests: tests/routes/failures_test.ts tests/routes/flaky_groups_page_test.ts
/** Tests of a repository that fail together: what to repair first. */
import { NO_TEXT } from "../../lib/analysis/failure_causes.ts";
import { buildKey } from "../../lib/analysis/build_costs.ts";
import { firstSubmissionId, testId, type TestIdentity } from "../../lib/base/identity.ts";
import { groupFailures } from "../../lib/evidence/groups.ts";
import { ALL_SUBMISSIONS, type SubmissionFilter } from "../../lib/query/submission_filter.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { buildKeyOf, isSelected } from "./fragments.ts";
import { loadFailureRows } from "./failures.ts";
import { loadIdentities } from "./names_of_tests.ts";
import { loadRuns } from "./runs.ts";

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

/** The groups of the window that cost most builds, and how many there are. */
export async function loadGroupsOfTests(
  sql: Queryable,
  { repositoryId, idPrefix, windowStart, maxGroups, maxTests }: GroupsQuery,
): Promise<{ count: number; groups: GroupOfTests[] }> {
  const [runs, failures] = await Promise.all([
    loadRuns(sql, {
      repositoryId,
      columns: ["buildUrl"],
      since: windowStart,
      filter: ALL_SUBMISSIONS,
    }),
    loadFailureRows(sql, { repositoryId, windowStart }),
  ]);
  const builds = new Map(runs.map((run) => [run.submissionId, buildKey(run)]));
  const groups = groupFailures(failures.flatMap(({ testNo, submissionId: runId, fingerprint }) => {
    const buildId = builds.get(runId);
    if (buildId === undefined) return [];
    return [{ testNo, runId, buildId, fingerprints: fingerprint === NO_TEXT ? [] : [fingerprint] }];
  }));
  const shown = groups.slice(0, maxGroups);
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
      and n.submission_id >= decode(${firstSubmissionId(since)}, 'hex')`;
  const hashes = [...new Set(rows.map(({ testHash }) => testHash))];
  const places = new Map(hashes.map((hash, index) => [hash, index]));
  const groups = groupFailures(rows.map(({ testHash, fingerprint, ...run }) => ({
    ...run,
    testNo: places.get(testHash)!,
    fingerprints: fingerprint === NO_TEXT ? [] : [fingerprint],
  })));
  return groups.filter(({ testNos }) => testNos.length > 1).map(({ builds, testNos }) => ({
    builds,
    tests: testNos.map((place) => testId(idPrefix, hashes[place]!)),
  }));
}

/** A submission id and a fingerprint. */
const FAILURE_DIGITS = { submissionId: 24, fingerprint: 16 };

/**
 * The ids (24 hex digits) of disruptive tests that fail together, for the lists in which a group is one row. Tests
 * that fail alone are left out.
 */
export async function loadGroupsOfDisruptiveTests(
  sql: Queryable,
  { repositoryIds, windowStart }: { repositoryIds: readonly number[]; windowStart: number },
): Promise<string[][]> {
  const ids = arrayOf(repositoryIds);
  const first = firstSubmissionId(windowStart);
  // One row for each test: thousands of failures as rows take as long as all the rest.
  const rows = await sql<
    { repositoryId: number; idPrefix: number; testNo: number; testHash: number; failures: string }[]
  >`
    select t.repository_id::float8 as "repositoryId", r.id_prefix::float8 as "idPrefix",
      t.test_no as "testNo", t.test_hash::float8 as "testHash", f.failures
    from (
      select n.repository_id, n.test_no,
        encode(string_agg(n.submission_id || n.fingerprint, ''), 'hex') as failures
      from disruptive_test d
      join negative_result n on n.repository_id = d.repository_id and n.test_no = d.test_no
        and n.submission_id >= decode(${first}, 'hex')
      where d.repository_id = any(${ids}::bigint[]) and n.repository_id = any(${ids}::bigint[])
        and d.latest_submission_id >= decode(${first}, 'hex')
      group by n.repository_id, n.test_no
    ) f
    join test t on t.repository_id = f.repository_id and t.test_no = f.test_no
    join repository r on r.repository_id = t.repository_id
    where t.repository_id = any(${ids}::bigint[]) and r.repository_id = any(${ids}::bigint[])`;
  return [...Map.groupBy(rows, ({ repositoryId }) => repositoryId).values()].flatMap((own) => {
    const idOf = new Map(own.map((row) => [row.testNo, testId(row.idPrefix, row.testHash)]));
    return groupFailures(own.flatMap(failedRuns)).filter(({ testNos }) => testNos.length > 1)
      .map(({ testNos }) => testNos.map((testNo) => idOf.get(testNo)!));
  });
}

/**
 * The builds with a flaky failure of each test since a moment, by the id of the test; the names of builds are
 * of no use but to count them.
 */
export async function loadLostBuilds(
  sql: Queryable,
  { repositoryIds, windowStart, filter }: {
    repositoryIds: readonly number[];
    windowStart: number;
    filter: SubmissionFilter;
  },
): Promise<Map<string, Set<string>>> {
  const ids = arrayOf(repositoryIds);
  const rows = await sql<{ idPrefix: number; testHash: number; builds: string }[]>`
    select r.id_prefix::float8 as "idPrefix", t.test_hash::float8 as "testHash", f.builds
    from (
      select n.repository_id, n.test_no,
        encode(string_agg(distinct int8send(hashtextextended(${
    buildKeyOf(sql)
  }, 0)), ''), 'hex') as builds
      from negative_result n
      join submission s on s.repository_id = n.repository_id and s.submission_id = n.submission_id
      where n.repository_id = any(${ids}::bigint[]) and s.repository_id = any(${ids}::bigint[])
        and n.is_disruption and n.submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex')
        and ${isSelected(sql, filter)}
      group by n.repository_id, n.test_no
    ) f
    join test t on t.repository_id = f.repository_id and t.test_no = f.test_no
    join repository r on r.repository_id = t.repository_id
    where t.repository_id = any(${ids}::bigint[]) and r.repository_id = any(${ids}::bigint[])`;
  return new Map(rows.map(({ idPrefix, testHash, builds }) => [
    testId(idPrefix, testHash),
    new Set(builds.match(/.{16}/g)),
  ]));
}

function failedRuns({ testNo, failures }: { testNo: number; failures: string }) {
  const { submissionId: idDigits, fingerprint: causeDigits } = FAILURE_DIGITS;
  const length = idDigits + causeDigits;
  return Array.from({ length: failures.length / length }, (_, index) => {
    const runId = failures.slice(index * length, index * length + idDigits);
    const fingerprint = failures.slice(index * length + idDigits, (index + 1) * length);
    const fingerprints = fingerprint === NO_TEXT ? [] : [fingerprint];
    return { testNo, runId, buildId: runId, fingerprints };
  });
}
