// Tests: tests/db/write/evidence_test.ts tests/oracle/truths_test.ts
/** What later runs show to be true of failures: whether the change caused them, and which are repeats. */
import type { TestFacts } from "../../lib/analysis/disruptions.ts";
import type { TestList } from "../../lib/analysis/run.ts";
import { isLong, MIN_FAILED_VERSIONS, stretchAt, type Truth } from "../../lib/evidence/truth.ts";
import {
  failedTests,
  failedVersionCounts,
  findSeldom,
  type FoundTruth,
  mergeTruths,
  needsMore,
  testsBetweenFailures,
  TRUTH_COLUMNS,
  type TruthRun,
  truthsAround,
  truthsOfVersion,
  versionHistories,
  type VersionHistory,
  type VersionsOfBranch,
} from "../../lib/evidence/version_histories.ts";
import { idsIn, integersIn, type Queryable, textsIn } from "../connection/sql.ts";
import { loadCausesOfRuns } from "../read/causes.ts";
import { loadRunGroups, loadRuns } from "../read/runs.ts";
import { loadTestFacts } from "../read/test_facts.ts";
import { TESTS_AT_ONCE } from "../../lib/analysis/new_negatives.ts";
import { changeEvidence } from "./truth_counts.ts";

/** The code in an environment and a job of a workflow. */
export interface CodeVersion {
  /** As `submission.code_version`. */
  code: string;
  environment: string;
  job: string;
  workflow: string;
}

/** A run that came or went. */
interface ChangedRun {
  repositoryId: number;
  version: CodeVersion;
  submissionId: string;
  branch: string | null;
  /** Whether it came: its evidence was stored just now, with {@linkcode truthOfRun}. */
  isNew: boolean;
  /** Whether it is the only one of its code version. */
  isOnlyRun: boolean;
  /** Whether it came after all others of its branch, environment, job and workflow. */
  isLatest: boolean;
  /** The tests that failed in it. */
  failed: Int32Array;
  /** The failed tests that passed in it, too. */
  passed?: ReadonlySet<number>;
  /** As the option of `loadRuns`. */
  lists?: Map<number, TestList>;
}

/** What is loaded of the job of a changed run. */
interface Job {
  repositoryId: number;
  environment: string;
  job: string;
  workflow: string;
  lists: Map<number, TestList>;
}

/** A code version on a branch. */
interface Place {
  branch: string;
  code: string;
  /** Its first and its last run there. */
  first: string;
  last: string;
}

/** A place, and the tests of which failures next to it may be due to the code. */
interface Neighbourhood {
  place: Place;
  versions: VersionsOfBranch;
  testNos: ReadonlySet<number>;
}

/**
 * Runs of a branch that are looked at on either side of a code version: each number if the one before is not enough.
 * Two of them for a test that runs seldom, all if the stretch of its failures does not end within them.
 */
const NEIGHBOURING_RUNS = [20, 100, 400, 1_600] as const;

const MAX_NEIGHBOURING_RUNS = NEIGHBOURING_RUNS[3];

/** What is true of a failure by its run alone. */
export function truthOfRun({ hasPassed }: { hasPassed: boolean }): Truth | null {
  return hasPassed ? "not_the_change" : null;
}

/**
 * Finds out again what is true of failures at the code version of a run that came or went, and of those next to it on
 * the branches of that code. A run that is the latest of its branch changes no failure by tests that passed in it.
 */
export async function resolveTruths(tx: Queryable, changed: ChangedRun): Promise<void> {
  const { repositoryId, version, submissionId, branch, isOnlyRun, isLatest, isNew } = changed;
  const job = { repositoryId, ...version, lists: changed.lists ?? new Map<number, TestList>() };
  if (isLatest && changed.failed.length === 0) {
    // As most are: the runs of a version in shards are not read for each of them.
    if (isOnlyRun || !await hasFailures(tx, job, version)) return;
  }
  const atVersion = isNew && isOnlyRun ? [] : await loadVersion(tx, job, version);
  const inRun = isOnlyRun && isLatest
    ? changed.failed.filter((testNo) => !changed.passed?.has(testNo))
    : changed.failed;
  const failed = new Set([...inRun, ...failedTests(atVersion)]);
  if (failed.size === 0 && isLatest) return;
  const own = branch ? [{ branch, submissionId }] : [];
  const neighbourhoods: Neighbourhood[] = [];
  for (const place of placesOf(version.code, [...atVersion, ...own])) {
    const mayInterrupt = place.branch === branch && !isLatest;
    neighbourhoods.push(await loadNeighbourhood(tx, job, { place, failed, mayInterrupt }));
  }
  const near = neighbourhoods.flatMap(({ testNos }) => [...testNos]);
  const testNos = Int32Array.from(new Set(isNew && isOnlyRun ? near : [...failed, ...near])).sort();
  const [run] = neighbourhoods.flatMap(({ versions }) =>
    versions.runs.filter((one) => one.submissionId === submissionId)
  );
  for (let start = 0; start < testNos.length; start += TESTS_AT_ONCE) {
    const batch = [...testNos.subarray(start, start + TESTS_AT_ONCE)];
    await resolveTests(tx, { changed, job, atVersion, failed, run, neighbourhoods }, batch);
  }
}

/** Whether a test failed at a code version, on any branch. */
async function hasFailures(tx: Queryable, job: Job, { code }: CodeVersion): Promise<boolean> {
  const { repositoryId } = job;
  const [row] = await tx<{ hasFailed: boolean }[]>`
    select exists (
      select 1 from submission s
      join failure_evidence f on f.repository_id = ${repositoryId} and f.submission_id = s.submission_id
      where s.repository_id = ${repositoryId} and s.code_version = ${code} and ${isOfJob(tx, job)}
    ) as "hasFailed"`;
  return row!.hasFailed;
}

/** The runs of a code version, on any branch. */
async function loadVersion(tx: Queryable, job: Job, { code }: CodeVersion): Promise<TruthRun[]> {
  return await loadRuns(tx, {
    ...common(job),
    where: tx`s.code_version = ${code} and ${isOfJob(tx, job)}`,
    order: "oldest first",
  });
}

function common({ repositoryId, lists }: Job) {
  return { repositoryId, columns: TRUTH_COLUMNS, lists } as const;
}

function isOfJob(tx: Queryable, { environment, job, workflow }: Job) {
  return tx`s.environment = ${environment} and s.job = ${job} and s.workflow = ${workflow}`;
}

function keyOf({ branch, code }: Pick<Place, "branch" | "code">): string {
  return `${code} ${branch}`;
}

/** Where a code version is on each branch. */
function placesOf(
  code: string,
  runs: readonly { branch: string | null; submissionId: string }[],
): Place[] {
  const byBranch = Map.groupBy(runs.filter((run) => run.branch), (run) => run.branch!);
  return Array.from(byBranch, ([branch, own]) => {
    const ids = own.map(({ submissionId }) => submissionId).sort();
    return { branch, code, first: ids[0]!, last: ids.at(-1)! };
  });
}

async function loadNeighbourhood(
  tx: Queryable,
  job: Job,
  { place, failed, mayInterrupt }: {
    place: Place;
    failed: ReadonlySet<number>;
    /** Whether a pass at the place may end stretches of failures, or one that went may join them. */
    mayInterrupt: boolean;
  },
): Promise<Neighbourhood> {
  const versions = await loadEnough(tx, job, { place, failed, mayInterrupt });
  // Most have few runs after them.
  const failedAfter = mayInterrupt
    ? failedTests(
      versions.runs.filter((run) => run.submissionId > place.first && run.code !== place.code),
    ).difference(failed)
    : new Set<number>();
  const counts = failedVersionCounts(versions.runs, {
    code: place.code,
    testNos: Int32Array.from(failed.union(failedAfter)),
  });
  const often = (least: number, given: ReadonlySet<number>) =>
    [...counts].filter(([testNo, count]) => count >= least && given.has(testNo))
      .map(([testNo]) => testNo);
  const interrupted = testsBetweenFailures(versions, {
    code: place.code,
    testNos: Int32Array.from(often(MIN_FAILED_VERSIONS, failedAfter)),
    places: placeIds(versions, place),
  });
  const testNos = new Set([...often(MIN_FAILED_VERSIONS - 1, failed), ...interrupted]);
  return { place, versions, testNos };
}

/** Where the code version is or was: the runs of it on the branch, and the first one that came or went. */
function placeIds({ branch, runs }: VersionsOfBranch, { code, first, last }: Place): string[] {
  const own = runs.filter((run) => run.code === code && run.branch === branch);
  return [...new Set([first, last, ...own.map(({ submissionId }) => submissionId)])];
}

async function loadEnough(
  tx: Queryable,
  job: Job,
  { place, failed, mayInterrupt }: {
    place: Place;
    failed: ReadonlySet<number>;
    mayInterrupt: boolean;
  },
): Promise<VersionsOfBranch> {
  const testNos = Int32Array.from(failed);
  const ofTests = mayInterrupt ? undefined : testNos;
  const [first, ...larger] = mayInterrupt ? NEIGHBOURING_RUNS.slice(1) : NEIGHBOURING_RUNS;
  let versions = await loadVersions(tx, job, { place, limit: first!, testNos: ofTests });
  for (const limit of larger) {
    const { isEnough, seldom } = findSeldom(versions, { ...place, testNos });
    const needsMore = !isEnough || seldom.length > 0 &&
        (limit === NEIGHBOURING_RUNS[1] ||
          await haveFailedBeyond(tx, job, { versions, testNos: seldom }));
    if (!needsMore) break;
    versions = await loadVersions(tx, job, { place, limit, testNos: ofTests });
  }
  return versions;
}

/** Whether one of some tests failed on the branch in runs that were not loaded. */
async function haveFailedBeyond(
  tx: Queryable,
  job: Job,
  { versions: { branch, since, until }, testNos }: {
    versions: VersionsOfBranch;
    testNos: Int32Array;
  },
): Promise<boolean> {
  const { repositoryId } = job;
  const [row] = await tx<{ hasFailed: boolean }[]>`
    select exists (
      select 1 from unnest(${integersIn(tx, testNos)}) t (test_no)
      cross join lateral (
        select n.submission_id from negative_result n
        where n.repository_id = ${repositoryId} and n.test_no = t.test_no
          and n.submission_id not between decode(${since ?? ""}, 'hex') and decode(${
    until ?? "ff"
  }, 'hex')
        offset 0
      ) n
      join submission s on s.submission_id = n.submission_id
      where s.repository_id = ${repositoryId} and s.branch = ${branch} and ${isOfJob(tx, job)}
    ) as "hasFailed"`;
  return row!.hasFailed;
}

/**
 * The code versions of a branch around a place, each with all of its runs; with those of the branch alone if none of
 * the tests failed in them.
 */
async function loadVersions(
  tx: Queryable,
  job: Job,
  { place, limit, testNos }: { place: Place; limit: number; testNos: Int32Array | undefined },
): Promise<VersionsOfBranch> {
  const { branch, code, first, last } = place;
  const onBranch = tx`s.branch = ${branch} and ${isOfJob(tx, job)} and s.code_version <> ${code}`;
  const isAfter = (id: string) => tx`${onBranch} and s.submission_id > decode(${id}, 'hex')`;
  const isBefore = (id: string) => tx`s.submission_id < decode(${id}, 'hex')`;
  const groups = await loadRunGroups(tx, {
    ...common(job),
    groups: {
      ofVersion: { where: tx`s.code_version = ${code} and ${isOfJob(tx, job)}` },
      before: { where: tx`${onBranch} and ${isBefore(first)}`, limit },
      // The code may have run again much later, for a test that had not run before.
      between: first === last ? null : {
        where: tx`${isAfter(first)} and ${isBefore(last)}`,
        limit: MAX_NEIGHBOURING_RUNS,
      },
      after: { where: isAfter(last), order: "oldest first", limit },
    },
  });
  const found = Object.values(groups).flat();
  const codes = new Set(found.map((run) => run.code));
  codes.delete(code);
  const isAlone = codes.size === 0 ||
    testNos && failedVersionCounts(found, { code, testNos }).size === 0;
  const others = isAlone ? [] : await loadRuns(tx, {
    ...common(job),
    where: tx`${isOfJob(tx, job)} and s.code_version = any(${textsIn(tx, [...codes])})
      and s.submission_id <> all(${idsIn(tx, found.map(({ submissionId }) => submissionId))})`,
  });
  const runs = new Map([...found, ...others].map((run) => [run.submissionId, run]));
  return {
    branch,
    runs: [...runs.values()].sort((a, b) => a.submissionId < b.submissionId ? -1 : 1),
    since: groups.before.length < limit ? null : groups.before.at(-1)!.submissionId,
    until: groups.after.length < limit ? null : groups.after.at(-1)!.submissionId,
  };
}

/** Finds and stores what is true of some tests. */
async function resolveTests(
  tx: Queryable,
  { changed, job, atVersion, failed, run, neighbourhoods }: {
    changed: ChangedRun;
    job: Job;
    atVersion: readonly TruthRun[];
    failed: ReadonlySet<number>;
    /** The run, if it came. */
    run: TruthRun | undefined;
    neighbourhoods: readonly Neighbourhood[];
  },
  candidates: readonly number[],
): Promise<void> {
  const { submissionId, isNew, passed, version: { code } } = changed;
  const facts = await loadTestFacts(tx, { ...job, testNos: new Set(candidates) });
  // A set-up that passed is in no list.
  const testNos = candidates.filter((testNo) =>
    failed.has(testNo) || !run || run.tests.indexOf(testNo) !== -1 || facts.setUpOf(testNo)
  );
  const failedHere = testNos.filter((testNo) => failed.has(testNo));
  const found = truthsOfVersion(atVersion, failedHere, facts);
  const seen = new Set<string>();
  for (const { place, versions, testNos: near } of neighbourhoods) {
    const histories = await loadHistories(tx, job, {
      place,
      versions,
      testNos: testNos.filter((testNo) => near.has(testNo)),
      submissionId,
      facts,
    });
    for (const one of histories.flatMap((own) => truthsAround(own, { code, submissionId }))) {
      found.push(one);
      seen.add(keyOf({ branch: place.branch, code: one.code }));
    }
  }
  const others = await loadOtherBranches(tx, job, { code, neighbourhoods, found, seen, facts });
  const rows = mergeTruths([...found, ...others])
    // That is how they were stored: of a large upload it is the most.
    .filter(({ testNo, id, truth, isRepeat }) =>
      !(isNew && id === submissionId && !isRepeat &&
        truth === truthOfRun({ hasPassed: passed?.has(testNo) === true }))
    );
  if (rows.length > 0) await storeTruths(tx, job.repositoryId, rows);
}

/** The histories of tests around a place, with as many code versions as decide what is true there. */
async function loadHistories(
  tx: Queryable,
  job: Job,
  { place, versions, testNos, submissionId, facts }: {
    place: Place;
    versions: VersionsOfBranch;
    testNos: readonly number[];
    submissionId: string;
    facts: TestFacts;
  },
): Promise<VersionHistory[]> {
  if (testNos.length === 0) return [];
  const withCauses = (given: VersionsOfBranch) =>
    addCauses(tx, job.repositoryId, versionHistories(given, testNos, facts));
  let histories = await withCauses(versions);
  const changed = { code: place.code, submissionId };
  for (const limit of NEIGHBOURING_RUNS.slice(1)) {
    if (!histories.some((history) => needsMore(history, versions, changed))) break;
    versions = await loadVersions(tx, job, { place, limit, testNos: Int32Array.from(testNos) });
    histories = await withCauses(versions);
  }
  return histories;
}

/** Adds the causes of the failures, where they decide: few tests fail at three code versions in a row. */
async function addCauses(
  tx: Queryable,
  repositoryId: number,
  histories: readonly VersionHistory[],
): Promise<VersionHistory[]> {
  const failedOften = histories.filter(({ ran }) =>
    ran.some((_, index) => isLong(stretchAt(ran, index)))
  );
  if (failedOften.length === 0) return [...histories];
  const counted = failedOften.flatMap(({ versions }) => versions.flatMap((one) => one.countedIds));
  const causes = await loadCausesOfRuns(tx, {
    repositoryId,
    testNos: failedOften.map(({ testNo }) => testNo),
    submissionIds: [...new Set(counted)],
  });
  return histories.map((history) => {
    const ofTest = causes.get(history.testNo);
    if (!ofTest) return history;
    const ran = history.ran.map((one, index) => ({
      ...one,
      causes: new Set(history.versions[index]!.countedIds.flatMap((id) => ofTest.get(id) ?? [])),
    }));
    return { ...history, ran };
  });
}

/**
 * What other branches show of failures that are open on one: three code versions that failed on one branch are the
 * change, whatever another branch did with one of them.
 */
async function loadOtherBranches(
  tx: Queryable,
  job: Job,
  { code, neighbourhoods, found, seen, facts }: {
    code: string;
    neighbourhoods: readonly Neighbourhood[];
    found: readonly FoundTruth[];
    /** The places at which failures were found out already. */
    seen: ReadonlySet<string>;
    facts: TestFacts;
  },
): Promise<FoundTruth[]> {
  const open = Map.groupBy(
    found.filter((one) => one.truth === null && one.code !== code),
    (one) => one.code,
  );
  const places = new Map<string, Place>();
  for (const { versions } of neighbourhoods) {
    for (const [one, runs] of Map.groupBy(versions.runs, (run) => run.code)) {
      if (!open.has(one)) continue;
      for (const place of placesOf(one, runs)) {
        if (!seen.has(keyOf(place))) places.set(keyOf(place), place);
      }
    }
  }
  const long = await branchesOfVersions(tx, job, [...places.values()].map(({ branch }) => branch));
  const truths: FoundTruth[] = [];
  for (const place of places.values()) {
    if (!long.has(place.branch)) continue;
    const failed = new Set(open.get(place.code)!.map(({ testNo }) => testNo));
    const { versions, testNos } = await loadNeighbourhood(tx, job, {
      place,
      failed,
      mayInterrupt: false,
    });
    const submissionId = place.first;
    const histories = await loadHistories(tx, job, {
      place,
      versions,
      testNos: [...testNos],
      submissionId,
      facts,
    });
    truths.push(
      ...histories.flatMap((history) =>
        truthsAround(history, { code: place.code, submissionId })
          .filter((one) => one.code === place.code)
      ),
    );
  }
  return truths;
}

/** The branches with as many code versions as a stretch needs; the branch of a merge queue has one. */
async function branchesOfVersions(
  tx: Queryable,
  job: Job,
  branches: readonly string[],
): Promise<Set<string>> {
  if (branches.length === 0) return new Set();
  const { repositoryId } = job;
  const rows = await tx<{ branch: string }[]>`
    select b.branch from unnest(${textsIn(tx, [...new Set(branches)])}) b (branch)
    where (
      select count(distinct r.code_version) from (
        select s.code_version from submission s
        where s.repository_id = ${repositoryId} and s.status = 'processed' and s.branch = b.branch
          and ${isOfJob(tx, job)}
        limit ${MAX_NEIGHBOURING_RUNS}) r
    ) >= ${MIN_FAILED_VERSIONS}`;
  return new Set(rows.map(({ branch }) => branch));
}

async function storeTruths(
  tx: Queryable,
  repositoryId: number,
  rows: readonly FoundTruth[],
): Promise<void> {
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
