// Tests: tests/routes/test_states_test.ts
/** The states of the tests of a repository on its base branch. */
import type { TestFacts } from "../../lib/analysis/disruptions.ts";
import { isSetUp } from "../../lib/analysis/repetition/set_up.ts";
import type { Run } from "../../lib/analysis/run.ts";
import { wilsonLowerBound } from "../../lib/analysis/wilson.ts";
import { firstSubmissionId, type TestIdentity } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { passesNeeded } from "../../lib/evidence/calm.ts";
import { basePatterns } from "../../lib/evidence/base_branch.ts";
import type { VersionOutcome } from "../../lib/evidence/segments.ts";
import { withoutOutages } from "../../lib/evidence/base_runs.ts";
import { MIN_BROKEN_RUNS, TEST_STATES, type TestState } from "../../lib/evidence/states.ts";
import {
  isProving,
  statesOf,
  statesOfOthers,
  testsOftenFailed,
  testsWithFailures,
  withoutMerelyFlaky,
} from "../../lib/evidence/states_of_tests.ts";
import type { Stopped } from "../../lib/evidence/stopped.ts";
import {
  type Environments,
  MAX_HISTORY_RUNS,
  type Since,
  type TestStateFacts,
} from "../../lib/evidence/test_evidence.ts";
import { ALL_SUBMISSIONS } from "../../lib/query/submission_filter.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { loadBaseBranch, loadBaseBranches } from "./base_branch.ts";
import { buildKeyOf, isOfBase, isOneOf, isRecordedSince } from "./fragments.ts";
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

/** A repository, and a window that ends now. */
interface RepositoryWindow {
  repositoryId: number;
  idPrefix: number;
  now: number;
  windowStart: number;
}

interface StatesQuery extends RepositoryWindow {
  states: readonly TestState[];
  /** Which of the tests in these states; all unless given. */
  isListed?: (test: Pick<TestInState, "state" | "isDisruptive">) => boolean;
  /** Also finds the tests that pass again. */
  withProving?: boolean;
  limit: number;
  offset: number;
}

/**
 * The tests in some states, the worst state first, and how many there are; `base` is the base branch, `stopped`
 * the tests that stopped running in the last 90 days, the latest first, and `proving`, if asked for, those that pass
 * again, the ones with the fewest passes left first.
 */
export async function loadTestStates(
  sql: Queryable,
  { states, isListed = () => true, withProving = false, limit, offset, ...window }: StatesQuery,
): Promise<{
  count: number;
  tests: TestInState[];
  base: string;
  stopped: StoppedTest[];
  proving: ProvingTest[];
}> {
  const isFlakyListed = states.includes("flaky") &&
    isListed({ state: "flaky", isDisruptive: true });
  const { base, disruptive, found, names } = await loadStates(sql, {
    ...window,
    withMerelyFlaky: isFlakyListed,
    withProving,
    withOthers: states.some((state) => state === "healthy" || state === "new"),
  });
  const isDisruptive = (testNo: number) => disruptive.has(testNo);
  const wanted = [...found].filter(([testNo, { state }]) =>
    states.includes(state) && isListed({ state, isDisruptive: isDisruptive(testNo) })
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
  );
  sortByState(tests);
  return {
    base,
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
  { withMerelyFlaky, withProving, withOthers, ...window }:
    & RepositoryWindow
    & { withMerelyFlaky: boolean; withProving: boolean; withOthers: boolean },
): Promise<{ base: string; disruptive: Set<number>; found: States; names: Names }> {
  const [base, disruptive] = await Promise.all([
    loadBaseBranch(sql, window),
    selectDisruptive(sql, window),
  ]);
  const runs = await loadBaseRuns(sql, { ...window, base });
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
  return { base, disruptive, found, names };
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

/** They are looked for in the latest builds: twice as many, because two uploads without an address are two builds. */
const LATEST_BUILDS = 2 * MIN_BROKEN_RUNS;

/** Of a repository, on its base branch: a nightly run and 25 runs of changes a day are those of 12 days. */
const LATEST_SUBMISSIONS = 300;

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
 * How many tests are broken, by repository. Those that failed three times in the latest builds of a job, or of the same
 * tests in it, may be: their histories alone are read.
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
    const candidates = Map.groupBy(rows, ({ repositoryId }) => repositoryId);
    const own = [...candidates.keys()];
    for await (const [repositoryId, runs] of eachBaseRuns(sql, { base, own, ...limits })) {
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
        ? withoutOutages(latest.reverse())
        : await loadBaseRuns(sql, { repositoryId, base });
      yield [repositoryId, runs];
    }
    left = left.filter((repositoryId) => repositoryId >= next);
  }
}

/**
 * The tests that failed three times in the latest builds of a job, or of the same list of tests in it: a job may run
 * several suites in turn, or have stopped running a test.
 */
async function selectOftenFailed(
  sql: Queryable,
  { repositoryIds, base }: { repositoryIds: readonly number[]; base: string },
) {
  const ids = arrayOf(repositoryIds);
  return await sql<({ repositoryId: number; testNo: number } & TestIdentity)[]>`
    select f.repository_id::float8 as "repositoryId", f.test_no as "testNo",
      t.suite, t.class, t.name, t.file
    from (
      select distinct n.repository_id, n.test_no
      from (
        select b.repository_id, b.submission_id, b.job, b.environment, b.list,
          dense_rank() over (
            partition by b.repository_id, b.job, b.environment, b.list
            order by b.last_submission_id desc) as place
        from (
          select s.repository_id, s.submission_id, s.job, s.environment, l.list,
            first_value(s.submission_id) over (
              partition by s.repository_id, s.job, s.environment, l.list, s.build
              order by s.submission_id desc) as last_submission_id
          from repository_state r
          cross join lateral (
            select s.repository_id, s.submission_id, s.job, s.environment, s.test_list_no,
              ${buildKeyOf(sql)} as build
            from submission s
            where s.repository_id = r.repository_id and s.status = 'processed'
              and not s.is_outage and ${isOfBase(sql, basePatterns(base))}
              and ${isOneOf(sql, sql`s.repository_id`, repositoryIds)}
            order by s.submission_id desc
            limit ${LATEST_SUBMISSIONS}
          ) s
          cross join lateral (values (-1), (s.test_list_no)) l (list)
          where r.repository_id = any(${ids}::bigint[])
        ) b
      ) latest
      cross join lateral (
        select n.repository_id, n.submission_id, n.test_no from negative_result n
        where n.repository_id = latest.repository_id and n.submission_id = latest.submission_id
          and ${isOneOf(sql, sql`n.repository_id`, repositoryIds)}
        offset 0
      ) n
      where latest.place <= ${LATEST_BUILDS}
      group by n.repository_id, n.test_no, latest.job, latest.environment, latest.list
      having count(distinct n.submission_id) >= ${MIN_BROKEN_RUNS}
    ) f
    cross join lateral (
      select t.suite, t.class, t.name, t.file from test t
      where t.repository_id = f.repository_id and t.test_no = f.test_no
        and ${isOneOf(sql, sql`t.repository_id`, repositoryIds)}
      offset 0
    ) t`;
}

/**
 * The worst state first, in it those that still run, then by the failure rate, of which small samples do not come first.
 */
function sortByState(tests: TestInState[]): void {
  const bounds = new Map(tests.map((test) => [test, wilsonLowerBound(test.failures, test.runs)]));
  tests.sort((a, b) =>
    TEST_STATES.indexOf(a.state) - TEST_STATES.indexOf(b.state) ||
    Number(a.isStopped) - Number(b.isStopped) ||
    bounds.get(b)! - bounds.get(a)! || (a.id < b.id ? -1 : 1)
  );
}

/** The runs on the base branch without outages, oldest first. */
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
  return withoutOutages(runs.reverse());
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
