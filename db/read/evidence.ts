// Tests: tests/db/write/evidence_test.ts
/** What was known of failed tests at a moment: the evidence for failures. */
import { knownCauses } from "../../lib/analysis/failure_groups.ts";
import { ImpliedPasses, NO_IMPLIED_PASSES } from "../../lib/analysis/repetition/implied_passes.ts";
import {
  findLegs,
  repeats,
  REPETITION_COLUMNS,
} from "../../lib/analysis/repetition/submissions.ts";
import { SelectedTests, type TestList } from "../../lib/analysis/run.ts";
import { isMassFailure } from "../../lib/analysis/test_counts.ts";
import { firstSubmissionId, recordedAtOf } from "../../lib/base/identity.ts";
import { countsForBase } from "../../lib/evidence/base_branch.ts";
import {
  countBaseRuns,
  findEvidence,
  isKnownOnBase,
  type KnownOfTest,
  type KnownRun,
  type MassFailure,
  MIN_TOGETHER,
  NO_BASE_RUNS,
} from "../../lib/evidence/evidence.ts";
import { type CauseCount, massFailureOf } from "../../lib/evidence/mass_failure.ts";
import { findRepairedBreakages } from "../../lib/evidence/repaired_breakages.ts";
import { blameOf } from "../../lib/evidence/shares.ts";
import type { Conclusion } from "../../lib/evidence/said.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { loadEarlierFailures, loadLatelySeen } from "./earlier_failures.ts";
import {
  type EvidenceRun,
  type GivenFailure,
  isBefore,
  isOfOtherBase,
  isOwn,
  isOwnUpload,
  isSameCode,
  MAX_RUNS,
  MEMORY_SECONDS,
} from "./evidence_run.ts";
import { loadRunGroups, loadRuns } from "./runs.ts";
import { Shares } from "./shares.ts";
import { loadTestFacts } from "./test_facts.ts";

/** A conclusion with what it rests on. */
export interface FoundConclusion extends Conclusion {
  isOnBase: boolean;
  restsOn: KnownRun | null;
  /** Whether its latest run on the base branch failed, or it failed there in the window with its causes. */
  isKnownOnBase: boolean;
}

/** Enough to find the run before of a test in a job with as many shards. */
const MAX_BRANCH_RUNS = 50;

interface RunOptions {
  repositoryId: number;
  run: EvidenceRun;
  /** The causes of all tests that failed in the run. */
  causeCounts: Iterable<CauseCount>;
  /** Patterns of the branches that count as the base branch. */
  base: Patterns;
  /** Whether the base branch is only a guess. */
  isBaseGuessed: boolean;
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
  { repositoryId, run, causeCounts, base, isBaseGuessed, windowStart, lists }: RunOptions,
): Promise<{
  massFailure: MassFailure | null;
  /** The evidence for some of its failures, in their order. */
  conclusionsOn(failures: readonly GivenFailure[]): Promise<FoundConclusion[]>;
}> {
  const isOnBase = countsForBase(run, base);
  const isOnGuess = isBaseGuessed && (isOnBase || run.branch === "");
  const hasOthers = run.branch !== "" || !isOnGuess;
  const areMany = isMassFailure(run.counts) || run.counts.failed >= MIN_TOGETHER;
  const lately = areMany && hasOthers
    ? await loadLatelySeen(sql, { repositoryId, run, base })
    : { inDay: new Set<string>(), ofOutages: new Set<string>() };
  const massFailure = massFailureOf(run.counts, causeCounts, lately.ofOutages);
  const failedRun = {
    branch: run.branch,
    pullNumber: run.pullNumber ?? null,
    isOnBase,
    isOnGuess,
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
      return { ...finding, isKnownOnBase: isKnownOnBase(causes, failedRun, ofTest, windowId) };
    });
    const shareFor = await shares.load(findings);
    return findings.map((finding) => {
      const share = shareFor(finding);
      return { ...finding, isOnBase, share, blame: blameOf(finding.evidence, share) };
    });
  };
  return { massFailure, conclusionsOn };
}

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
  const memory = isBefore(sql, run, MEMORY_SECONDS);
  const isOther = sql`not ${isOwn(sql, run)}`;
  const hasVersion = run.code !== null && !run.isOnlyRun;
  const sameVersion = hasVersion && loadRuns(sql, {
    repositoryId,
    columns: VERSION_COLUMNS,
    where: sql`s.code_version = ${run.code} and s.environment = ${run.environment}
      and s.job = ${run.job} and s.workflow = ${run.workflow} and ${memory} ${
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
      isSameCode: isSameCode(sql, run),
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
    one.results.passed(selected).forEach(add);
    implied.in(one.results).forEach(add);
  }
  const baseRuns = countBaseRuns(onBase, { selected, implied });
  const breakages = findRepairedBreakages(onBase.filter(({ isSameJob }) => isSameJob), {
    testNos: testNos.filter((testNo) => (baseRuns.get(testNo)?.failedCount ?? 0) > 0),
    implied,
  });
  const isOfJob = new Map(onBase.map((one) => [one.submissionId, one.isSameJob]));
  const before = runsBefore(ofChange, { selected, implied, run });
  return (testNo: number | null) => {
    const ofBase = baseRuns.get(testNo!) ?? NO_BASE_RUNS;
    const ofTest = breakages.get(testNo!) ?? [];
    const isOfBreakage = ({ submissionId }: KnownRun) =>
      ofTest.some(({ start, end }) =>
        start <= recordedAtOf(submissionId) && recordedAtOf(submissionId) <= end
      );
    return {
      passedIn: passed.get(testNo!) ?? null,
      base: ofBase,
      failures: (failures.get(testNo!) ?? [])
        .filter((one) => !isOfBreakage(one))
        .map((one) => ({
          ...one,
          isCounted: isOfJob.get(one.submissionId) === ofBase.isOfJob,
        })),
      before: before.get(testNo!) ?? null,
    };
  };
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
