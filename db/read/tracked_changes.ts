import { applyChanges, canApply, type TestsState } from "../../lib/analysis/tests_state.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import type { Database } from "../connection/connect.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { isDisruptedSince } from "./fragments.ts";
import { loadTestLists } from "./test_lists.ts";
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
 * Loads the changes since an earlier state and applies them; `null` when everything has to be loaded
 * again. The first page after an upload of 20,000 results takes 13 ms this way, instead of 100.
 *
 * An upload can change how often its tests ran, the disruptions of tests that are nondeterministic at
 * its code version (each has a disruption there), and tags, if it has any.
 *
 * @param options.windowStart seconds since 1970; what was recorded then or later lies in the window
 */
export async function loadTrackedChanges(
  sql: Database["sql"],
  { repositoryId, windowStart, since, withTime }: {
    repositoryId: number;
    windowStart: number;
    since: TestsState;
    withTime: boolean;
  },
): Promise<TestsState | null> {
  const scope = {
    repositoryId,
    dataVersion: since.version.dataVersion,
    earlierFirstId: firstSubmissionId(since.windowStart),
    firstId: firstSubmissionId(windowStart),
    withTime,
  };
  return await sql.begin(
    // All statements must see the same data.
    "isolation level repeatable read read only",
    async (tx) => {
      const [[row], added, expired, tests, expiredDisruptions, tags] = await Promise.all([
        selectVersions(tx, { repositoryIds: [repositoryId], windowStart }),
        selectAdded(tx, scope),
        selectExpired(tx, scope),
        selectChangedTests(tx, scope),
        selectExpiredDisruptions(tx, scope),
        selectTags(tx, { repositoryIds: arrayOf([repositoryId]), firstId: scope.firstId }),
      ]);
      if (!row) return null;
      const { repositoryId: _, idPrefix, ...version } = row;
      if (!canApply(since, { version, windowStart })) return null;
      const testListNos = new Set([...added, ...expired].map(({ testListNo }) => testListNo));
      const lists = await loadTestLists(tx, { repositoryId, testListNos });
      return applyChanges(since, {
        version,
        windowStart,
        added: added.map(recordedRun),
        expired: expired.map(recordedRun),
        lists,
        changedTests: new Map(
          tests.map((row) => [row.testNo, trackedTestBase(row, { ...row, idPrefix })]),
        ),
        expiredDisruptions: new Map(expiredDisruptions.map((row) => [row.testNo, row.count])),
        tags: tagsByTest(tags),
      });
    },
  );
}

interface Scope {
  repositoryId: number;
  /** Submissions with a greater version were added since. */
  dataVersion: number;
  /** Where the window began before. */
  earlierFirstId: string;
  /** Where it begins now. */
  firstId: string;
  withTime: boolean;
}

function selectAdded(sql: Queryable, { repositoryId, dataVersion, firstId, withTime }: Scope) {
  return sql<RunRow[]>`
    select ${runColumns(sql, { withTime })}
    from submission
    where repository_id = ${repositoryId} and data_version > ${dataVersion}
      and submission_id >= decode(${firstId}, 'hex') and status = 'processed'`;
}

function selectExpired(sql: Queryable, scope: Scope) {
  const { repositoryId, dataVersion, earlierFirstId, firstId, withTime } = scope;
  return sql<RunRow[]>`
    select ${runColumns(sql, { withTime })}
    from submission
    where repository_id = ${repositoryId} and data_version <= ${dataVersion}
      and submission_id >= decode(${earlierFirstId}, 'hex')
      and submission_id < decode(${firstId}, 'hex') and status = 'processed'`;
}

/** Tests with a disruption at a code version that has a submission added since. */
function selectChangedTests(sql: Queryable, { repositoryId, dataVersion, firstId }: Scope) {
  return sql<(TestRow & { disruptionCount: number })[]>`
    select ${testColumns(sql)},
      (select count(*)::int from negative_result n
        where n.repository_id = ${repositoryId} and n.test_no = d.test_no and n.is_disruption
          and ${isDisruptedSince(sql, firstId)}) as "disruptionCount"
    from (
      select distinct n.test_no
      from submission u
      join submission s
        on s.repository_id = u.repository_id and s.code_version = u.code_version
      join negative_result n
        on n.repository_id = s.repository_id and n.submission_id = s.submission_id
      where u.repository_id = ${repositoryId} and u.data_version > ${dataVersion}
        and u.status = 'processed' and n.is_disruption
    ) changed
    join disruptive_test d
      on d.repository_id = ${repositoryId} and d.test_no = changed.test_no
    join test t on t.repository_id = ${repositoryId} and t.test_no = changed.test_no
    left join quarantine q on q.repository_id = ${repositoryId} and q.test_no = changed.test_no`;
}

function selectExpiredDisruptions(
  sql: Queryable,
  { repositoryId, earlierFirstId, firstId }: Scope,
) {
  return sql<{ testNo: number; count: number }[]>`
    select test_no as "testNo", count(*)::int as count
    from negative_result
    where repository_id = ${repositoryId} and is_disruption
      and submission_id >= decode(${earlierFirstId}, 'hex')
      and submission_id < decode(${firstId}, 'hex')
    group by test_no`;
}
