/** What was known of failed tests at a moment: the evidence for failures, and how often it was right. */
import { NO_TEXT } from "../../lib/analysis/failure_causes.ts";
import { splitFingerprints } from "../../lib/analysis/failure_groups.ts";
import { type Run, SelectedTests } from "../../lib/analysis/run.ts";
import { isMassFailure, type TestCounts } from "../../lib/analysis/test_counts.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { countsForBase } from "../../lib/evidence/base_branch.ts";
import { countBaseRuns, NO_BASE_RUNS } from "../../lib/evidence/base_runs.ts";
import {
  type EarlierFailure,
  findEvidence,
  type Finding,
  type KnownRun,
  type MassFailure,
  MIN_TOGETHER,
} from "../../lib/evidence/evidence.ts";
import {
  type CauseCount,
  massFailureOf,
  OUTAGE_SECONDS,
  TOGETHER_SECONDS,
} from "../../lib/evidence/mass_failure.ts";
import {
  blameOf,
  MIN_RESOLVED,
  type Share,
  SHARE_DAYS,
  shareOf,
  type TruthCounts,
} from "../../lib/evidence/shares.ts";
import type { Conclusion } from "../../lib/evidence/said.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import { arrayOf, integersIn, type Queryable } from "../connection/sql.ts";
import { isOfBase, isRecordedSince } from "./fragments.ts";
import { loadRuns } from "./runs.ts";

/** A run as its tests failed; `""` for what is unknown. */
export interface EvidenceRun {
  /** 24 hex digits; `null` when it is not stored. */
  submissionId: string | null;
  /** As `submission.code_version`; `null` when unknown. */
  code: string | null;
  environment: string;
  job: string;
  shard: string;
  attempt: string;
  buildUrl: string;
  branch: string;
  /** The branch that a merge queue tests for. */
  queueBase?: string | undefined;
  counts: Pick<TestCounts, "ran" | "failed">;
  /** Seconds since 1970: what was recorded later is not known yet. */
  moment: number;
}

/** A test that failed in the run. */
interface AskedFailure {
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
  /** Whether its latest run on the base branch failed, or it failed there in the window with this cause. */
  isKnownOnBase: boolean;
}

interface Conclusions {
  massFailure: MassFailure | null;
  /** In the order of the failures. */
  conclusions: FoundConclusion[];
}

/** How far back failures count as seen. */
const MEMORY_DAYS = 365;

/** Bound of the runs on the base branch that are counted, and of the failures of one test. */
const MAX_RUNS = 1_000;

/** Enough to find the run before of a test in a job with as many shards. */
const MAX_BRANCH_RUNS = 50;

/** The evidence for the failures of a run, with shares and blame. */
export async function findConclusions(
  sql: Queryable,
  { repositoryId, run, failures, causeCounts, base, windowStart }: {
    repositoryId: number;
    run: EvidenceRun;
    failures: readonly AskedFailure[];
    /** The causes of all tests that failed in the run; those of `failures` unless given. */
    causeCounts?: readonly CauseCount[] | undefined;
    /** Patterns of the branches that count as the base branch. */
    base: Patterns;
    /** Seconds since 1970. */
    windowStart: number;
  },
): Promise<Conclusions> {
  const isOnBase = countsForBase(run, base);
  const known = failures.map(({ causes, ...failure }) => ({
    ...failure,
    causes: causes.filter((cause) => cause !== NO_TEXT),
  }));
  const lately = isMassFailure(run.counts) || run.counts.failed >= MIN_TOGETHER
    ? await loadLatelySeen(sql, { repositoryId, run, base })
    : { inDay: new Set<string>(), inHours: new Set<string>() };
  const counts = causeCounts ?? known.map(({ causes }) => ({ causes, testCount: 1 }));
  const massFailure = massFailureOf(run.counts, counts, lately.inHours);
  const failedRun = {
    branch: run.branch,
    isOnBase,
    massFailure,
    failedTestCount: run.counts.failed,
  };
  const testNos = known.flatMap(({ testNo }) => testNo ?? []);
  const stored = await loadKnown(sql, { repositoryId, run, testNos, base });
  const findings = known.map(({ testNo, causes, hasPassed }) => {
    const ofTest = stored(testNo);
    const passedIn = hasPassed
      ? { submissionId: run.submissionId ?? "", branch: run.branch }
      : ofTest.passedIn;
    const own = new Set(causes);
    const windowId = firstSubmissionId(windowStart);
    const isKnownOnBase = ofTest.base.latest?.hasFailed === true ||
      ofTest.failures.some((one) =>
        one.isOnBase && one.submissionId >= windowId && one.causes.some((cause) => own.has(cause))
      );
    const finding = findEvidence(causes, failedRun, { ...ofTest, passedIn }, lately.inDay);
    return { ...finding, isKnownOnBase };
  });
  const shareFor = await loadShares(sql, { repositoryId, isOnBase, moment: run.moment }, findings);
  return {
    massFailure,
    conclusions: findings.map((finding) => {
      const share = shareFor(finding);
      return { ...finding, isOnBase, share, blame: blameOf(finding.evidence, share) };
    }),
  };
}

/** SQL: whether the row `s` of `submission` is this run itself. */
function isOwn(sql: Queryable, { submissionId, ...run }: EvidenceRun) {
  const isSame = run.buildUrl === "" ? sql`false` : sql`(s.build_url = ${run.buildUrl}
    and s.job = ${run.job} and s.environment = ${run.environment} and s.shard = ${run.shard}
    and s.attempt = ${run.attempt})`;
  return submissionId === null
    ? isSame
    : sql`(s.submission_id = decode(${submissionId}, 'hex') or ${isSame})`;
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
      and ${run.branch === "" ? isOfBase(sql, base) : sql`s.branch <> ${run.branch}`}
      and s.branch <> '' and not ${isOwn(sql, run)}
    group by 1`;
  const causesOf = (found: typeof rows[number][]) =>
    new Set(
      found.flatMap(({ causes }) => splitFingerprints(causes)).filter((cause) => cause !== NO_TEXT),
    );
  return { inDay: causesOf(rows), inHours: causesOf(rows.filter(({ isInHours }) => isInHours)) };
}

type HistoryRun = Run<"branch" | "environment" | "job" | "code" | "isOutage" | "results">;

const HISTORY_COLUMNS = ["branch", "environment", "job", "code", "isOutage", "results"] as const;

/** What is stored of tests, by test_no. */
async function loadKnown(
  sql: Queryable,
  { repositoryId, run, testNos, base }: {
    repositoryId: number;
    run: EvidenceRun;
    testNos: readonly number[];
    base: Patterns;
  },
) {
  const memory = isBefore(sql, run, MEMORY_DAYS * SECONDS_PER_DAY);
  const isOther = sql`not ${isOwn(sql, run)}`;
  const load = (where: ReturnType<typeof isBefore>, limit: number): Promise<HistoryRun[]> =>
    loadRuns(sql, { repositoryId, columns: HISTORY_COLUMNS, where, limit });
  if (testNos.length === 0) {
    return () => ({ passedIn: null, base: NO_BASE_RUNS, failures: [], before: null });
  }
  const sameVersion = run.code === null ? [] : await load(
    sql`s.code_version = ${run.code} and s.environment = ${run.environment} and s.job = ${run.job}
      and ${memory} ${
      run.submissionId === null
        ? sql``
        : sql`and s.submission_id <> decode(${run.submissionId}, 'hex')`
    }
      ${
      run.buildUrl === "" || run.attempt === ""
        ? sql``
        : sql`and not (s.build_url = ${run.buildUrl} and s.attempt = ${run.attempt})`
    }`,
    MAX_RUNS,
  );
  const onBase = await load(sql`${isOfBase(sql, base)} and ${memory} and ${isOther}`, MAX_RUNS);
  const onBranch = run.branch === ""
    ? []
    : await load(sql`s.branch = ${run.branch} and ${memory} and ${isOther}`, MAX_BRANCH_RUNS);
  const failures = await loadEarlierFailures(sql, { repositoryId, run, testNos, base });
  const selected = new SelectedTests(testNos);
  const passed = new Map<number, KnownRun>();
  for (const { submissionId, branch, results } of sameVersion) {
    results.each(selected, (testNo, { counts }) => {
      if (counts.positive > 0 && !passed.has(testNo)) {
        passed.set(testNo, { submissionId, branch: branch ?? "" });
      }
    });
  }
  const baseRuns = countBaseRuns(
    onBase.map((one) => ({
      ...one,
      branch: one.branch ?? "",
      isSameCode: one.code === run.code,
    })),
    { testNos, job: run.job, environment: run.environment },
  );
  const before = runsBefore(onBranch, selected, run);
  return (testNo: number | null) => ({
    passedIn: passed.get(testNo!) ?? null,
    base: baseRuns.get(testNo!) ?? NO_BASE_RUNS,
    failures: failures.get(testNo!) ?? [],
    before: before.get(testNo!) ?? null,
  });
}

/** The latest run of each test on the branch: of the same job in the same environment, or of any. */
function runsBefore(
  runs: readonly HistoryRun[],
  selected: SelectedTests,
  { job, environment }: EvidenceRun,
): Map<number, KnownRun> {
  const same = new Map<number, KnownRun>();
  const any = new Map<number, KnownRun>();
  for (const { submissionId, branch, results, ...run } of runs) {
    const isSame = run.job === job && run.environment === environment;
    results.each(selected, (testNo, { counts }) => {
      if (counts.positive + counts.negative === 0) return;
      const found = { submissionId, branch: branch ?? "" };
      if (!any.has(testNo)) any.set(testNo, found);
      if (isSame && !same.has(testNo)) same.set(testNo, found);
    });
  }
  for (const [testNo, found] of same) any.set(testNo, found);
  return any;
}

/** The failures of tests in other submissions of the last 365 days, oldest first, by test_no. */
async function loadEarlierFailures(
  sql: Queryable,
  { repositoryId, run, testNos, base }: {
    repositoryId: number;
    run: EvidenceRun;
    testNos: readonly number[];
    base: Patterns;
  },
): Promise<Map<number, EarlierFailure[]>> {
  const rows = await sql<
    (KnownRun & { testNo: number; causes: string; isSameCode: boolean; isOnBase: boolean })[]
  >`
    select t.test_no as "testNo", n."submissionId", n.branch, n.causes, n."isSameCode", n."isOnBase"
    from unnest(${integersIn(sql, new Set(testNos))}) t (test_no)
    cross join lateral (
      select encode(n.submission_id, 'hex') as "submissionId", coalesce(s.branch, '') as branch,
        encode(string_agg(n.fingerprint || coalesce(n.other_fingerprints, ''), ''), 'hex') as causes,
        s.code_version = ${run.code ?? ""} as "isSameCode",
        ${isOfBase(sql, base)} as "isOnBase"
      from negative_result n
      join submission s on s.repository_id = ${repositoryId} and s.submission_id = n.submission_id
      where n.repository_id = ${repositoryId} and n.test_no = t.test_no
        and ${isRecordedSince(sql, firstSubmissionId(run.moment - MEMORY_DAYS * SECONDS_PER_DAY))}
        and n.submission_id < decode(${firstSubmissionId(run.moment + 1)}, 'hex')
        and s.status = 'processed' and not ${isOwn(sql, run)}
      group by n.submission_id, s.branch, s.queue_base, s.code_version
      order by n.submission_id desc
      limit ${MAX_RUNS}
    ) n
    order by t.test_no, n."submissionId"`;
  const failures = rows.map(({ causes, ...row }) => ({
    ...row,
    causes: splitFingerprints(causes).filter((cause) => cause !== NO_TEXT),
  }));
  return Map.groupBy(failures, ({ testNo }) => testNo);
}

/** The share for each finding, from the failures whose truth has come out. */
async function loadShares(
  sql: Queryable,
  { repositoryId, isOnBase, moment }: { repositoryId: number; isOnBase: boolean; moment: number },
  findings: readonly Finding[],
): Promise<(finding: Pick<Finding, "evidence">) => Share | null> {
  if (findings.length === 0) return () => null;
  const since = moment - SHARE_DAYS * SECONDS_PER_DAY;
  const period = { since, until: moment };
  const repository = await loadTruthCounts(sql, { repositoryIds: [repositoryId], ...period });
  const isKnown = ({ evidence }: Pick<Finding, "evidence">) =>
    evidence === "outage" ||
    repository.some((one) =>
      one.evidence === evidence && one.isOnBase === isOnBase &&
      one.notTheChange + one.theChange >= MIN_RESOLVED
    );
  let organization: TruthCounts[] = [];
  if (!findings.every(isKnown)) {
    const others = await sql<{ repositoryId: number }[]>`
      select o.repository_id::float8 as "repositoryId"
      from repository r join repository o on o.organization_id = r.organization_id
      where r.repository_id = ${repositoryId}`;
    const repositoryIds = others.map((one) => one.repositoryId);
    if (repositoryIds.length > 1) {
      organization = await loadTruthCounts(sql, { repositoryIds, ...period });
    }
  }
  return ({ evidence }) => shareOf(evidence, { isOnBase, repository, organization });
}

/** What became of the failures that were recorded in a period; repeats and outages do not count. */
async function loadTruthCounts(
  sql: Queryable,
  { repositoryIds, since, until }: { repositoryIds: number[]; since: number; until: number },
): Promise<TruthCounts[]> {
  return await sql<TruthCounts[]>`
    select evidence, is_on_base as "isOnBase",
      count(*) filter (where truth = 'not_the_change')::int as "notTheChange",
      count(*) filter (where truth = 'the_change')::int as "theChange"
    from failure_evidence
    where repository_id = any(${arrayOf(repositoryIds)}::bigint[])
      and submission_id >= decode(${firstSubmissionId(since)}, 'hex')
      and submission_id < decode(${firstSubmissionId(until + 1)}, 'hex')
      and not is_repeat and truth is not null and evidence <> 'outage'
    group by evidence, is_on_base`;
}
