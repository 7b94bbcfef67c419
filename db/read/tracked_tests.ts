import {
  applyChanges,
  canApply,
  initialState,
  type TestsState,
} from "../../lib/analysis/tests_state.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import {
  ALL_SUBMISSIONS,
  isUnfiltered,
  type SubmissionFilter,
} from "../../lib/query/submission_filter.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { isRecordedSince, isSelected } from "./fragments.ts";
import { loadRuns, loadRunsByRepository } from "./runs.ts";
import {
  type Disruptions,
  selectDisruptionCounts,
  selectFilteredDisruptions,
  selectTags,
  selectVersions,
  type SubmissionRange,
  tagsByTest,
  testColumns,
  type TestRow,
  trackedTestBase,
} from "./tracked_test_rows.ts";

/**
 * All tests of the given repositories that are disruptive in the window or quarantined, by
 * repository; deleted repositories are left out. How often a test ran follows from the submissions of the
 * window with its list and their exceptions.
 *
 * @param options.withTime loads `timeConsumed`: the durations of all results are by far the most
 * bytes
 * @param options.filter of the submissions that count, for all but which results are disruptions,
 * the first disruption and the latest positive result
 * @param options.disruptionCounts of all submissions of the window, if they are loaded already
 */
export async function loadTrackedTests(
  tx: Queryable,
  {
    repositoryIds,
    now,
    windowStart,
    withTime = false,
    filter = ALL_SUBMISSIONS,
    disruptionCounts,
  }: LoadTrackedTestsOptions & { repositoryIds: number[] },
): Promise<Map<number, TestsState>> {
  const range = { repositoryIds: arrayOf(repositoryIds), firstId: firstSubmissionId(windowStart) };
  // What takes longest last: meanwhile the program reads the rest.
  const [[versions, tests, runs, tags], counts] = await Promise.all([
    Promise.all([
      selectVersions(tx, { repositoryIds, now, windowStart }),
      selectTests(tx, range),
      loadRunsByRepository(tx, {
        ...range,
        columns: countedColumns(withTime),
        where: isSelected(tx, filter),
      }),
      selectTags(tx, range),
    ]),
    isUnfiltered(filter)
      ? disruptionCounts ?? loadDisruptionCounts(tx, range)
      : loadFilteredDisruptions(tx, { ...range, repositoryIds, filter }),
  ]);
  const of = <Row extends { repositoryId: number }>(rows: readonly Row[]) => {
    const byRepository = Map.groupBy(rows, (row) => row.repositoryId);
    return (repositoryId: number) => byRepository.get(repositoryId) ?? [];
  };
  const [testsOf, tagsOf] = [of(tests), of(tags)];
  return new Map(
    versions.map(({ repositoryId, idPrefix, ...version }) => {
      const disruptions = counts.get(repositoryId);
      const state = applyChanges(initialState({ withTime }), {
        version,
        now,
        windowStart,
        added: runs.get(repositoryId) ?? [],
        expired: [],
        changedTests: new Map(
          testsOf(repositoryId).map((row) => {
            const { disruptionCount = 0, recordedAt, commitOid = "", buildUrl = "", message = "" } =
              disruptions?.get(row.testNo) ?? {};
            const test = trackedTestBase(row, { idPrefix, disruptionCount });
            if (isUnfiltered(filter)) return [row.testNo, test];
            const latestDisruption = recordedAt === undefined
              ? null
              : { recordedAt, commitOid, buildUrl, message };
            return [row.testNo, { ...test, latestDisruption }];
          }),
        ),
        expiredDisruptions: new Map(),
        tags: tagsByTest(tagsOf(repositoryId)),
      });
      return [repositoryId, state!];
    }),
  );
}

/** What is loaded of runs to count them. Durations are by far the most bytes. */
function countedColumns(withTime: boolean) {
  const columns = ["tests", "results"] as const;
  return withTime ? [...columns, "durations"] as const : columns;
}

interface LoadTrackedTestsOptions {
  now: number;
  windowStart: number;
  withTime?: boolean;
  filter?: SubmissionFilter;
  disruptionCounts?: Promise<DisruptionCounts>;
}

/** The number of disruptions of each test of some repositories, and the latest if it was loaded, by test_no. */
export type DisruptionCounts = ReadonlyMap<number, ReadonlyMap<number, Disruptions>>;

async function loadDisruptionCounts(
  tx: Queryable,
  range: SubmissionRange,
): Promise<DisruptionCounts> {
  const rows = await selectDisruptionCounts(tx, range);
  const byRepository = Map.groupBy(rows, ({ repositoryId }) => repositoryId);
  return new Map(Array.from(byRepository, ([repositoryId, own]) => [repositoryId, byTest(own)]));
}

function byTest<Row extends { testNo: number }>(rows: readonly Row[]): Map<number, Row> {
  return new Map(rows.map((row) => [row.testNo, row]));
}

/** One statement for each repository, because Citus refuses it for several. */
async function loadFilteredDisruptions(
  tx: Queryable,
  { repositoryIds, ...options }: {
    repositoryIds: readonly number[];
    firstId: string;
    filter: SubmissionFilter;
  },
): Promise<DisruptionCounts> {
  return new Map(
    await Promise.all(repositoryIds.map(async (repositoryId) => {
      const rows = await selectFilteredDisruptions(tx, { ...options, repositoryId });
      return [repositoryId, byTest(rows)] as const;
    })),
  );
}

/**
 * Loads what changed since an earlier state and applies it; `null` when everything has to be loaded
 * again. The first page after an upload of 20,000 results takes 13 ms this way, instead of 100.
 *
 * An upload changes how often its tests ran, their tags, and the disruptions of the tests that are
 * nondeterministic at its code version: those have a disruption there.
 */
export async function loadTrackedChanges(
  tx: Queryable,
  { repositoryId, now, windowStart, since, withTime }: {
    repositoryId: number;
    now: number;
    windowStart: number;
    since: TestsState;
    withTime: boolean;
  },
): Promise<TestsState | null> {
  const { dataVersion } = since.version;
  const repositoryIds = arrayOf([repositoryId]);
  const columns = countedColumns(withTime);
  const range = { repositoryIds, firstId: firstSubmissionId(windowStart) };
  const expiredScope = {
    repositoryIds,
    firstId: firstSubmissionId(since.windowStart),
    endId: range.firstId,
  };
  const [[row], added, expired, tests, expiredDisruptions, tags] = await Promise.all([
    selectVersions(tx, { repositoryIds: [repositoryId], now, windowStart }),
    loadRuns(tx, {
      repositoryId,
      columns,
      since: windowStart,
      where: tx`s.data_version > ${dataVersion}`,
    }),
    loadRuns(tx, {
      repositoryId,
      columns,
      since: since.windowStart,
      where: tx`s.submission_id < decode(${range.firstId}, 'hex')
        and s.data_version <= ${dataVersion}`,
    }),
    selectChangedTests(tx, { repositoryId, dataVersion, firstId: range.firstId }),
    selectDisruptionCounts(tx, expiredScope),
    selectTags(tx, range),
  ]);
  if (!row) return null;
  const { repositoryId: _, idPrefix, ...version } = row;
  if (!canApply(since, { version, windowStart })) return null;
  return applyChanges(since, {
    version,
    now,
    windowStart,
    added,
    expired,
    changedTests: new Map(
      tests.map((row) => [row.testNo, trackedTestBase(row, { ...row, idPrefix })]),
    ),
    expiredDisruptions: new Map(
      expiredDisruptions.map(({ testNo, disruptionCount }) => [testNo, disruptionCount]),
    ),
    tags: tagsByTest(tags),
  });
}

// Two disjoint parts with `union all`: the planner expects a `union` to have few rows, and looks up each
// of them separately.
function selectTests(sql: Queryable, { repositoryIds, firstId }: SubmissionRange) {
  return sql<TestRow[]>`
    select ${testColumns(sql)}
    from disruptive_test d
    join test t on t.repository_id = d.repository_id and t.test_no = d.test_no
      and t.repository_id = any(${repositoryIds}::bigint[])
    left join quarantine q on q.repository_id = d.repository_id and q.test_no = d.test_no
      and q.repository_id = any(${repositoryIds}::bigint[])
    where d.repository_id = any(${repositoryIds}::bigint[])
      and d.latest_submission_id >= decode(${firstId}, 'hex')
    union all
    select ${testColumns(sql)}
    from quarantine q
    join test t on t.repository_id = q.repository_id and t.test_no = q.test_no
      and t.repository_id = any(${repositoryIds}::bigint[])
    left join disruptive_test d on d.repository_id = q.repository_id and d.test_no = q.test_no
      and d.repository_id = any(${repositoryIds}::bigint[])
    where q.repository_id = any(${repositoryIds}::bigint[])
      and (d.latest_submission_id >= decode(${firstId}, 'hex')) is not true`;
}

/** Tests with a disruption at a code version that has a submission added since. */
function selectChangedTests(
  sql: Queryable,
  { repositoryId, dataVersion, firstId }: {
    repositoryId: number;
    dataVersion: number;
    firstId: string;
  },
) {
  return sql<(TestRow & { disruptionCount: number })[]>`
    select ${testColumns(sql)},
      (select count(*)::int from negative_result n
        where n.repository_id = ${repositoryId} and n.test_no = d.test_no and n.is_disruption
          and ${isRecordedSince(sql, firstId)}) as "disruptionCount"
    from (
      select distinct n.test_no
      from submission u
      join submission s
        on s.repository_id = u.repository_id and s.code_version = u.code_version
          and s.environment = u.environment
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
