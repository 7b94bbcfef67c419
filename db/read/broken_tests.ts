// Tests: tests/routes/test_states_test.ts
/** How many tests are broken in each of many repositories: nearly all histories are ruled out without reading them. */
import { SelectedTests } from "../../lib/analysis/run.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { basePatterns, isInactive } from "../../lib/evidence/base_branch.ts";
import { countedRuns } from "../../lib/evidence/base_runs.ts";
import { MIN_BROKEN_RUNS } from "../../lib/evidence/states.ts";
import { statesOf, testsOftenFailed } from "../../lib/evidence/states_of_tests.ts";
import { STOPPED_RUNS } from "../../lib/evidence/stop_rule.ts";
import { arrayOf, idsIn, type Queryable } from "../connection/sql.ts";
import { loadBaseBranches } from "./base_branch.ts";
import { BASE_COLUMNS, type BaseRun, loadBaseRuns } from "./base_runs.ts";
import { branchTestedFor, isOfBase, isOneOf } from "./fragments.ts";
import { loadLatestRuns } from "./runs.ts";
import { loadSetUps } from "./test_facts.ts";

/** Longer histories are loaded one after the other. */
const RUNS_TOGETHER = 1_000;

/** Runs of several repositories that are in memory together. */
const RUNS_PER_STATEMENT = 20_000;

interface RunLimits {
  runsTogether?: number;
  /** More than `runsTogether`. */
  runsPerStatement?: number;
}

/**
 * How many tests are broken, by repository. Those that failed three times and have not passed since may be: their
 * histories alone are read.
 */
export async function countBrokenTests(
  sql: Queryable,
  { repositoryIds, now, ...limits }:
    & { repositoryIds: readonly number[]; now: number }
    & RunLimits,
): Promise<Map<number, number>> {
  const bases = await loadBaseBranches(sql, { repositoryIds, now });
  const counts = new Map<number, number>();
  // Most have the same base branch.
  for (const [base, ofBase] of Map.groupBy(repositoryIds, (id) => bases.get(id)!)) {
    const rows = await selectOftenFailed(sql, { repositoryIds: ofBase, base });
    const failing = await withoutPassed(sql, rows);
    const candidates = Map.groupBy(failing, ({ repositoryId }) => repositoryId);
    const own = [...candidates.keys()];
    for await (const [repositoryId, all] of eachBaseRuns(sql, { base, own, ...limits })) {
      if (isInactive({ latestRunAt: all.at(-1)?.recordedAt ?? 0, now })) continue;
      const runs = countedRuns(all);
      const failed = new Map(candidates.get(repositoryId)!.map((test) => [test.testNo, test]));
      // Most were tried again, and passed.
      const testNos = testsOftenFailed(runs, new Set(failed.keys()));
      const tests = new Map([...failed].filter(([testNo]) => testNos.has(testNo)));
      const setUpOf = await loadSetUps(sql, { repositoryId, tests });
      const states = statesOf(runs, { testNos, disruptedIn: new Map(), setUpOf });
      const broken = [...states.values()].filter(({ state }) => state === "broken");
      counts.set(repositoryId, broken.length);
    }
  }
  return counts;
}

/** The runs on a base branch of each of some repositories. */
async function* eachBaseRuns(
  sql: Queryable,
  { base, own, runsTogether = RUNS_TOGETHER, runsPerStatement = RUNS_PER_STATEMENT }:
    & { base: string; own: readonly number[] }
    & RunLimits,
): AsyncGenerator<[repositoryId: number, runs: BaseRun[]], void> {
  for (let left = own; left.length > 0;) {
    const loaded = await loadLatestRuns(sql, {
      repositoryIds: left,
      columns: BASE_COLUMNS,
      where: isOfBase(sql, basePatterns(base)),
      limit: runsTogether,
      total: runsPerStatement,
    });
    const found = [...loaded];
    const runCount = found.reduce((sum, [, latest]) => sum + latest.length, 0);
    // The last one may have more runs.
    const next = runCount < runsPerStatement ? Infinity : found.pop()![0];
    for (const [repositoryId, latest] of found) {
      const runs = latest.length < runsTogether
        ? latest.reverse()
        : await loadBaseRuns(sql, { repositoryId, base });
      yield [repositoryId, runs];
    }
    left = left.filter((repositoryId) => repositoryId >= next);
  }
}

/** Submissions with failures on the base branch of a repository, among which broken tests are looked for. */
const FAILED_SUBMISSIONS = 300;

/** Of a shard of a job, or of the same tests in a job. More than three, because a build may upload twice. */
const LATEST_FAILED = 2 * MIN_BROKEN_RUNS;

/** Of the same tests, if some are skipped by now: a broken one may be among them, until it counts as stopped. */
const LATEST_FAILED_WITH_SKIPPED = LATEST_FAILED + STOPPED_RUNS;

/** Submissions among which the next one of a job is looked for. */
const NEXT_SUBMISSIONS = 1_000;

/** A test that failed often in a job, in an environment. */
interface OftenFailed extends TestIdentity {
  repositoryId: number;
  testNo: number;
  /** The next submission of the job after its last failure; `null` if none says whether it passed. */
  nextId: string | null;
}

/**
 * The tests that failed three times in the latest failed submissions of the shards of a job, or of the same list of
 * tests in it: a job may run several suites in turn, or have stopped running a test. Without those that passed for
 * certain in the next submission, which has the same list and skipped none of it.
 */
async function selectOftenFailed(sql: Queryable, query: FailedQuery): Promise<OftenFailed[]> {
  return await sql<OftenFailed[]>`
    select f.repository_id::float8 as "repositoryId", n.test_no as "testNo",
      case when not next.is_older then encode(next.submission_id, 'hex') end as "nextId",
      t.suite, t.class, t.name, t.file
    from (
      -- The next submission is looked up once for all tests that failed last in the same one.
      select f.repository_id, f.job, f.environment, f.list, f.last_id,
        array_agg(f.test_no) as test_nos
      from ${failedOften(sql, query)} f
      group by f.repository_id, f.job, f.environment, f.list, f.last_id
    ) f
    cross join lateral (
      select s.shard, s.test_list_no, s.code_version from submission s
      where s.repository_id = f.repository_id and s.submission_id = decode(f.last_id, 'hex')
        and ${isOneOf(sql, sql`s.repository_id`, query.repositoryIds)}
      offset 0
    ) last
    left join lateral ${nextSubmission(sql, query)} next on true
    cross join lateral unnest(f.test_nos) n (test_no)
    cross join lateral (
      select t.suite, t.class, t.name, t.file from test t
      where t.repository_id = f.repository_id and t.test_no = n.test_no
        and ${isOneOf(sql, sql`t.repository_id`, query.repositoryIds)}
      offset 0
    ) t
    where (next.has_all and not next.is_older) is not true`;
}

interface FailedQuery {
  repositoryIds: readonly number[];
  base: string;
}

/** SQL: the tests that failed three times, by job and environment, and by list (-1: in shards); and where they failed last. */
function failedOften(sql: Queryable, query: FailedQuery) {
  return sql`(
    select b.repository_id, n.test_no, b.job, b.environment, l.list,
      max(encode(b.submission_id, 'hex') collate "C") as last_id
    from ${failedSubmissions(sql, query)} b
    cross join lateral (
      select distinct n.test_no from negative_result n
      where n.repository_id = b.repository_id and n.submission_id = b.submission_id
        and ${isOneOf(sql, sql`n.repository_id`, query.repositoryIds)}
      offset 0
    ) n
    cross join lateral (
      values (-1, b.is_latest), (b.test_list_no, b.is_latest_of_list)
    ) l (list, is_latest)
    where (b.is_latest or b.is_latest_of_list) and l.is_latest
    group by b.repository_id, n.test_no, b.job, b.environment, l.list
    having count(*) >= ${MIN_BROKEN_RUNS})`;
}

/** SQL: the failed submissions of the base branch, with whether each is among the latest of its shard, and of its list. */
function failedSubmissions(sql: Queryable, { repositoryIds, base }: FailedQuery) {
  return sql`(
    select s.*, row_number() over of_job <= ${LATEST_FAILED} as is_latest,
      count(*) over of_list >= ${MIN_BROKEN_RUNS} and row_number() over of_list <=
        case when first_value(s.skipped_test_count) over of_list > 0
          then ${LATEST_FAILED_WITH_SKIPPED}::int else ${LATEST_FAILED}::int end as is_latest_of_list
    from repository_state r
    cross join lateral (
      select s.repository_id, s.submission_id, s.job, s.environment, s.shard, s.test_list_no,
        s.skipped_test_count
      from submission s
      where s.repository_id = r.repository_id and ${branchTestedFor(sql)} = ${base}
        and s.failed_test_count > 0 and s.status = 'processed'
        and ${isOneOf(sql, sql`s.repository_id`, repositoryIds)}
      order by s.submission_id desc
      limit ${FAILED_SUBMISSIONS}
    ) s
    where r.repository_id = any(${arrayOf(repositoryIds)}::bigint[])
    window of_job as (
        partition by s.repository_id, s.job, s.environment, s.shard
        order by s.submission_id desc rows between unbounded preceding and unbounded following),
      of_list as (
        partition by s.repository_id, s.job, s.environment, s.test_list_no
        order by s.submission_id desc rows between unbounded preceding and unbounded following))`;
}

/** SQL: the next submission of the job after a last failure, `f` and `last`; other columns compare the two. */
function nextSubmission(sql: Queryable, { repositoryIds, base }: FailedQuery) {
  return sql`(
    select s.submission_id, s.test_list_no = last.test_list_no and s.skipped_test_count = 0 as has_all,
      -- What passed at code that ran before may fail at the latest.
      s.code_version <> last.code_version and exists (
        select true from submission o
        where o.repository_id = f.repository_id and o.code_version = s.code_version
          and ${isOneOf(sql, sql`o.repository_id`, repositoryIds)}
          and o.submission_id < decode(f.last_id, 'hex')) as is_older
    from (
      select * from submission s
      where s.repository_id = f.repository_id and s.submission_id > decode(f.last_id, 'hex')
        and ${isOneOf(sql, sql`s.repository_id`, repositoryIds)}
      order by s.submission_id
      limit ${NEXT_SUBMISSIONS}
    ) s
    where s.job = f.job and s.environment = f.environment and s.status = 'processed'
      and (s.test_list_no = f.list or f.list = -1 and s.shard = last.shard)
      and ${isOfBase(sql, basePatterns(base))}
    order by s.submission_id
    limit 1)`;
}

/** Without the tests that passed in the next submission of every job in which they failed often. */
async function withoutPassed(
  sql: Queryable,
  tests: readonly OftenFailed[],
): Promise<OftenFailed[]> {
  const known = tests.filter(({ nextId }) => nextId !== null);
  if (known.length === 0) return [...tests];
  const byRepository = Map.groupBy(known, ({ repositoryId }) => repositoryId);
  const nextIds = [...new Set(known.map(({ nextId }) => nextId!))];
  const loaded = await loadLatestRuns(sql, {
    repositoryIds: [...byRepository.keys()],
    columns: ["results"],
    where: sql`s.submission_id = any(${idsIn(sql, nextIds)})`,
    limit: nextIds.length,
    total: nextIds.length,
  });
  const passed = new Set<OftenFailed>();
  for (const [repositoryId, runs] of loaded) {
    for (const { submissionId, results } of runs) {
      const failed = byRepository.get(repositoryId)!.filter(({ nextId }) =>
        nextId === submissionId
      );
      const passedHere = results.passed(new SelectedTests(failed.map(({ testNo }) => testNo)));
      for (const test of failed) if (passedHere.has(test.testNo)) passed.add(test);
    }
  }
  return tests.filter((test) => !passed.has(test));
}
