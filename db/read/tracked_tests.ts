import { decodeTestList } from "../../lib/analysis/columns.ts";
import {
  applyChanges,
  emptyState,
  type TrackedTestBase,
  type TestsState,
} from "../../lib/analysis/tests_state.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import type { Database } from "../connection/connect.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import {
  trackedTestBase,
  recordedRun,
  runColumns,
  type RunRow,
  selectTags,
  selectVersions,
  tagsByTest,
  testColumns,
  type TestRow,
} from "./tracked_test_rows.ts";

/**
 * All tests of the given repositories that are disruptive in the window or quarantined, by repository;
 * deleted repositories are left out.
 *
 * How often a test ran follows from the submissions of the window with its list and their exceptions.
 *
 * @param options.windowStart first second of the window, since 1970
 * @param options.withTime loads `timeConsumed`, which is `null` otherwise: the durations of all results
 * of the window are by far the most bytes
 */
export async function loadTrackedTests(
  sql: Database["sql"],
  { repositoryIds, windowStart, withTime = false }: {
    repositoryIds: number[];
    windowStart: number;
    withTime?: boolean;
  },
): Promise<Map<number, TestsState>> {
  if (repositoryIds.length === 0) return new Map();
  const scope = {
    repositoryIds: arrayOf(repositoryIds),
    firstId: firstSubmissionId(windowStart),
    withTime,
  };
  const [versions, tests, counts, runs, lists, tags] = await sql.begin(
    // All statements must see the same data.
    "isolation level repeatable read read only",
    (tx) => [
      selectVersions(tx, { repositoryIds, windowStart }),
      selectTests(tx, scope),
      selectDisruptionCounts(tx, scope),
      selectRuns(tx, scope),
      selectTestLists(tx, scope),
      selectTags(tx, scope),
    ],
  );
  const of = <Row extends { repositoryId: number }>(rows: readonly Row[]) =>
    Map.groupBy(rows, (row) => row.repositoryId);
  const [testsOf, countsOf, runsOf, listsOf] = [of(tests), of(counts), of(runs), of(lists)];
  const tagsOf = of(tags);
  return new Map(versions.map(({ repositoryId, idPrefix, ...version }) => {
    const disruptionCounts = new Map(
      countsOf.get(repositoryId)?.map(({ testNo, disruptionCount }) => [testNo, disruptionCount]),
    );
    const state = applyChanges(emptyState({ withTime }), {
      version,
      windowStart,
      added: (runsOf.get(repositoryId) ?? []).map(recordedRun),
      expired: [],
      lists: new Map(
        listsOf.get(repositoryId)?.map((row) =>
          [row.testListNo, decodeTestList(row.tests, row.testCount)] as const
        ),
      ),
      changedTests: new Map((testsOf.get(repositoryId) ?? []).map((row): [number, TrackedTestBase] => {
        const disruptionCount = disruptionCounts.get(row.testNo) ?? 0;
        return [row.testNo, trackedTestBase(row, { idPrefix, disruptionCount })];
      })),
      expiredDisruptions: new Map(),
      tags: tagsByTest(tagsOf.get(repositoryId) ?? []),
    });
    return [repositoryId, state!];
  }));
}

interface Scope {
  /** Text of an array. */
  repositoryIds: string;
  /** Submissions with this id or a greater one lie in the window. */
  firstId: string;
  withTime: boolean;
}

// Two disjoint parts with `union all`: the planner expects a `union` to have few rows, and looks up each
// of them separately.
function selectTests(sql: Queryable, { repositoryIds, firstId }: Scope) {
  return sql<TestRow[]>`
    select ${testColumns(sql)}
    from disruptive_test d
    join test t on t.repository_id = d.repository_id and t.test_no = d.test_no
    left join quarantine q on q.repository_id = d.repository_id and q.test_no = d.test_no
    where d.repository_id = any(${repositoryIds}::text::bigint[])
      and d.latest_submission_id >= decode(${firstId}, 'hex')
    union all
    select ${testColumns(sql)}
    from quarantine q
    join test t on t.repository_id = q.repository_id and t.test_no = q.test_no
    left join disruptive_test d on d.repository_id = q.repository_id and d.test_no = q.test_no
    where q.repository_id = any(${repositoryIds}::text::bigint[])
      and (d.latest_submission_id >= decode(${firstId}, 'hex')) is not true`;
}

interface DisruptionCountRow {
  repositoryId: number;
  testNo: number;
  disruptionCount: number;
}

// A separate statement: joined to the tests, the planner may count for each of them.
function selectDisruptionCounts(sql: Queryable, { repositoryIds, firstId }: Scope) {
  return sql<DisruptionCountRow[]>`
    select repository_id::float8 as "repositoryId", test_no as "testNo",
      count(*)::int as "disruptionCount"
    from negative_result
    where repository_id = any(${repositoryIds}::text::bigint[])
      and submission_id >= decode(${firstId}, 'hex') and is_disruption
    group by repository_id, test_no`;
}

function selectRuns(sql: Queryable, { repositoryIds, firstId, withTime }: Scope) {
  return sql<RunRow[]>`
    select ${runColumns(sql, { withTime })}
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
