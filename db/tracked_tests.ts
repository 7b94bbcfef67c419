import { decodeTestList, forEachException } from "../lib/analysis/columns.ts";
import type { TrackedTest } from "../lib/analysis/tracked_test.ts";
import { VarintReader } from "../lib/analysis/varint.ts";
import { firstSubmissionId, recordedAtOf, testId } from "../lib/identity.ts";
import type { Database } from "./connect.ts";
import { arrayOf, type Queryable } from "./sql.ts";

/**
 * Every test of the given repositories that is disruptive in the window or quarantined, by
 * repository, in no particular order. A repository without such tests may be missing.
 *
 * How often a test ran follows without looking at results: the submissions of the window that ran
 * its list, corrected by their exceptions.
 *
 * @param options.windowStart seconds since 1970; what was recorded then or later lies in the window
 * @param options.withTime whether `timeConsumed` is wanted, for which the durations of all results
 * of the window are read: by far the most bytes; it is `null` otherwise
 */
export async function loadTrackedTests(
  sql: Database["sql"],
  { repositoryIds, windowStart, withTime = false }: {
    repositoryIds: number[];
    windowStart: number;
    withTime?: boolean;
  },
): Promise<Map<number, TrackedTest[]>> {
  if (repositoryIds.length === 0) return new Map();
  const scope = {
    repositoryIds: arrayOf(repositoryIds),
    firstId: firstSubmissionId(windowStart),
    withTime,
  };
  const [tests, counts, submissions, lists] = await sql.begin(
    // All statements must see the same data.
    "isolation level repeatable read read only",
    (tx) => [
      selectTests(tx, scope),
      selectDisruptionCounts(tx, scope),
      selectSubmissions(tx, scope),
      selectTestLists(tx, scope),
    ],
  );

  const tracked = new Map<number, Map<number, TrackedTest>>();
  for (const row of tests) {
    let repository = tracked.get(row.repositoryId);
    if (!repository) tracked.set(row.repositoryId, repository = new Map());
    repository.set(row.testNo, trackedTest(row, withTime));
  }
  for (const { repositoryId, testNo, disruptionCount } of counts) {
    const test = tracked.get(repositoryId)?.get(testNo);
    if (test) test.disruptionCount = disruptionCount;
  }
  const places = placesOfTests(lists, tracked);
  for (const submission of submissions) {
    const tests = places.get(submission.repositoryId)?.get(submission.testListNo);
    if (tests) countSubmission(submission, tests);
  }
  return new Map(
    [...tracked].map(([repositoryId, repository]) => [repositoryId, [...repository.values()]]),
  );
}

/** The tracked test at each place of a list, `undefined` where the test is not tracked. */
type Places = (TrackedTest | undefined)[];

function placesOfTests(
  lists: readonly TestListRow[],
  tracked: Map<number, Map<number, TrackedTest>>,
): Map<number, Map<number, Places>> {
  const places = new Map<number, Map<number, Places>>();
  for (const list of lists) {
    const tests = tracked.get(list.repositoryId);
    if (!tests) continue;
    let repository = places.get(list.repositoryId);
    if (!repository) places.set(list.repositoryId, repository = new Map());
    const testNos = decodeTestList(list.tests, list.testCount);
    repository.set(list.testListNo, Array.from(testNos, (testNo) => tests.get(testNo)));
  }
  return places;
}

function countSubmission(submission: SubmissionRow, tests: Places): void {
  for (const test of tests) if (test) test.countedResultCount += 1;
  if (submission.durations) {
    const durations = new VarintReader(submission.durations);
    for (const test of tests) {
      const duration = durations.read() * submission.durationUnit;
      if (test) test.timeConsumed = (test.timeConsumed ?? 0) + duration;
    }
  }
  forEachException(submission.exceptions, (index, outcome) => {
    const test = tests[index];
    if (test) test.countedResultCount += outcome.positive + outcome.negative - 1;
  });
}

interface Scope {
  /** Text of an array. */
  repositoryIds: string;
  /** Submissions with this id or a greater one lie in the window. */
  firstId: string;
  withTime: boolean;
}

interface TestRow {
  repositoryId: number;
  idPrefix: number;
  testNo: number;
  testHash: number;
  suite: string;
  class: string;
  name: string;
  file: string;
  tags: string[];
  firstDisruptionAt: number | null;
  latestSubmissionId: string | null;
  latestCommitOid: string;
  latestBuildUrl: string;
  latestMessage: string;
  positiveSubmissionId: string;
  positiveBuildUrl: string;
  quarantinedAt: number | null;
  quarantinedBy: string | null;
  quarantineType: "manual" | "automatic";
}

function selectTests(sql: Queryable, { repositoryIds, firstId }: Scope) {
  return sql<TestRow[]>`
    select t.repository_id::float8 as "repositoryId", r.id_prefix::float8 as "idPrefix",
      t.test_no as "testNo", t.test_hash::float8 as "testHash", t.suite, t.class, t.name, t.file,
      array_to_json(t.tags) as tags,
      extract(epoch from d.first_disruption_at)::float8 as "firstDisruptionAt",
      encode(d.latest_submission_id, 'hex') as "latestSubmissionId",
      d.latest_commit_oid as "latestCommitOid", d.latest_build_url as "latestBuildUrl",
      d.latest_message as "latestMessage",
      encode(d.positive_submission_id, 'hex') as "positiveSubmissionId",
      d.positive_build_url as "positiveBuildUrl",
      extract(epoch from q.quarantined_at)::float8 as "quarantinedAt",
      q.quarantined_by as "quarantinedBy", q.quarantine_type as "quarantineType"
    from (
      select repository_id, test_no from disruptive_test
      where repository_id = any(${repositoryIds}::text::bigint[])
        and latest_submission_id >= decode(${firstId}, 'hex')
      union
      select repository_id, test_no from quarantine
      where repository_id = any(${repositoryIds}::text::bigint[])
    ) tracked
    join test t using (repository_id, test_no)
    join repository r using (repository_id)
    left join disruptive_test d using (repository_id, test_no)
    left join quarantine q using (repository_id, test_no)`;
}

interface DisruptionCountRow {
  repositoryId: number;
  testNo: number;
  disruptionCount: number;
}

// A statement of its own: joined to the tests, the planner may count anew for each of them.
function selectDisruptionCounts(sql: Queryable, { repositoryIds, firstId }: Scope) {
  return sql<DisruptionCountRow[]>`
    select repository_id::float8 as "repositoryId", test_no as "testNo",
      count(*)::int as "disruptionCount"
    from negative_result
    where repository_id = any(${repositoryIds}::text::bigint[])
      and submission_id >= decode(${firstId}, 'hex') and is_disruption
    group by repository_id, test_no`;
}

function trackedTest(row: TestRow, withTime: boolean): TrackedTest {
  const disruptive = row.latestSubmissionId !== null;
  return {
    id: testId(row.idPrefix, row.testHash),
    suite: row.suite,
    class: row.class,
    name: row.name,
    file: row.file,
    tags: row.tags.toSorted(),
    disruptionCount: 0,
    countedResultCount: 0,
    timeConsumed: withTime ? 0 : null,
    firstDisruptionAt: row.firstDisruptionAt,
    latestDisruption: disruptive
      ? {
        recordedAt: recordedAtOf(row.latestSubmissionId!),
        commitOid: row.latestCommitOid,
        buildUrl: row.latestBuildUrl,
        message: row.latestMessage,
      }
      : null,
    latestPositive: disruptive
      ? { recordedAt: recordedAtOf(row.positiveSubmissionId), buildUrl: row.positiveBuildUrl }
      : null,
    quarantine: row.quarantinedAt === null ? null : {
      quarantinedAt: row.quarantinedAt,
      quarantinedBy: row.quarantinedBy,
      quarantineType: row.quarantineType,
    },
  };
}

interface SubmissionRow {
  repositoryId: number;
  testListNo: number;
  /** `null` when they are not wanted. */
  durations: Uint8Array | null;
  durationUnit: number;
  exceptions: Uint8Array;
}

function selectSubmissions(sql: Queryable, { repositoryIds, firstId, withTime }: Scope) {
  return sql<SubmissionRow[]>`
    select repository_id::float8 as "repositoryId", test_list_no as "testListNo",
      case when ${withTime}::boolean then durations end as durations,
      duration_unit as "durationUnit", exceptions
    from submission
    where repository_id = any(${repositoryIds}::text::bigint[])
      and submission_id >= decode(${firstId}, 'hex') and status = 'processed'`;
}

interface TestListRow {
  repositoryId: number;
  testListNo: number;
  testCount: number;
  tests: Uint8Array;
}

function selectTestLists(sql: Queryable, { repositoryIds, firstId }: Scope) {
  return sql<TestListRow[]>`
    select repository_id::float8 as "repositoryId", test_list_no as "testListNo",
      test_count as "testCount", tests
    from test_list
    where (repository_id, test_list_no) in (
      select distinct repository_id, test_list_no from submission
      where repository_id = any(${repositoryIds}::text::bigint[])
        and submission_id >= decode(${firstId}, 'hex') and status = 'processed')`;
}
