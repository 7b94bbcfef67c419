// Tests: tests/db/write/evidence_test.ts
/** What later runs show to be true of failures: whether the change caused them, and which are repeats. */
import { ImpliedPasses } from "../../lib/analysis/repetition/implied_passes.ts";
import { findLegs } from "../../lib/analysis/repetition/submissions.ts";
import { type Run, SelectedTests, type TestList } from "../../lib/analysis/run.ts";
import {
  MIN_FAILED_VERSIONS,
  runsAt,
  type TestOutcome,
  type Truth,
  truthAt,
  type VersionRuns,
} from "../../lib/evidence/truth.ts";
import { type Fragment, type Queryable, textsIn } from "../connection/sql.ts";
import { loadCauses } from "../read/evidence.ts";
import { loadRunGroups, loadRuns } from "../read/runs.ts";
import { loadTestFacts } from "../read/test_facts.ts";
import { TESTS_AT_ONCE } from "./new_negatives.ts";
import { changeEvidence } from "./truth_counts.ts";

/** The code in an environment and a job. */
export interface CodeVersion {
  /** As `submission.code_version`. */
  code: string;
  environment: string;
  job: string;
}

/** Runs of a branch that are looked at on either side of a code version. */
const NEIGHBOURING_RUNS = 100;

/** How many code versions away a stretch of failures can begin or end. */
const REACH = MIN_FAILED_VERSIONS - 1;

const RUN_COLUMNS = [
  "branch",
  "code",
  "buildUrl",
  "job",
  "shard",
  "attempt",
  "isOutage",
  "tests",
  "results",
] as const;

type TruthRun = Run<typeof RUN_COLUMNS[number]>;

/** A code version of which a run came or went. */
interface ChangedVersion {
  repositoryId: number;
  version: CodeVersion;
  /** That run. */
  submissionId: string;
  branch: string | null;
  /** Whether the run came: its evidence was stored just now, with {@linkcode truthOfRun}. */
  isNew: boolean;
  /** Whether the run came after all others of its branch, environment and job. */
  isLatest: boolean;
  /** Tests that failed and passed in it. */
  passed?: ReadonlySet<number>;
  /** As those of `loadRuns`. */
  lists?: Map<number, TestList>;
}

/** What is true of a failure by its run alone. */
export function truthOfRun({ hasPassed }: { hasPassed: boolean }): Truth | null {
  return hasPassed ? "not_the_change" : null;
}

/** What failed at a code version. */
interface FailedTests {
  /** Of its submissions with failures, each once. */
  branches: readonly (string | null)[];
  /** Each test once, ascending. */
  testNos: Int32Array;
}

/**
 * The tests that failed at a code version, and the branches on which they did. Some thousands at once: one
 * statement for a million took 6 s, in which the embedded database does nothing else.
 */
export async function loadFailedTests(
  tx: Queryable,
  { repositoryId, version }: Pick<ChangedVersion, "repositoryId" | "version">,
): Promise<FailedTests> {
  const branches = new Set<string | null>();
  const batches: number[][] = [];
  for (let after: number | undefined = -1; after !== undefined;) {
    const rows: { branch: string | null; testNos: number[] }[] = await tx`
      select s.branch, array_to_json(array(
        select f.test_no from failure_evidence f
        where f.repository_id = ${repositoryId} and f.submission_id = s.submission_id
          and f.test_no > ${after}
        order by f.test_no limit ${TESTS_AT_ONCE})) as "testNos"
      from submission s
      where s.repository_id = ${repositoryId} and s.code_version = ${version.code}
        and s.environment = ${version.environment} and s.job = ${version.job}`;
    const failed = rows.filter(({ testNos }) => testNos.length > 0);
    for (const { branch, testNos } of failed) {
      branches.add(branch);
      batches.push(testNos);
    }
    // Every submission is read up to here, and some have more.
    after = failed.filter(({ testNos }) => testNos.length === TESTS_AT_ONCE)
      .map(({ testNos }) => testNos.at(-1)!).sort((a, b) => a - b)[0];
  }
  return { branches: [...branches], testNos: distinctOf(batches) };
}

/** The numbers of all lists, each once, ascending. */
function distinctOf(lists: readonly ArrayLike<number>[]): Int32Array {
  const all = new Int32Array(lists.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const list of lists) {
    all.set(list, end);
    end += list.length;
  }
  return all.sort().filter((number, index) => number !== all[index - 1]);
}

/**
 * Finds out again what is true of failures at a code version of which a run came or went, and of the failures
 * next to it on its branches.
 *
 * @param failed from {@linkcode loadFailedTests}, before a run goes
 */
export async function resolveTruths(
  tx: Queryable,
  changed: ChangedVersion,
  { branches, testNos }: FailedTests,
): Promise<void> {
  const interrupted = await loadInterrupted(tx, changed);
  await resolveTests(tx, changed, { branches, testNos: distinctOf([testNos, interrupted]) });
}

async function resolveTests(
  tx: Queryable,
  changed: ChangedVersion,
  { branches, testNos }: FailedTests,
): Promise<void> {
  if (testNos.length === 0) return;
  const all = new Set([changed.branch, ...branches]);
  // What one branch shows of the new failures replaces what another did.
  const isNew = changed.isNew && all.size === 1;
  for (const branch of all) {
    const ofBranch = { ...changed, branch, isNew };
    await resolveAmong(tx, ofBranch, {
      neighbours: await loadNeighbours(tx, ofBranch),
      testNos,
    });
  }
}

/** Resolves the truths of tests from the runs of a branch. */
async function resolveAmong(
  tx: Queryable,
  changed: ChangedVersion,
  { neighbours, testNos }: { neighbours: Neighbours; testNos: Int32Array },
): Promise<void> {
  const withLegs = versionsWithLegs(allRuns(neighbours));
  for (let start = 0; start < testNos.length; start += TESTS_AT_ONCE) {
    const batch = [...testNos.subarray(start, start + TESTS_AT_ONCE)];
    await resolveOnBranch(tx, { ...changed, testNos: batch, neighbours, withLegs });
  }
}

/**
 * As {@linkcode resolveTruths}, for a new submission that is the only one of its code version. Of a test that also
 * passed in it the truth is stored, and a pass after all other runs of the branch changes no other. Another failure
 * only shows something together with others of its test on the branch: at two other code versions if it is the
 * latest, because of three in a row it is an end.
 */
export async function resolveTruthsOfOnlyRun(
  tx: Queryable,
  changed: ChangedVersion,
  failed: Int32Array,
): Promise<void> {
  const { branch, passed, isLatest } = changed;
  if (branch === null || branch === "") return;
  const own = isLatest ? failed.filter((testNo) => !passed?.has(testNo)) : failed;
  const interrupted = await loadInterrupted(tx, changed);
  if (own.length + interrupted.length === 0) return;
  const minVersions = isLatest ? MIN_FAILED_VERSIONS - 1 : 1;
  const neighbours = await loadNeighbours(tx, {
    ...changed,
    mattersElsewhere: (runs) => interrupted.length > 0 || testsFailingIn(runs, own, 1).length > 0,
  });
  const { before, after, elsewhere } = neighbours;
  const often = testsFailingIn([...before, ...after, ...elsewhere], own, minVersions);
  const testNos = distinctOf([often, interrupted]);
  if (testNos.length > 0) await resolveAmong(tx, changed, { neighbours, testNos });
}

/** The tests that failed at a number of code versions at least. */
function testsFailingIn(
  runs: readonly TruthRun[],
  testNos: Int32Array,
  minVersions: number,
): Int32Array {
  const selected = new SelectedTests(testNos);
  const versionCounts = new Int32Array(testNos.length);
  for (const ofVersion of Map.groupBy(runs, ({ code }) => code).values()) {
    const failed = new Set<number>();
    for (const { results } of ofVersion) {
      results.eachExceptionOf(selected, (testNo, { counts }) => {
        if (counts.negative > 0) failed.add(selected.placeOf(testNo));
      });
    }
    for (const place of failed) versionCounts[place]!++;
  }
  return testNos.filter((_, place) => versionCounts[place]! >= minVersions);
}

/**
 * The tests that failed before and after a run on its branch: a pass that comes between, or goes, ends or joins
 * stretches of failures, although they did not fail at its code version.
 */
async function loadInterrupted(
  tx: Queryable,
  { repositoryId, submissionId, branch, isLatest, version: { environment, job } }: ChangedVersion,
): Promise<number[]> {
  if (isLatest || branch === null || branch === "") return [];
  const failedIn = (isThere: Fragment, order: Fragment) =>
    tx`(select f.test_no from (
        select s.submission_id from submission s
        where s.repository_id = ${repositoryId} and s.branch = ${branch} and s.status = 'processed'
          and s.environment = ${environment} and s.job = ${job} and ${isThere}
        order by s.submission_id ${order} limit ${NEIGHBOURING_RUNS}
      ) s
      join failure_evidence f on f.repository_id = ${repositoryId} and f.submission_id = s.submission_id)`;
  const id = tx`decode(${submissionId}, 'hex')`;
  const rows = await tx<{ testNo: number }[]>`
    select test_no as "testNo" from (
      ${failedIn(tx`s.submission_id < ${id}`, tx`desc`)}
      intersect
      ${failedIn(tx`s.submission_id > ${id}`, tx`asc`)}
    ) t`;
  return rows.map(({ testNo }) => testNo);
}

/** The runs of a branch around a code version, oldest first. */
interface Neighbours {
  before: TruthRun[];
  /** Of the code version, on any branch. */
  atVersion: TruthRun[];
  after: TruthRun[];
  /** Runs of the code of others on other branches. */
  elsewhere: TruthRun[];
}

function allRuns({ before, atVersion, after, elsewhere }: Neighbours): TruthRun[] {
  return [...before, ...atVersion, ...after, ...elsewhere];
}

async function loadNeighbours(
  tx: Queryable,
  { repositoryId, version, submissionId, branch, lists = new Map(), mattersElsewhere }:
    & Pick<ChangedVersion, "repositoryId" | "version" | "submissionId" | "branch" | "lists">
    & {
      /** Whether runs of other branches matter, by those of the branch; they do unless given. */
      mattersElsewhere?(runs: readonly TruthRun[]): boolean;
    },
): Promise<Neighbours> {
  const { code, environment, job } = version;
  const isHere = tx`s.environment = ${environment} and s.job = ${job}`;
  const common = { repositoryId, columns: RUN_COLUMNS, lists } as const;
  const isAtVersion = tx`s.code_version = ${code} and ${isHere}`;
  if (branch === null || branch === "") {
    const atVersion = await loadRuns(tx, { ...common, where: isAtVersion, order: "oldest first" });
    return { before: [], atVersion, after: [], elsewhere: [] };
  }
  const onBranch = tx`s.branch = ${branch} and ${isHere} and s.code_version <> ${code}`;
  // The first run of the code version on the branch.
  const place = tx`coalesce((
    select o.submission_id from submission o
    where o.repository_id = ${repositoryId} and o.status = 'processed' and o.code_version = ${code}
      and o.branch = ${branch} and o.environment = ${environment} and o.job = ${job}
    order by o.submission_id limit 1), decode(${submissionId}, 'hex'))`;
  const { before, atVersion, after } = await loadRunGroups(tx, {
    ...common,
    groups: {
      before: { where: tx`${onBranch} and s.submission_id < ${place}`, limit: NEIGHBOURING_RUNS },
      atVersion: { where: isAtVersion, order: "oldest first" },
      after: {
        where: tx`${onBranch} and s.submission_id > ${place}`,
        order: "oldest first",
        limit: NEIGHBOURING_RUNS,
      },
    },
  });
  if (mattersElsewhere?.([...before, ...after]) === false) {
    return { before: before.reverse(), atVersion, after, elsewhere: [] };
  }
  const codes = new Set([...before, ...atVersion, ...after].map((run) => run.code));
  const elsewhere = await loadRuns(tx, {
    ...common,
    where: tx`${isHere} and s.branch is distinct from ${branch} and s.code_version <> ${code}
      and s.code_version = any(${textsIn(tx, [...codes])})`,
  });
  return { before: before.reverse(), atVersion, after, elsewhere };
}

/** A code version of a test. */
interface TestVersion {
  code: string;
  /** Its first run on the branch. */
  firstId: string;
  failedIds: string[];
  /** The failed ones of `outcomes`. */
  countedIds: string[];
  /** Without failures in outages, which say nothing about the code. */
  outcomes: TestOutcome[];
}

const IMPLIED_PASS = { positive: 1, negative: 0 };

/** The code versions of a test on the branch, in the order of their first runs. */
interface VersionHistory {
  testNo: number;
  all: TestVersion[];
  /** Those that ran outside of outages. */
  known: TestVersion[];
  /** The runs of `known`, for {@linkcode truthAt}. */
  ran: VersionRuns[];
}

/** The code of the versions that have unnamed legs: runs that nothing distinguishes. */
function versionsWithLegs(runs: readonly TruthRun[]): Set<string> {
  return new Set(
    Map.groupBy(runs, ({ code }) => code).entries()
      .filter(([, own]) => findLegs(own) !== null).map(([code]) => code),
  );
}

/** Updates truths and repeats of tests at the code version, and at those in reach. */
async function resolveOnBranch(
  tx: Queryable,
  { repositoryId, version, submissionId, branch, isNew, passed, testNos, neighbours, withLegs }:
    & ChangedVersion
    & {
      testNos: readonly number[];
      neighbours: Neighbours;
      withLegs: ReadonlySet<string>;
    },
): Promise<void> {
  const facts = await loadTestFacts(tx, { repositoryId, testNos: new Set(testNos) });
  const near = testsNextToFailures(neighbours, { ...facts, testNos });
  const [inStretches, alone] = [true, false].map((isNear) =>
    testNos.filter((testNo) => near.has(testNo) === isNear)
  );
  const histories = await withCauses(tx, repositoryId, [
    ...versionHistories(allRuns(neighbours), { ...facts, testNos: inStretches!, withLegs }),
    ...versionHistories(neighbours.atVersion, { ...facts, testNos: alone!, withLegs }),
  ]);
  const found = histories.flatMap((history) =>
    truthsInReach(history, { code: version.code, submissionId })
  );
  const rows =
    (await addOtherBranches(tx, found, { repositoryId, version, branch, neighbours, facts }))
      // That is how they were stored: of a large upload it is the most.
      .filter(({ testNo, id, truth, isRepeat }) =>
        !(isNew && id === submissionId &&
          truth === truthOfRun({ hasPassed: passed?.has(testNo) === true }) && !isRepeat)
      );
  if (rows.length === 0) return;
  await changeEvidence(
    tx,
    repositoryId,
    tx`(update failure_evidence f set truth = t.truth, is_repeat = t."isRepeat"
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as t("testNo" int, id text,
          truth text, "isRepeat" boolean)
        join failure_evidence o on o.repository_id = ${repositoryId}
          and o.submission_id = decode(t.id, 'hex') and o.test_no = t."testNo"
      where f.repository_id = ${repositoryId} and f.submission_id = o.submission_id
        and f.test_no = o.test_no and (o.truth, o.is_repeat) is distinct from (t.truth, t."isRepeat")
      returning f.submission_id, f.evidence, f.is_on_base, f.truth, f.is_repeat,
        o.truth as old_truth, o.is_repeat as old_is_repeat)`,
  );
}

const [COUNTED, FAILED] = [1, 2] as const;

/**
 * The tests of which the code version before or after may have failed. The failures of others are in no stretch, so
 * that only the runs at the code version count. Most of hundreds of tests are others, and to look at all runs of
 * all of them takes 20 ms.
 */
function testsNextToFailures(
  { before, atVersion, after, elsewhere }: Neighbours,
  { testNos, setUpOf }: Pick<Awaited<ReturnType<typeof loadTestFacts>>, "setUpOf"> & {
    testNos: readonly number[];
  },
): Set<number> {
  // What ran elsewhere has no place in the order.
  if (elsewhere.length > 0) return new Set(testNos);
  const selected = new SelectedTests(testNos);
  const counted = new Set<number>();
  for (const { isOutage, results } of atVersion) {
    results.each(selected, (testNo, { counts: { positive, negative } }) => {
      if (positive > 0 || negative > 0 && !isOutage) counted.add(testNo);
    });
  }
  const runs = [...before, ...after];
  const codeNos = new Map([...new Set(runs.map(({ code }) => code))].map((code, no) => [code, no]));
  // By code and test: its first run there, counted from 1, and how it ended.
  const firstRuns = new Int32Array(codeNos.size * testNos.length);
  const outcomes = new Uint8Array(firstRuns.length);
  for (const [index, { code, isOutage, results }] of runs.entries()) {
    const start = codeNos.get(code)! * testNos.length;
    results.each(selected, (testNo, { counts: { positive, negative } }) => {
      if (positive + negative === 0) return;
      const at = start + selected.placeOf(testNo);
      firstRuns[at] ||= index + 1;
      if (positive === 0 && isOutage) return;
      outcomes[at] = Math.max(outcomes[at]!, negative > 0 ? FAILED : COUNTED);
    });
  }
  return new Set(testNos.filter((testNo, place) => {
    // The passes of a set-up are in no results.
    if (setUpOf(testNo) !== undefined || !counted.has(testNo)) return true;
    let previous = -1;
    let next = -1;
    for (let at = place; at < outcomes.length; at += testNos.length) {
      if (outcomes[at] === 0) continue;
      const first = firstRuns[at]!;
      if (first <= before.length) {
        if (previous === -1 || first > firstRuns[previous]!) previous = at;
      } else if (next === -1 || first < firstRuns[next]!) next = at;
    }
    return outcomes[previous] === FAILED || outcomes[next] === FAILED;
  }));
}

/** What the runs of a branch say about each code version of the tests. */
function versionHistories(
  runs: readonly TruthRun[],
  { testNos, withLegs, setUpOf, hasFile }: Awaited<ReturnType<typeof loadTestFacts>> & {
    testNos: readonly number[];
    withLegs: ReadonlySet<string>;
  },
): VersionHistory[] {
  const byTest = new Map(testNos.map((testNo) => [testNo, new Map<string, TestVersion>()]));
  const selected = new SelectedTests(testNos);
  const implied = new ImpliedPasses(testNos, setUpOf);
  for (const run of runs) {
    const { submissionId: firstId, code, isOutage, results } = run;
    const add = (
      testNo: number,
      { positive, negative }: { positive: number; negative: number },
    ) => {
      if (positive + negative === 0) return;
      const ofTest = byTest.get(testNo)!;
      let found = ofTest.get(code);
      if (!found) {
        found = { code, firstId, failedIds: [], countedIds: [], outcomes: [] };
        ofTest.set(code, found);
      }
      if (negative > 0) found.failedIds.push(firstId);
      if (positive === 0 && isOutage) return;
      if (negative > 0) found.countedIds.push(firstId);
      found.outcomes.push({ run, hasPassed: positive > 0, hasFailed: negative > 0 });
    };
    results.each(selected, (testNo, { counts }) => add(testNo, counts));
    for (const testNo of implied.in(results)) add(testNo, IMPLIED_PASS);
  }
  return [...byTest].map(([testNo, ofTest]) => {
    const all = [...ofTest.values()];
    const known = all.filter(({ outcomes }) => outcomes.length > 0);
    const ran = known.map(({ code, outcomes }) =>
      runsAt(outcomes, { hasLegs: withLegs.has(code), hasFile: hasFile(testNo) })
    );
    return { testNo, all, known, ran };
  });
}

/** Adds the causes of the failures, where they decide: few tests fail at three code versions in a row. */
async function withCauses(
  tx: Queryable,
  repositoryId: number,
  histories: readonly VersionHistory[],
): Promise<VersionHistory[]> {
  const isCause = ({ ran }: VersionHistory) =>
    ran.some((_, index) => truthAt(ran, index) === "the_change");
  const failedOften = histories.filter(isCause);
  if (failedOften.length === 0) return [...histories];
  const counted = failedOften.flatMap(({ known }) => known.flatMap((one) => one.countedIds));
  const causes = await loadCauses(tx, {
    repositoryId,
    testNos: failedOften.map(({ testNo }) => testNo),
    submissionIds: [...new Set(counted)],
  });
  return histories.map((history) => {
    const ofTest = causes.get(history.testNo);
    if (!ofTest) return history;
    const ran = history.ran.map((one, index) => ({
      ...one,
      causes: new Set(history.known[index]!.countedIds.flatMap((id) => ofTest.get(id) ?? [])),
    }));
    return { ...history, ran };
  });
}

/** What a failure turned out to be. */
interface FoundTruth {
  testNo: number;
  /** Of its submission. */
  id: string;
  code: string;
  truth: Truth | null;
  isRepeat: boolean;
}

/**
 * Truths of a branch, and those that other branches show of the same code: three code versions that failed on one
 * branch are the change, whatever another branch did with the last of them.
 */
async function addOtherBranches(
  tx: Queryable,
  found: readonly FoundTruth[],
  { repositoryId, version, branch, neighbours, facts }:
    & Pick<ChangedVersion, "repositoryId" | "version" | "branch">
    & { neighbours: Neighbours; facts: Awaited<ReturnType<typeof loadTestFacts>> },
): Promise<FoundTruth[]> {
  const branchesOf = Map.groupBy(
    [...neighbours.atVersion, ...neighbours.elsewhere].filter((run) =>
      run.branch && run.branch !== branch
    ),
    ({ code }) => code,
  );
  const open = Map.groupBy(found.filter(({ truth }) => truth === null), ({ code }) => code);
  const shown = new Set<string>();
  for (const [code, failures] of open) {
    const testNos = [...new Set(failures.map(({ testNo }) => testNo))];
    for (const [other, runs] of Map.groupBy(branchesOf.get(code) ?? [], (run) => run.branch)) {
      const there = await loadNeighbours(tx, {
        repositoryId,
        version: { ...version, code },
        submissionId: runs[0]!.submissionId,
        branch: other,
      });
      const all = allRuns(there);
      const histories = versionHistories(all, {
        ...facts,
        testNos,
        withLegs: versionsWithLegs(all),
      });
      for (const { testNo, known, ran } of await withCauses(tx, repositoryId, histories)) {
        const index = known.findIndex((one) => one.code === code);
        if (index !== -1 && truthAt(ran, index) !== null) shown.add(`${code} ${testNo}`);
      }
    }
  }
  return found.map((one) =>
    one.truth === null && shown.has(`${one.code} ${one.testNo}`)
      ? { ...one, truth: "the_change" }
      : one
  );
}

/** The truth of the failures of a test at a code version and at those in its reach. */
function truthsInReach(
  { testNo, all, known, ran }: VersionHistory,
  { code, submissionId }: { code: string; submissionId: string },
): FoundTruth[] {
  const here = known.findIndex((one) => one.code === code);
  const later = known.findIndex(({ firstId }) => firstId > submissionId);
  const place = here !== -1 ? here : later === -1 ? known.length : later;
  return all.flatMap((one) => {
    const index = known.indexOf(one);
    if (one.code !== code && Math.abs(index - place) > REACH) return [];
    const truth = index === -1 ? null : truthAt(ran, index);
    return one.failedIds.sort().map((id, repeat) => (
      { testNo, id, code: one.code, truth, isRepeat: repeat > 0 }
    ));
  });
}
