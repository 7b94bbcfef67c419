// Tests: tests/routes/test_states_test.ts
/** The states of the tests of a repository on its base branch. */
import { firstSubmissionId, type TestIdentity } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { passesNeeded } from "../../lib/evidence/calm.ts";
import { type Base, isInactive } from "../../lib/evidence/base_branch.ts";
import type { VersionOutcome } from "../../lib/evidence/segments.ts";
import { countedRuns } from "../../lib/evidence/base_runs.ts";
import { BAD_STATES, compareStates, type TestState } from "../../lib/evidence/states.ts";
import {
  isProving,
  statesOf,
  statesOfOthers,
  testsWithFailures,
  withoutMerelyFlaky,
} from "../../lib/evidence/states_of_tests.ts";
import type { Stopped } from "../../lib/evidence/stopped.ts";
import type { Environments, Since, TestStateFacts } from "../../lib/evidence/test_evidence.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { loadBase } from "./base_branch.ts";
import { type BaseRun, loadBaseRuns } from "./base_runs.ts";
import { isRecordedSince } from "./fragments.ts";
import { loadIdentities } from "./names_of_tests.ts";
import { integersOf } from "./packed_rows.ts";
import { loadSetUps } from "./test_facts.ts";

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
interface BaseHistory extends Base {
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
  const base = await loadBase(sql, window);
  const [all, disruptive] = await Promise.all([
    loadBaseRuns(sql, { ...window, base: base.base }),
    selectDisruptive(sql, window),
  ]);
  return { ...base, all, disruptive };
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
