// Tests: tests/routes/test_states_test.ts
/** The states of the tests of a repository on its base branch. */
import { MAX_HISTORY_RUNS, STOPPED_RUNS } from "../../lib/evidence/stop_rule.ts";
import type { TestFacts } from "../../lib/analysis/disruptions.ts";
import { isSetUp } from "../../lib/analysis/repetition/set_up.ts";
import { type Run, SelectedTests } from "../../lib/analysis/run.ts";
import { firstSubmissionId, type TestIdentity } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { passesNeeded } from "../../lib/evidence/calm.ts";
import { basePatterns, isInactive } from "../../lib/evidence/base_branch.ts";
import type { VersionOutcome } from "../../lib/evidence/segments.ts";
import { countedRuns } from "../../lib/evidence/base_runs.ts";
import {
  BAD_STATES,
  compareStates,
  MIN_BROKEN_RUNS,
  type TestState,
} from "../../lib/evidence/states.ts";
import {
  isProving,
  statesOf,
  statesOfOthers,
  testsOftenFailed,
  testsWithFailures,
  withoutMerelyFlaky,
} from "../../lib/evidence/states_of_tests.ts";
import type { Stopped } from "../../lib/evidence/stopped.ts";
import type { Environments, Since, TestStateFacts } from "../../lib/evidence/test_evidence.ts";
import { ALL_SUBMISSIONS } from "../../lib/query/submission_filter.ts";
import { arrayOf, idsIn, type Queryable } from "../connection/sql.ts";
import { loadBaseBranch, loadBaseBranches } from "./base_branch.ts";
import { branchTestedFor, isOfBase, isOneOf, isRecordedSince } from "./fragments.ts";
import { loadIdentities } from "./names_of_tests.ts";
import { integersOf } from "./packed_rows.ts";
import { eachRun, loadLatestRuns } from "./runs.ts";
import { loadTestFacts } from "./test_facts.ts";

/** Enough for ten environments with all runs that count; bounds the time of a request. */
export const MAX_BASE_SUBMISSIONS = 10 * MAX_HISTORY_RUNS;

/** The columns of a run that its place in the history of tests depends on. */
export const BASE_COLUMNS = [
  "commitOid",
  "treeOid",
  "code",
  "environment",
  "job",
  "shard",
  "isOutage",
  "results",
] as const;

type BaseRun = Run<typeof BASE_COLUMNS[number]>;

/** A test that had failures, and does not run in its job any more. */
export interface StoppedTest extends TestIdentity, Stopped {
  /** 24 lower-case hex digits. */
  id: string;
  /** Passes since its last failure, and the runs before. */
  passes: number;
  before: VersionOutcome;
}

/** A test that failed, and passes since, but not yet often enough to be called calm. */
interface ProvingTest extends TestIdentity {
  /** 24 lower-case hex digits. */
  id: string;
  /** Passes since its last failure, and how many are needed. */
  passes: number;
  passesNeeded: number;
}

/** A test that stopped earlier is forgotten. */
const STOPPED_SECONDS = 90 * SECONDS_PER_DAY;

export interface TestInState extends TestIdentity, TestStateFacts {
  /** Where the last segment of its history began; found out where it is shown. */
  since(): Since | null;
  /** Whether the base branch has runs from before the first one of the test. */
  wasAdded(): boolean;
  /** 24 lower-case hex digits. */
  id: string;
  /** Whether it is disruptive in the window: it failed and passed on the same code. */
  isDisruptive: boolean;
  /** Its last run, in seconds since 1970. */
  lastRunAt: number;
  /** Whether its job runs without it. */
  isStopped: boolean;
}

/** What the states of all tests of a repository are worked out from. */
interface BaseHistory {
  base: string;
  /** The runs on the base branch, oldest first, with those of outages. */
  all: BaseRun[];
  /** The tests with a disruption in the window. */
  disruptive: Set<number>;
}

/** A repository, and a window that ends now. */
interface RepositoryWindow {
  repositoryId: number;
  idPrefix: number;
  now: number;
  windowStart: number;
}

interface StatesQuery extends RepositoryWindow {
  states: readonly TestState[];
  /** What {@linkcode loadBaseHistory} loaded for the same window; loaded unless given. */
  history?: BaseHistory;
  /** Which of the tests in these states; all unless given. */
  isListed?: (test: Pick<TestInState, "state" | "isDisruptive">) => boolean;
  /** Also finds the tests that pass again. */
  withProving?: boolean;
  limit: number;
  offset: number;
}

/**
 * The tests in some states, the worst state first, and how many there are; `base` is the base branch, `inactiveSince`
 * its last run in seconds since 1970 if it is inactive (no test is broken then, or flaky by its history), `stopped` the
 * tests that stopped running in the last 90 days, the latest first, and `proving`, if asked for, those that pass again,
 * the ones with the fewest passes left first.
 */
export async function loadTestStates(
  sql: Queryable,
  { states, isListed = () => true, withProving = false, limit, offset, ...window }: StatesQuery,
): Promise<{
  count: number;
  tests: TestInState[];
  base: string;
  inactiveSince: number | null;
  stopped: StoppedTest[];
  proving: ProvingTest[];
}> {
  const isFlakyListed = states.includes("flaky") &&
    isListed({ state: "flaky", isDisruptive: true });
  const { base, latestRunAt, disruptive, found, names } = await loadStates(sql, {
    ...window,
    withMerelyFlaky: isFlakyListed,
    withProving,
    withOthers: states.some((state) => state === "healthy" || state === "new"),
  });
  const inactiveSince = isInactive({ latestRunAt, now: window.now }) ? latestRunAt : null;
  const isDisruptive = (testNo: number) => disruptive.has(testNo);
  const isCurrent = (testNo: number, state: TestState) =>
    inactiveSince === null || !BAD_STATES.includes(state) ||
    state === "flaky" && isDisruptive(testNo);
  const wanted = [...found].filter(([testNo, { state }]) =>
    states.includes(state) && isCurrent(testNo, state) &&
    isListed({ state, isDisruptive: isDisruptive(testNo) })
  );
  const unnamed = wanted.flatMap(([testNo]) => names.has(testNo) ? [] : [testNo]);
  if (unnamed.length > 0) {
    const more = await loadIdentities(sql, { ...window, testNos: unnamed });
    for (const [testNo, identity] of more) names.set(testNo, identity);
  }
  const tests = named(
    names,
    wanted.map(([testNo, { passing: _, stopped, ...facts }]) => (
      {
        testNo,
        ...facts,
        isDisruptive: isDisruptive(testNo),
        isStopped: stopped !== null,
      }
    )),
  ).sort(compareStates);
  return {
    base,
    inactiveSince,
    stopped: named(names, stoppedTests(found, window))
      .sort((a, b) => b.lastRunAt - a.lastRunAt || (a.id < b.id ? -1 : 1)),
    proving: !withProving
      ? []
      : named(names, provingTests(found)).sort((a, b) =>
        (a.passesNeeded - a.passes) - (b.passesNeeded - b.passes) || (a.id < b.id ? -1 : 1)
      ),
    count: tests.length,
    tests: tests.slice(offset, offset + limit),
  };
}

/** The history of the base branch. Who loads it first and the rest afterwards works while the database reads the rest. */
export async function loadBaseHistory(
  sql: Queryable,
  window: RepositoryWindow,
): Promise<BaseHistory> {
  const base = await loadBaseBranch(sql, window);
  const [all, disruptive] = await Promise.all([
    loadBaseRuns(sql, { ...window, base }),
    selectDisruptive(sql, window),
  ]);
  return { base, all, disruptive };
}

type States = ReturnType<typeof statesOf>;
type Names = Awaited<ReturnType<typeof loadIdentities>>;

/**
 * The states of the tests that failed or are disruptive, and their names.
 *
 * @param options.withMerelyFlaky also of the disruptive tests that can neither be broken nor have stopped
 * @param options.withProving also how the tests pass since their last failure
 * @param options.withOthers also of the tests that never failed, whose names are not loaded
 */
async function loadStates(
  sql: Queryable,
  { history, withMerelyFlaky, withProving, withOthers, ...window }:
    & RepositoryWindow
    & Pick<StatesQuery, "history">
    & { withMerelyFlaky: boolean; withProving: boolean; withOthers: boolean },
): Promise<{
  base: string;
  latestRunAt: number;
  disruptive: Set<number>;
  found: States;
  names: Names;
}> {
  const { base, all, disruptive } = history ?? await loadBaseHistory(sql, window);
  const runs = countedRuns(all);
  const failed = testsWithFailures(runs, disruptive);
  const testNos = withMerelyFlaky || withProving
    ? failed
    : withoutMerelyFlaky(runs, failed, disruptive);
  const [names, disruptedIn] = await Promise.all([
    loadIdentities(sql, { ...window, testNos: [...testNos] }),
    loadDisruptedIn(sql, {
      ...window,
      testNos: [...disruptive.intersection(testNos)],
      environments: new Set(runs.map(({ environment }) => environment)),
    }),
  ]);
  const setUpOf = await loadSetUps(sql, { ...window, tests: names });
  const found = statesOf(runs, { testNos, disruptedIn, setUpOf, withPassing: withProving });
  if (withOthers) {
    const known = new Set([...found.keys(), ...disruptive]);
    for (const [testNo, facts] of statesOfOthers(runs, known)) found.set(testNo, facts);
  }
  return { base, latestRunAt: all.at(-1)?.recordedAt ?? 0, disruptive, found, names };
}

/** Tests with their names; pruned ones have none any more, and are left out. */
function named<Facts extends { testNo: number }>(names: Names, facts: readonly Facts[]) {
  return facts.flatMap(({ testNo, ...own }) => {
    const identity = names.get(testNo);
    return identity ? [{ ...identity, ...own }] : [];
  });
}

/** The tests that stopped running in the last 90 days. */
function stoppedTests(found: States, { now }: Pick<RepositoryWindow, "now">) {
  return [...found].flatMap(([testNo, { stopped, passing }]) =>
    stopped && stopped.lastRunAt >= now - STOPPED_SECONDS
      ? [{ testNo, ...stopped, ...passing! }]
      : []
  );
}

/** The tests that pass again, but not yet often enough to be called calm. */
function provingTests(found: States) {
  return [...found].flatMap(([testNo, { passing, ...facts }]) =>
    passing && isProving(facts, passing)
      ? [{ testNo, passes: passing.passes, passesNeeded: passesNeeded(passing.before) }]
      : []
  );
}

/** The groups of the set-ups among some tests by test_no: most repositories have none. */
async function loadSetUps(
  sql: Queryable,
  { repositoryId, tests }: { repositoryId: number; tests: ReadonlyMap<number, TestIdentity> },
): Promise<TestFacts["setUpOf"]> {
  const testNos = new Set([...tests].filter(([, test]) => isSetUp(test)).map(([testNo]) => testNo));
  if (testNos.size === 0) return () => undefined;
  return (await loadTestFacts(sql, { repositoryId, testNos })).setUpOf;
}

/** Submissions with failures on the base branch of a repository, among which broken tests are looked for. */
const FAILED_SUBMISSIONS = 300;

/** Of a shard of a job, or of the same tests in a job. More than three, because a build may upload twice. */
const LATEST_FAILED = 2 * MIN_BROKEN_RUNS;

/** Of the same tests, if some are skipped by now: a broken one may be among them, until it counts as stopped. */
const LATEST_FAILED_WITH_SKIPPED = LATEST_FAILED + STOPPED_RUNS;

/** Submissions among which the next one of a job is looked for. */
const NEXT_SUBMISSIONS = 1_000;

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
      const selected = new SelectedTests(failed.map(({ testNo }) => testNo));
      results.each(selected, (testNo, { counts }) => {
        if (counts.positive === 0) return;
        for (const test of failed) if (test.testNo === testNo) passed.add(test);
      });
    }
  }
  return tests.filter((test) => !passed.has(test));
}

async function loadBaseRuns(
  sql: Queryable,
  { repositoryId, base }: { repositoryId: number; base: string },
): Promise<BaseRun[]> {
  const where = isOfBase(sql, basePatterns(base));
  const filter = ALL_SUBMISSIONS;
  const runs: BaseRun[] = [];
  for await (const run of eachRun(sql, { repositoryId, columns: BASE_COLUMNS, filter, where })) {
    runs.push(run);
    if (runs.length === MAX_BASE_SUBMISSIONS) break;
  }
  return runs.reverse();
}

/** By test_no: the environments in which a test is disruptive in the window. Most repositories have one. */
async function loadDisruptedIn(
  sql: Queryable,
  { repositoryId, testNos, windowStart, environments }: {
    repositoryId: number;
    testNos: readonly number[];
    windowStart: number;
    /** The runs on the base branch. */
    environments: Environments;
  },
): Promise<Map<number, Environments>> {
  if (environments.size === 1) return new Map(testNos.map((testNo) => [testNo, environments]));
  const rows = await sql<{ testNo: number; environment: string }[]>`
    select distinct n.test_no as "testNo", s.environment
    from negative_result n
    join submission s on s.repository_id = n.repository_id and s.submission_id = n.submission_id
    where n.repository_id = ${repositoryId} and n.is_disruption
      and n.test_no = any(${arrayOf(testNos)}::integer[])
      and ${isRecordedSince(sql, firstSubmissionId(windowStart))}`;
  const found = new Map<number, Set<string>>();
  for (const { testNo, environment } of rows) {
    const known = found.get(testNo);
    if (known) known.add(environment);
    else found.set(testNo, new Set([environment]));
  }
  return found;
}

/** The tests with a disruption in the window. */
async function selectDisruptive(
  sql: Queryable,
  { repositoryId, windowStart }: { repositoryId: number; windowStart: number },
): Promise<Set<number>> {
  const [row] = await sql<{ tests: Uint8Array }[]>`
    select coalesce(string_agg(int4send(d.test_no), ''), '') as tests from disruptive_test d
    where d.repository_id = ${repositoryId}
      and d.latest_submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex')`;
  return new Set(integersOf(row!.tests));
}
