// Tests: tests/routes/test_states_test.ts
/** The states of the tests of a repository on its base branch. */
import { ImpliedPasses, NO_IMPLIED_PASSES } from "../../lib/analysis/repetition/implied_passes.ts";
import { type Run, SelectedTests, TestHistories, type TestList } from "../../lib/analysis/run.ts";
import { wilsonLowerBound } from "../../lib/analysis/wilson.ts";
import { firstSubmissionId, type TestIdentity } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { chanceOfPasses, MAX_CHANCE, passesNeeded } from "../../lib/evidence/calm.ts";
import { basePatterns } from "../../lib/evidence/base_branch.ts";
import {
  MIN_BROKEN_RUNS,
  stateIn,
  TEST_STATES,
  type TestState,
  worstEnvironment,
} from "../../lib/evidence/states.ts";
import {
  BaseHistories,
  MAX_HISTORY_RUNS,
  outcomeByte,
  PASSED,
  runOutcome,
  type TestStateFacts,
} from "../../lib/evidence/test_evidence.ts";
import { ALL_SUBMISSIONS } from "../../lib/query/submission_filter.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { loadBaseBranch, loadBaseBranches } from "./base_branch.ts";
import { buildKeyOf, isOfBase } from "./fragments.ts";
import { loadIdentities } from "./names_of_tests.ts";
import { eachRun, loadLatestRuns } from "./runs.ts";
import { loadTestFacts } from "./test_facts.ts";

/** Enough for ten environments with all runs that count; bounds the time of a request. */
export const MAX_BASE_SUBMISSIONS = 10 * MAX_HISTORY_RUNS;

const COLUMNS = [
  "commitOid",
  "treeOid",
  "code",
  "environment",
  "job",
  "shard",
  "isOutage",
  "results",
] as const;

type BaseRun = Run<typeof COLUMNS[number]>;

/** The last segment of a test's history. */
type StateFacts = Omit<TestStateFacts, "passing">;

/** The state of a test, and when it stopped running, in seconds since 1970. */
interface FactsOfTest extends TestStateFacts {
  stopped: { lastRunAt: number; stoppedAt: number } | null;
  hasPassed: boolean;
}

/** A test that had failures, and does not run in its job any more. */
export interface StoppedTest extends TestIdentity {
  /** 24 lower-case hex digits. */
  id: string;
  /** Its last run, in seconds since 1970. */
  lastRunAt: number;
  /** When its job had run 20 times without it. */
  stoppedAt: number;
  /** Passes since its last failure, and how many would have shown that it is calm. */
  passes: number;
  passesNeeded: number;
}

/** A test that failed, and passes since, but not yet often enough to be called calm. */
interface ProvingTest extends TestIdentity {
  /** 24 lower-case hex digits. */
  id: string;
  /** Passes since its last failure, and how many are needed. */
  passes: number;
  passesNeeded: number;
}

/** A test that is more probably unchanged than repaired is not being proved. */
const MAX_CHANCE_OF_PROOF = 0.5;

/** Runs of its job without a test after which it stopped running. */
export const STOPPED_RUNS = 20;

/** A test that stopped earlier is forgotten. */
const STOPPED_SECONDS = 90 * SECONDS_PER_DAY;

export interface TestInState extends TestIdentity, StateFacts {
  /** 24 lower-case hex digits. */
  id: string;
  /** Whether it is disruptive in the window: it failed and passed on the same code. */
  isDisruptive: boolean;
}

interface StatesQuery {
  repositoryId: number;
  idPrefix: number;
  now: number;
  windowStart: number;
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
  {
    repositoryId,
    idPrefix,
    now,
    windowStart,
    states,
    isListed = () => true,
    withProving = false,
    ...page
  }: StatesQuery,
): Promise<{
  count: number;
  tests: TestInState[];
  base: string;
  stopped: StoppedTest[];
  proving: ProvingTest[];
}> {
  const base = await loadBaseBranch(sql, { repositoryId, now });
  const runs = await loadBaseRuns(sql, { repositoryId, base });
  const disruptive = await selectDisruptive(sql, { repositoryId, windowStart });
  const isFlakyListed = states.includes("flaky") &&
    isListed({ state: "flaky", isDisruptive: true });
  const testNos = failingTests(runs, { disruptive, all: isFlakyListed || withProving });
  const found = await loadStatesOf(sql, { repositoryId, runs, testNos, disruptive });
  if (states.some((state) => state === "healthy" || state === "new")) {
    const known = new Set([...found.keys(), ...disruptive]);
    for (const [testNo, facts] of statesOfOthers(runs, known)) found.set(testNo, facts);
  }
  const stopped = [...found].flatMap(([testNo, { stopped, passing }]) =>
    stopped && stopped.lastRunAt >= now - STOPPED_SECONDS
      ? [{ testNo, ...stopped, ...passesOf(passing!) }]
      : []
  );
  const proving = [...found].flatMap(([testNo, { state, passing, stopped }]) =>
    withProving && passing && !stopped && state !== "broken" && isProving(passing)
      ? [{ testNo, ...passesOf(passing) }]
      : []
  );
  // Tests that stopped running have a list of their own.
  const wanted = [...found].filter(([testNo, { state, stopped }]) =>
    states.includes(state) && !stopped &&
    isListed({ state, isDisruptive: disruptive.has(testNo) })
  );
  const names = await loadIdentities(sql, {
    repositoryId,
    idPrefix,
    testNos: [
      ...wanted.map(([testNo]) => testNo),
      ...stopped.map(({ testNo }) => testNo),
      ...proving.map(({ testNo }) => testNo),
    ],
  });
  // Pruned tests have no name any more.
  const named = <Facts extends { testNo: number }>(facts: readonly Facts[]) =>
    facts.flatMap(({ testNo, ...own }) => {
      const identity = names.get(testNo);
      return identity ? [{ ...identity, ...own }] : [];
    });
  const tests = named(
    wanted.map(([testNo, { passing: _, stopped: __, hasPassed: ___, ...facts }]) => (
      { testNo, ...facts, isDisruptive: disruptive.has(testNo) }
    )),
  ).sort(compareStates);
  return {
    base,
    stopped: named(stopped).sort((a, b) => b.lastRunAt - a.lastRunAt || (a.id < b.id ? -1 : 1)),
    proving: named(proving).sort((a, b) =>
      (a.passesNeeded - a.passes) - (b.passesNeeded - b.passes) || (a.id < b.id ? -1 : 1)
    ),
    count: tests.length,
    tests: tests.slice(page.offset, page.offset + page.limit),
  };
}

type Passing = NonNullable<TestStateFacts["passing"]>;

/** Whether a test passes again, but not yet often enough to be called calm. */
function isProving({ before, passes }: Passing): boolean {
  const chance = chanceOfPasses(before, passes);
  return chance > MAX_CHANCE && chance <= MAX_CHANCE_OF_PROOF;
}

function passesOf({ before, passes }: Passing) {
  return { passes, passesNeeded: passesNeeded(before) };
}

/** Failed submissions after which a test may be broken. */
const FAILED_SUBMISSIONS = 3;

/** They are looked for in the latest builds: twice as many, because two uploads without an address are two builds. */
const LATEST_BUILDS = 2 * FAILED_SUBMISSIONS;

/**
 * Repositories whose runs are loaded in one statement, if they have fewer than `RUNS_TOGETHER`; longer histories
 * are loaded one after the other, so that no more than one is in memory.
 */
const REPOSITORIES_TOGETHER = 20;

const RUNS_TOGETHER = 1_000;

/**
 * How many tests are broken, by repository; of tests that ran at least three times in the window. Only tests that
 * failed three times in the latest builds of a job can be, and their histories alone are read.
 */
export async function countBrokenTests(
  sql: Queryable,
  { repositoryIds, now, windowStart, runsTogether = RUNS_TOGETHER }: {
    repositoryIds: readonly number[];
    now: number;
    windowStart: number;
    runsTogether?: number;
  },
): Promise<Map<number, number>> {
  const rows = await sql<{ repositoryId: number; testNos: number[] }[]>`
    select f.repository_id::float8 as "repositoryId", array_to_json(array_agg(distinct f.test_no)) as "testNos"
    from (
      select n.repository_id, n.test_no
      from (
        select b.repository_id, b.submission_id, b.branch, b.job, b.environment,
          dense_rank() over (
            partition by b.repository_id, b.branch, b.job, b.environment
            order by b.last_submission_id desc) as place
        from (
          select s.repository_id, s.submission_id, s.branch, s.job, s.environment,
            first_value(s.submission_id) over (
              partition by s.repository_id, s.branch, s.job, s.environment, ${buildKeyOf(sql)}
              order by s.submission_id desc) as last_submission_id
          from submission s
          where s.repository_id = any(${arrayOf(repositoryIds)}::bigint[])
            and s.status = 'processed' and not s.is_outage
            and s.submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex')
        ) b
      ) latest
      join negative_result n on n.repository_id = latest.repository_id
        and n.submission_id = latest.submission_id
      where latest.place <= ${LATEST_BUILDS}
        and n.repository_id = any(${arrayOf(repositoryIds)}::bigint[])
      group by n.repository_id, n.test_no, latest.branch, latest.job, latest.environment
      having count(distinct n.submission_id) >= ${FAILED_SUBMISSIONS}
    ) f
    group by f.repository_id`;
  const candidates = new Map(rows.map(({ repositoryId, testNos }) => [repositoryId, testNos]));
  const bases = await loadBaseBranches(sql, { repositoryIds: [...candidates.keys()], now });
  const counts = new Map<number, number>();
  const count = async (repositoryId: number, runs: readonly BaseRun[]) => {
    const testNos = new Set(candidates.get(repositoryId));
    const disruptive = new Set<number>();
    const states = await loadStatesOf(sql, { repositoryId, runs, testNos, disruptive });
    const broken = [...states.values()].filter(({ state, stopped }) =>
      state === "broken" && !stopped
    );
    counts.set(repositoryId, broken.length);
  };
  // Most have the same base branch.
  for (const [base, own] of Map.groupBy(candidates.keys(), (id) => bases.get(id)!)) {
    for (let start = 0; start < own.length; start += REPOSITORIES_TOGETHER) {
      const loaded = await loadLatestRuns(sql, {
        repositoryIds: own.slice(start, start + REPOSITORIES_TOGETHER),
        columns: COLUMNS,
        where: isOfBase(sql, basePatterns(base)),
        limit: runsTogether,
      });
      for (const [repositoryId, latest] of loaded) {
        const runs = latest.length < runsTogether
          ? latest.filter(({ isOutage }) => !isOutage).reverse()
          : await loadBaseRuns(sql, { repositoryId, base });
        await count(repositoryId, runs);
      }
    }
  }
  return counts;
}

/** The worst state first, then by the failure rate, of which small samples do not come first. */
function compareStates(a: TestInState, b: TestInState): number {
  const bound = ({ failures, runs }: TestInState) => wilsonLowerBound(failures, runs);
  return TEST_STATES.indexOf(a.state) - TEST_STATES.indexOf(b.state) || bound(b) - bound(a) ||
    (a.id < b.id ? -1 : 1);
}

/** The runs on the base branch without outages, oldest first. */
async function loadBaseRuns(
  sql: Queryable,
  { repositoryId, base }: { repositoryId: number; base: string },
): Promise<BaseRun[]> {
  const where = isOfBase(sql, basePatterns(base));
  const filter = ALL_SUBMISSIONS;
  const runs: BaseRun[] = [];
  let submissions = 0;
  for await (const run of eachRun(sql, { repositoryId, columns: COLUMNS, filter, where })) {
    if (!run.isOutage) runs.push(run);
    if (++submissions === MAX_BASE_SUBMISSIONS) break;
  }
  return runs.reverse();
}

/**
 * The tests that failed in a run, or are disruptive; unless all are asked for, without disruptive tests that can
 * neither be broken nor have stopped. Of 2,000 flaky tests these are most.
 */
function failingTests(
  runs: readonly BaseRun[],
  { disruptive, all }: { disruptive: ReadonlySet<number>; all: boolean },
): Set<number> {
  const others = new Set<number>();
  const selected = new SelectedTests(disruptive);
  const failedAtLast = new Int32Array(disruptive.size);
  const ranLately = new Uint8Array(disruptive.size);
  const wasSkippedLately = new Uint8Array(disruptive.size);
  const stopTimes = stopTimesOf(runs);
  const lists = new Set<TestList>();
  for (const [runNo, { results }] of runs.entries()) {
    const isLate = stopTimes[runNo] === null;
    if (isLate && !lists.has(results.tests)) {
      lists.add(results.tests);
      for (const [place, ran] of selected.ranIn(results.tests).entries()) ranLately[place]! |= ran;
    }
    results.eachException((testNo, attempts) => {
      const place = selected.placeOf(testNo);
      const outcome = runOutcome(attempts);
      if (place < 0) {
        if (outcome?.hasFailed) others.add(testNo);
      } else if (outcome?.hasFailedAtLast) failedAtLast[place]!++;
      else if (!outcome && isLate) wasSkippedLately[place] = 1;
    });
  }
  const own = selected.testNos.filter((_, place) =>
    all || failedAtLast[place]! >= MIN_BROKEN_RUNS || ranLately[place] === 0 ||
    wasSkippedLately[place] === 1
  );
  return new Set([...others, ...own]);
}

/**
 * By test_no: the states of some tests. No report has the passes of a set-up, so those of a test that only failed
 * may follow from the tests that it is for.
 */
async function loadStatesOf(
  sql: Queryable,
  { repositoryId, runs, testNos, disruptive }: {
    repositoryId: number;
    runs: readonly BaseRun[];
    testNos: ReadonlySet<number>;
    disruptive: ReadonlySet<number>;
  },
): Promise<Map<number, FactsOfTest>> {
  const found = statesOf(runs, { testNos, disruptive });
  const onlyFailed = new Set(
    [...found].filter(([, { hasPassed }]) => !hasPassed).map(([testNo]) => testNo),
  );
  if (onlyFailed.size === 0) return found;
  const { setUpOf } = await loadTestFacts(sql, { repositoryId, testNos: onlyFailed });
  const setUps = new Set([...onlyFailed].filter((testNo) => setUpOf(testNo) !== undefined));
  if (setUps.size === 0) return found;
  const implied = new ImpliedPasses(setUps, setUpOf);
  for (const [testNo, facts] of statesOf(runs, { testNos: setUps, disruptive, implied })) {
    found.set(testNo, facts);
  }
  return found;
}

/** By test_no: the states of some tests. */
function statesOf(
  runs: readonly BaseRun[],
  { testNos, disruptive, implied = NO_IMPLIED_PASSES }: {
    testNos: ReadonlySet<number>;
    disruptive: ReadonlySet<number>;
    implied?: ImpliedPasses;
  },
): Map<number, FactsOfTest> {
  const stopTimes = stopTimesOf(runs);
  const attempts = new TestHistories(runs, testNos);
  const histories = new BaseHistories(runs);
  const impliedRuns = new Map<number, number[]>();
  for (const [runNo, { results }] of runs.entries()) {
    for (const testNo of implied.in(results)) {
      const known = impliedRuns.get(testNo);
      if (known) known.push(runNo);
      else impliedRuns.set(testNo, [runNo]);
    }
  }
  const outcomes = new Uint8Array(runs.length);
  const found = new Map<number, FactsOfTest>();
  for (const testNo of testNos) {
    attempts.writeBytes(testNo, outcomes, outcomeByte);
    for (const runNo of impliedRuns.get(testNo) ?? []) outcomes[runNo] = PASSED;
    const facts = histories.state(outcomes, disruptive.has(testNo));
    const last = outcomes.findLastIndex((outcome) => outcome > 0);
    const stoppedAt = stopTimes[last] ?? null;
    const stopped = facts.passing && stoppedAt !== null
      ? { lastRunAt: runs[last]!.recordedAt, stoppedAt }
      : null;
    found.set(testNo, { ...facts, stopped, hasPassed: outcomes.includes(PASSED) });
  }
  return found;
}

/** For each run, when its job had run 20 more times, in the same environment and shard; `null` if it has not. */
function stopTimesOf(runs: readonly BaseRun[]): (number | null)[] {
  const later = new Map<string, number[]>();
  return runs.toReversed().map(({ job, environment, shard, recordedAt }) => {
    const key = JSON.stringify([job, environment, shard]);
    const times = later.get(key) ?? [];
    later.set(key, times);
    const stoppedAt = times.at(-STOPPED_RUNS) ?? null;
    times.push(recordedAt);
    return stoppedAt;
  }).reverse();
}

/** By test_no: the states of tests that never failed, which follow from how often they ran. */
function statesOfOthers(
  runs: readonly BaseRun[],
  known: ReadonlySet<number>,
): Map<number, FactsOfTest> {
  const found = new Map<number, FactsOfTest[]>();
  for (const [environment, own] of Map.groupBy(runs, (run) => run.environment)) {
    const counts = new Map<number, number>();
    const add = (testNo: number, count: number) => {
      if (!known.has(testNo)) counts.set(testNo, (counts.get(testNo) ?? 0) + count);
    };
    const lists = new Map<TestList, number>();
    for (const { results } of own) {
      lists.set(results.tests, (lists.get(results.tests) ?? 0) + 1);
      results.eachException((testNo, attempts) => {
        if (!runOutcome(attempts)) add(testNo, -1);
      });
    }
    for (const [{ testNos }, count] of lists) {
      for (const testNo of testNos) add(testNo, count);
    }
    for (const [testNo, count] of counts) {
      const facts = neverFailed(environment, Math.min(count, MAX_HISTORY_RUNS));
      const earlier = found.get(testNo);
      if (earlier) earlier.push(facts);
      else found.set(testNo, [facts]);
    }
  }
  return new Map(
    Array.from(found, ([testNo, environments]) => [testNo, worstEnvironment(environments)!]),
  );
}

function neverFailed(environment: string, runs: number): FactsOfTest {
  return {
    state: stateIn({
      segments: [{ runs, failures: 0 }],
      lastFinalFailures: 0,
      isDisruptive: false,
    }),
    environment,
    runs,
    failures: 0,
    rate: runs > 0 ? 0 : null,
    since: null,
    passing: null,
    stopped: null,
    hasPassed: runs > 0,
  };
}

/** The tests with a disruption in the window. */
async function selectDisruptive(
  sql: Queryable,
  { repositoryId, windowStart }: { repositoryId: number; windowStart: number },
): Promise<Set<number>> {
  const rows = await sql<{ testNo: number }[]>`
    select d.test_no as "testNo" from disruptive_test d
    where d.repository_id = ${repositoryId}
      and d.latest_submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex')`;
  return new Set(rows.map(({ testNo }) => testNo));
}
