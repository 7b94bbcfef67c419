// Tests: tests/db/write/evidence_test.ts
/** What was known of failed tests at a moment: the evidence for failures. */
import { MORE_CAUSES, NO_TEXT } from "../../lib/analysis/failure_causes.ts";
import { splitFingerprints } from "../../lib/analysis/failure_groups.ts";
import { ImpliedPasses, NO_IMPLIED_PASSES } from "../../lib/analysis/repetition/implied_passes.ts";
import {
  findLegs,
  repeats,
  REPETITION_COLUMNS,
} from "../../lib/analysis/repetition/submissions.ts";
import { type Run, SelectedTests, type TestList } from "../../lib/analysis/run.ts";
import { isMassFailure, type TestCounts } from "../../lib/analysis/test_counts.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { countsForBase, isOfQueue } from "../../lib/evidence/base_branch.ts";
import {
  countBaseRuns,
  type EarlierFailure,
  findEvidence,
  isKnownOnBase,
  type KnownOfTest,
  type KnownRun,
  type MassFailure,
  MIN_TOGETHER,
  NO_BASE_RUNS,
} from "../../lib/evidence/evidence.ts";
import {
  type CauseCount,
  massFailureOf,
  OUTAGE_SECONDS,
  TOGETHER_SECONDS,
} from "../../lib/evidence/mass_failure.ts";
import { blameOf } from "../../lib/evidence/shares.ts";
import type { Conclusion } from "../../lib/evidence/said.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import { idsIn, integersIn, type Queryable } from "../connection/sql.ts";
import { isOfBase, isRecordedSince, isRejected, weekOfNegative } from "./fragments.ts";
import { loadRunGroups, loadRuns } from "./runs.ts";
import { Shares } from "./shares.ts";
import { loadTestFacts } from "./test_facts.ts";

/** A run as its tests failed; `""` for what is unknown. */
export interface EvidenceRun {
  /** 24 hex digits; `null` when it is not stored. */
  submissionId: string | null;
  /** As `submission.code_version`; `null` when unknown. */
  code: string | null;
  /** Whether no other submission is of this code in its environment and job; not given when unknown. */
  isOnlyRun?: boolean;
  environment: string;
  job: string;
  shard: string;
  attempt: string;
  buildUrl: string;
  branch: string;
  /** The branch that a merge queue tests for. */
  queueBase?: string | undefined;
  /** The pull request whose change it tests, on its branch or in the merge queue. */
  pullNumber?: number | null | undefined;
  counts: Pick<TestCounts, "ran" | "failed">;
  /** Seconds since 1970: what was recorded later is not known yet. */
  moment: number;
}

/** A test that failed in the run. */
interface GivenFailure {
  /** `null` for a test that is not stored. */
  testNo: number | null;
  /** Fingerprints of its causes. */
  causes: readonly string[];
  /** Whether an attempt of it in this run passed. */
  hasPassed: boolean;
}

/** A conclusion with what it rests on. */
export interface FoundConclusion extends Conclusion {
  isOnBase: boolean;
  restsOn: KnownRun | null;
  /** Whether its latest run on the base branch failed, or it failed there in the window with its causes. */
  isKnownOnBase: boolean;
}

/** How far back failures count as seen. */
const MEMORY_DAYS = 365;

/** Bound of the runs on the base branch that are counted, and of the failures of one test. */
const MAX_RUNS = 1_000;

/**
 * Bound of the failures of a test that are read, disruptions and others each: a test that is broken for months fails
 * in tens of thousands of runs, and all that counts is what happened in the latest thousand.
 */
const MAX_FAILURES = 10_000;

/** Enough to find the run before of a test in a job with as many shards. */
const MAX_BRANCH_RUNS = 50;

interface RunOptions {
  repositoryId: number;
  run: EvidenceRun;
  /** The causes of all tests that failed in the run. */
  causeCounts: Iterable<CauseCount>;
  /** Patterns of the branches that count as the base branch. */
  base: Patterns;
  /** Seconds since 1970. */
  windowStart: number;
  /** Lists of tests that are loaded already; the lists of other runs are added. */
  lists?: Map<number, TestList> | undefined;
}

/** The evidence for the failures of a run, with shares and blame; in their order. */
export async function findConclusions(
  sql: Queryable,
  { failures, causeCounts, ...options }: Omit<RunOptions, "causeCounts"> & {
    failures: readonly GivenFailure[];
    /** The causes of `failures` unless given. */
    causeCounts?: readonly CauseCount[] | undefined;
  },
): Promise<{ massFailure: MassFailure | null; conclusions: FoundConclusion[] }> {
  const own = failures.map(({ causes }) => ({ causes: knownCauses(causes), testCount: 1 }));
  const { massFailure, conclusionsOn } = await openRun(sql, {
    ...options,
    causeCounts: causeCounts ?? own,
  });
  return { massFailure, conclusions: await conclusionsOn(failures) };
}

/** Loads what concerns all failures of a run. */
export async function openRun(
  sql: Queryable,
  { repositoryId, run, causeCounts, base, windowStart, lists }: RunOptions,
): Promise<{
  massFailure: MassFailure | null;
  /** The evidence for some of its failures, in their order. */
  conclusionsOn(failures: readonly GivenFailure[]): Promise<FoundConclusion[]>;
}> {
  const isOnBase = countsForBase(run, base);
  const lately = isMassFailure(run.counts) || run.counts.failed >= MIN_TOGETHER
    ? await loadLatelySeen(sql, { repositoryId, run, base })
    : { inDay: new Set<string>(), inHours: new Set<string>() };
  const massFailure = massFailureOf(run.counts, causeCounts, lately.inHours);
  const failedRun = {
    branch: run.branch,
    isOnBase,
    massFailure,
    failedTestCount: run.counts.failed,
  };
  const windowId = firstSubmissionId(windowStart);
  const history = { repositoryId, run, base, lists };
  let runs: ReturnType<typeof loadHistory> | undefined;
  const { moment, submissionId } = run;
  const shares = new Shares(sql, { repositoryId, isOnBase, moment, submissionId });
  const conclusionsOn = async (failures: readonly GivenFailure[]) => {
    const testNos = failures.flatMap(({ testNo }) => testNo ?? []);
    const load = () =>
      loadKnown(sql, { ...history, runs: runs ??= loadHistory(sql, history) }, testNos);
    const [stored] = await Promise.all([
      testNos.length === 0 ? () => NOTHING_KNOWN : load(),
      failures.length > 0 && shares.ofRepository(),
    ]);
    const findings = failures.map(({ testNo, hasPassed, ...failure }) => {
      const causes = knownCauses(failure.causes);
      const ofTest = stored(testNo);
      const passedIn = hasPassed
        ? { submissionId: run.submissionId ?? "", branch: run.branch }
        : ofTest.passedIn;
      const finding = findEvidence(causes, failedRun, { ...ofTest, passedIn }, lately.inDay);
      return { ...finding, isKnownOnBase: isKnownOnBase(causes, ofTest, windowId) };
    });
    const shareFor = await shares.load(findings);
    return findings.map((finding) => {
      const share = shareFor(finding);
      return { ...finding, isOnBase, share, blame: blameOf(finding.evidence, share) };
    });
  };
  return { massFailure, conclusionsOn };
}

/** The causes without unknown ones, which are equal to no other. */
export function knownCauses(causes: readonly string[]): string[] {
  return causes.filter((cause) => cause !== NO_TEXT);
}

/** SQL: whether the row `s` of `submission` is this run itself. */
function isOwn(sql: Queryable, run: EvidenceRun) {
  const isSame = isSameUpload(sql, run);
  return run.submissionId === null
    ? isSame
    : sql`(s.submission_id = decode(${run.submissionId}, 'hex') or ${isSame})`;
}

/**
 * SQL: whether the row `s` of `submission` is of the same build, job, environment, shard and attempt. Where a service
 * does not count attempts, these are earlier ones.
 */
function isSameUpload(sql: Queryable, run: EvidenceRun) {
  return hasAttempt(run) ? isOfAttempt(sql, run) : sql`false`;
}

/** Whether its build and its attempt are known. */
function hasAttempt({ buildUrl, attempt }: EvidenceRun): boolean {
  return buildUrl !== "" && attempt !== "";
}

/** SQL: as {@linkcode isSameUpload}; an unknown attempt is equal to another one. */
function isOfAttempt(sql: Queryable, { buildUrl, job, environment, shard, attempt }: EvidenceRun) {
  return sql`(s.build_url = ${buildUrl} and s.job = ${job} and s.environment = ${environment}
    and s.shard = ${shard} and s.attempt = ${attempt})`;
}

/** SQL: {@linkcode isOfAttempt}, by the index of builds. */
function isOfAttemptByIndex(sql: Queryable, run: EvidenceRun) {
  return sql`s.build_url <> '' and md5(s.build_url) = md5(${run.buildUrl})
    and ${isOfAttempt(sql, run)}`;
}

/**
 * The upload of a run that a client asks about, where its attempt is unknown; `null` if it is not stored. It is the
 * latest of its build, job and shard, if that has these failures. Otherwise that is an earlier attempt.
 */
export async function findUploadOf(
  sql: Queryable,
  { repositoryId, run, failures }: {
    repositoryId: number;
    run: EvidenceRun;
    failures: readonly GivenFailure[];
  },
): Promise<string | null> {
  if (run.buildUrl === "" || run.attempt !== "") return null;
  const [latest] = await loadRuns(sql, {
    repositoryId,
    columns: ["code", "results"],
    where: isOfAttemptByIndex(sql, run),
    limit: 1,
  });
  if (!latest || run.code !== null && latest.code !== run.code) return null;
  const { submissionId } = latest;
  const testNos = failures.flatMap(({ testNo }) => testNo ?? []);
  const causes = await loadCauses(sql, { repositoryId, testNos, submissionIds: [submissionId] });
  const passed = new Set<number>();
  latest.results.each(new SelectedTests(testNos), (testNo, { counts }) => {
    if (counts.positive > 0) passed.add(testNo);
  });
  const hasAll = failures.every(({ testNo, causes: own, hasPassed }) => {
    const stored = causes.get(testNo!)?.get(submissionId);
    return stored !== undefined && passed.has(testNo!) === hasPassed &&
      knownCauses(own).every((cause) => cause === MORE_CAUSES || stored.includes(cause));
  });
  return hasAll ? submissionId : null;
}

/** SQL: whether the row `n` of `negative_result` is not of this run itself. */
function isOfOther(
  sql: Queryable,
  { repositoryId, run }: Pick<HistoryOptions, "repositoryId" | "run">,
) {
  const isNotSame = !hasAttempt(run) ? sql`true` : sql`n.submission_id <> all(array(
    select s.submission_id from submission s
    where s.repository_id = ${repositoryId} and ${isOfAttemptByIndex(sql, run)}))`;
  return run.submissionId === null
    ? isNotSame
    : sql`n.submission_id <> decode(${run.submissionId}, 'hex') and ${isNotSame}`;
}

/** SQL: whether the row `s` of `submission` is of the same pull request as the run, perhaps under another branch. */
function isSamePull(sql: Queryable, { pullNumber = null }: EvidenceRun) {
  return pullNumber === null ? sql`false` : sql`(s.pull_number = ${pullNumber}::bigint) is true`;
}

/** SQL: whether the row `s` of `submission` is of the base branch, neither of the run's own pull request nor rejected. */
function isOfOtherBase(
  sql: Queryable,
  { repositoryId, run, base }: Pick<RunOptions, "repositoryId" | "run" | "base">,
) {
  const isMerged = countsForBase(run, base) && !isOfQueue(run);
  const merged = isMerged ? run.code ?? "" : "";
  return sql`${isOfBase(sql, base)} and not ${isSamePull(sql, run)}
    and not ${isRejected(sql, { repositoryId, base, merged })}`;
}

/** SQL: whether the row `s` of `submission` was recorded in the days before the run. */
function isBefore(sql: Queryable, { moment }: EvidenceRun, seconds: number) {
  return sql`s.submission_id >= decode(${firstSubmissionId(moment - seconds)}, 'hex')
    and s.submission_id < decode(${firstSubmissionId(moment + 1)}, 'hex')
    and s.status = 'processed'`;
}

/** The causes that other branches had, in the day and in the two hours before. */
async function loadLatelySeen(
  sql: Queryable,
  { repositoryId, run, base }: { repositoryId: number; run: EvidenceRun; base: Patterns },
): Promise<{ inDay: Set<string>; inHours: Set<string> }> {
  const rows = await sql<{ causes: string; isInHours: boolean }[]>`
    select encode(n.fingerprint || coalesce(n.other_fingerprints, ''), 'hex') as causes,
      bool_or(s.submission_id >= decode(${
    firstSubmissionId(run.moment - OUTAGE_SECONDS)
  }, 'hex')) as "isInHours"
    from submission s
    join negative_result n on n.repository_id = ${repositoryId} and n.submission_id = s.submission_id
    where s.repository_id = ${repositoryId} and ${isBefore(sql, run, TOGETHER_SECONDS)}
      and ${
    run.branch === ""
      ? isOfOtherBase(sql, { repositoryId, run, base })
      : sql`s.branch <> ${run.branch} and not ${isSamePull(sql, run)}`
  } and s.branch <> '' and s.code_version <> ${run.code ?? ""} and not ${isOwn(sql, run)}
    group by 1`;
  const causesOf = (found: typeof rows[number][]) =>
    new Set(
      found.flatMap(({ causes }) => splitFingerprints(causes)).filter((cause) => cause !== NO_TEXT),
    );
  return { inDay: causesOf(rows), inHours: causesOf(rows.filter(({ isInHours }) => isInHours)) };
}

type VersionRun = Run<typeof VERSION_COLUMNS[number]>;
type HistoryRun = Awaited<ReturnType<typeof loadHistory>>["onBase"][number];

const VERSION_COLUMNS = [
  "branch",
  ...REPETITION_COLUMNS,
  "tests",
  "results",
] as const;

type HistoryOptions = Pick<RunOptions, "repositoryId" | "run" | "base" | "lists">;

/** Loads the runs that are looked at for every failure of a run; of up to a thousand few columns. */
async function loadHistory(sql: Queryable, { repositoryId, run, base, lists }: HistoryOptions) {
  const { pullNumber = null } = run;
  const memory = isBefore(sql, run, MEMORY_DAYS * SECONDS_PER_DAY);
  const isOther = sql`not ${isOwn(sql, run)}`;
  const hasVersion = run.code !== null && !run.isOnlyRun;
  const sameVersion = hasVersion && loadRuns(sql, {
    repositoryId,
    columns: VERSION_COLUMNS,
    where: sql`s.code_version = ${run.code} and s.environment = ${run.environment}
      and s.job = ${run.job} and ${memory} ${
      run.submissionId === null
        ? sql``
        : sql`and s.submission_id <> decode(${run.submissionId}, 'hex')`
    }`,
    limit: MAX_RUNS,
  });
  const others = loadRunGroups(sql, {
    repositoryId,
    columns: ["isOutage", "results"],
    flags: {
      isSameJob: sql`s.job = ${run.job} and s.environment = ${run.environment}`,
      isSameCode: sql`s.code_version = ${run.code ?? ""}`,
    },
    lists,
    groups: {
      onBase: {
        where: sql`${isOfOtherBase(sql, { repositoryId, run, base })} and ${memory} and ${isOther}`,
        limit: MAX_RUNS,
      },
      onBranch: run.branch === "" ? null : {
        where: sql`s.branch = ${run.branch} and ${memory} and ${isOther}`,
        limit: MAX_BRANCH_RUNS,
      },
      ofPull: run.branch === "" || pullNumber === null ? null : {
        // By its index, which `is true` does not use.
        where: sql`s.pull_number = ${pullNumber}::bigint and ${memory} and ${isOther}`,
        limit: MAX_BRANCH_RUNS,
      },
    },
  });
  const [ofVersion, { onBase, onBranch = [], ofPull = [] }] = await Promise.all([
    sameVersion,
    others,
  ]);
  const ofChange = new Map([...onBranch, ...ofPull].map((one) => [one.submissionId, one]));
  return {
    // Between unnamed legs nothing is proved.
    sameVersion: ofVersion && !findLegs(ofVersion) ? ofVersion : [],
    onBase,
    ofChange: [...ofChange.values()].sort((a, b) => a.submissionId < b.submissionId ? 1 : -1),
  };
}

const NOTHING_KNOWN: KnownOfTest = {
  passedIn: null,
  base: NO_BASE_RUNS,
  failures: [],
  before: null,
};

/** What is stored of tests, by test_no. */
async function loadKnown(
  sql: Queryable,
  { repositoryId, run, base, runs }: HistoryOptions & { runs: ReturnType<typeof loadHistory> },
  testNos: readonly number[],
): Promise<(testNo: number | null) => KnownOfTest> {
  const [{ sameVersion, onBase, ofChange }, failures] = await Promise.all([
    runs,
    loadEarlierFailures(sql, { repositoryId, run, testNos, base }),
  ]);
  const selected = new SelectedTests(testNos);
  const repetitions = sameVersion.filter((one) => !isOwnUpload(one, run));
  const { implied, hasFile } = await loadFacts(sql, {
    repositoryId,
    failed: failures.keys(),
    // Only between shards it matters whether a test has a file.
    others: repetitions.some(({ shard }) => shard !== run.shard) ? testNos : [],
  });
  const passed = new Map<number, KnownRun>();
  for (const one of repetitions) {
    const add = (testNo: number) => {
      if (passed.has(testNo) || !repeats(one, run, { hasFile: hasFile(testNo) })) return;
      passed.set(testNo, { submissionId: one.submissionId, branch: one.branch ?? "" });
    };
    one.results.each(selected, (testNo, { counts }) => {
      if (counts.positive > 0) add(testNo);
    });
    for (const testNo of implied.in(one.results)) add(testNo);
  }
  const baseRuns = countBaseRuns(onBase, { selected, implied });
  const isOfJob = new Map(onBase.map((one) => [one.submissionId, one.isSameJob]));
  const before = runsBefore(ofChange, { selected, implied, run });
  return (testNo: number | null) => {
    const ofBase = baseRuns.get(testNo!) ?? NO_BASE_RUNS;
    return {
      passedIn: passed.get(testNo!) ?? null,
      base: ofBase,
      failures: (failures.get(testNo!) ?? []).map((one) => ({
        ...one,
        isCounted: isOfJob.get(one.submissionId) === ofBase.isOfJob,
      })),
      before: before.get(testNo!) ?? null,
    };
  };
}

/** As {@linkcode isSameUpload}, of runs of the same job and environment. */
function isOwnUpload({ buildUrl, shard, attempt }: VersionRun, run: EvidenceRun): boolean {
  return hasAttempt(run) && buildUrl === run.buildUrl && shard === run.shard &&
    attempt === run.attempt;
}

/**
 * Facts about tests, and the implied passes of set-ups that failed before. A set-up that fails for the first
 * time is not stored when a client asks about it, and what is said then must hold after the upload.
 */
async function loadFacts(
  sql: Queryable,
  { repositoryId, failed, others }: {
    repositoryId: number;
    failed: Iterable<number>;
    others: readonly number[];
  },
): Promise<{ implied: ImpliedPasses; hasFile(testNo: number): boolean }> {
  const ofFailed = new Set(failed);
  const testNos = new Set([...ofFailed, ...others]);
  if (testNos.size === 0) return { implied: NO_IMPLIED_PASSES, hasFile: () => true };
  const { setUpOf, hasFile } = await loadTestFacts(sql, { repositoryId, testNos });
  return { implied: new ImpliedPasses(ofFailed, setUpOf), hasFile };
}

/** The latest run of each test, of the runs of a change: of the same job in the same environment, or of any. */
function runsBefore(
  runs: readonly HistoryRun[],
  { selected, implied, run: { branch } }: {
    selected: SelectedTests;
    implied: ImpliedPasses;
    run: EvidenceRun;
  },
): Map<number, KnownRun> {
  const same = new Map<number, KnownRun>();
  const any = new Map<number, KnownRun>();
  for (const { submissionId, isSameJob, results } of runs) {
    // As after the latest run of most.
    if (same.size === selected.testNos.length) break;
    const found = { submissionId, branch };
    const add = (testNo: number) => {
      if (!any.has(testNo)) any.set(testNo, found);
      if (isSameJob && !same.has(testNo)) same.set(testNo, found);
    };
    results.each(selected, (testNo, { counts }) => {
      if (counts.positive + counts.negative > 0) add(testNo);
    });
    for (const testNo of implied.in(results)) add(testNo);
  }
  for (const [testNo, found] of same) any.set(testNo, found);
  return any;
}

/** An earlier failure, before it is known which runs are counted. */
type FailureElsewhere = Omit<EarlierFailure, "isCounted">;

/**
 * The failures of tests in other submissions of the last 365 days, oldest first, by test_no.
 *
 * One row for each test, and the submissions by themselves: joined and sent one by one, the 9,000 failures that 300
 * tests had before took ten times as long.
 */
async function loadEarlierFailures(
  sql: Queryable,
  { repositoryId, run, testNos, base }: {
    repositoryId: number;
    run: EvidenceRun;
    testNos: readonly number[];
    base: Patterns;
  },
): Promise<Map<number, FailureElsewhere[]>> {
  const isCounted = sql`
    ${isRecordedSince(sql, firstSubmissionId(run.moment - MEMORY_DAYS * SECONDS_PER_DAY))}
    and n.submission_id < decode(${firstSubmissionId(run.moment + 1)}, 'hex')
    and ${isOfOther(sql, { repositoryId, run })}`;
  // In the order of the index of tests: sorting them by submission takes twice as long as reading them. It also has
  // each test looked up by itself. Where the repository has more failures than the planner knows of, as within a
  // first upload of many, it would read all failures of each submission for every test.
  const newest = (isDisruption: boolean) =>
    sql`(select n.submission_id, n.fingerprint, n.other_fingerprints from negative_result n
      where n.repository_id = ${repositoryId} and n.test_no = t.test_no
        and n.is_disruption = ${isDisruption} and ${isCounted}
      order by ${weekOfNegative(sql)} desc limit ${MAX_FAILURES})`;
  const rows = await sql<{ testNo: number; failures: string }[]>`
    select t.test_no as "testNo", n.failures
    from unnest(${integersIn(sql, new Set(testNos))}) t (test_no)
    cross join lateral (
      select string_agg(
        encode(n.submission_id || n.fingerprint || coalesce(n.other_fingerprints, ''), 'hex'), ' ') as failures
      from (${newest(false)} union all ${newest(true)}) n
    ) n
    where n.failures is not null`;
  const failures = rows.map(({ testNo, failures }) => ({ testNo, runs: failedRuns(failures) }));
  const ids = new Set(failures.flatMap(({ runs }) => runs.map(({ submissionId }) => submissionId)));
  const submissions = await loadFailedSubmissions(sql, { repositoryId, run, base, ids });
  // Few causes occur in thousands of failures.
  const split = new Map<string, readonly string[]>();
  const causesOf = (joined: string) => {
    let causes = split.get(joined);
    if (!causes) split.set(joined, causes = knownCauses(splitFingerprints(joined)));
    return causes;
  };
  return new Map(failures.map(({ testNo, runs }) => [
    testNo,
    runs.map(({ submissionId, fingerprints }) => {
      return { ...submissions.get(submissionId)!, causes: causesOf(fingerprints) };
    }),
  ]));
}

/** The latest runs in which a test failed, oldest first, from ids with the fingerprints of an attempt. */
function failedRuns(attempts: string): { submissionId: string; fingerprints: string }[] {
  const runs: { submissionId: string; fingerprints: string }[] = [];
  for (const attempt of attempts.split(" ").sort()) {
    const submissionId = attempt.slice(0, ID_LENGTH);
    const fingerprints = attempt.slice(ID_LENGTH);
    const last = runs.at(-1);
    if (last?.submissionId === submissionId) last.fingerprints += fingerprints;
    else runs.push({ submissionId, fingerprints });
  }
  return runs.slice(-MAX_RUNS);
}

/** Hex digits of a submission id. */
const ID_LENGTH = 24;

/** What counts of the submissions with earlier failures, by id. */
async function loadFailedSubmissions(
  sql: Queryable,
  { repositoryId, run, base, ids }: {
    repositoryId: number;
    run: EvidenceRun;
    base: Patterns;
    ids: ReadonlySet<string>;
  },
): Promise<Map<string, Omit<FailureElsewhere, "causes">>> {
  if (ids.size === 0) return new Map();
  const rows = await sql<Omit<FailureElsewhere, "causes">[]>`
    select encode(s.submission_id, 'hex') as "submissionId", coalesce(s.branch, '') as branch,
      s.code_version = ${run.code ?? ""} as "isSameCode", ${isSamePull(sql, run)} as "isSamePull",
      ${isOfOtherBase(sql, { repositoryId, run, base })} as "isOnBase"
    from submission s
    where s.repository_id = ${repositoryId} and s.submission_id = any(${idsIn(sql, [...ids])})`;
  return new Map(rows.map((row) => [row.submissionId, row]));
}

/** The causes of the failures of tests in some submissions (24 hex digits), by test_no and submission. */
export async function loadCauses(
  sql: Queryable,
  { repositoryId, testNos, submissionIds }: {
    repositoryId: number;
    testNos: readonly number[];
    submissionIds: readonly string[];
  },
): Promise<Map<number, Map<string, readonly string[]>>> {
  const rows = await sql<{ testNo: number; submissionId: string; causes: string }[]>`
    select n.test_no as "testNo", encode(n.submission_id, 'hex') as "submissionId",
      encode(string_agg(n.fingerprint || coalesce(n.other_fingerprints, ''), ''), 'hex') as causes
    from negative_result n
    where n.repository_id = ${repositoryId} and n.test_no = any(${integersIn(sql, testNos)})
      and n.submission_id = any(${idsIn(sql, submissionIds)})
    group by n.test_no, n.submission_id`;
  return new Map(
    Array.from(Map.groupBy(rows, ({ testNo }) => testNo), ([testNo, own]) => [
      testNo,
      new Map(own.map(({ submissionId, causes }) => [
        submissionId,
        knownCauses(splitFingerprints(causes)),
      ])),
    ]),
  );
}
