/** What a failure rests on: the first evidence that applies, from what was known at its moment. */
import { type ImpliedPasses, NO_IMPLIED_PASSES } from "../analysis/repetition/implied_passes.ts";
import { type Run, SelectedTests } from "../analysis/run.ts";

/** Kinds of evidence, in the order in which they are tried. */
export const EVIDENCE = [
  "passed_here",
  "fails_on_base",
  "outage",
  "together",
  "seen_elsewhere",
  "new_cause",
  "new_test",
  "first",
  "few",
] as const;

export type Evidence = typeof EVIDENCE[number];

/** Minimum number of tests with new causes that fail together. */
export const MIN_TOGETHER = 10;

/** Minimum number of runs on the base branch without a failure before the first one. */
const MIN_CLEAN_RUNS = 20;

/** A submission that evidence can rest on. */
export interface KnownRun {
  /** 24 hex digits; ids sort like time. */
  submissionId: string;
  /** `""` when unknown. */
  branch: string;
}

/** The runs of a test on the base branch. */
interface BaseRuns {
  /** How many there are, and in how many an attempt failed. */
  runCount: number;
  failedCount: number;
  /** Whether they are of the job and the environment of the failure, not of all others. */
  isOfJob: boolean;
  /** The latest one at other code and in no outage; `null` without one. */
  latest: (Pick<KnownRun, "submissionId"> & { hasFailed: boolean }) | null;
}

/** An earlier submission in which the test failed, of the last 365 days. */
export interface EarlierFailure extends KnownRun {
  /** Fingerprints. Unknown causes are left out: they are equal to no other. */
  causes: readonly string[];
  /** Whether it was at the code of the failure in question. */
  isSameCode: boolean;
  /** Whether its run tested the same pull request, perhaps under another branch. */
  isSamePull: boolean;
  /** The pull request that its run tested; `null` when unknown. */
  pullNumber: number | null;
  /** Whether its branch is the base branch or its merge queue. */
  isOfBase: boolean;
  /** The same, but neither of this pull request nor of code that never came to the base branch. */
  isOnBase: boolean;
  /** Whether its run is of the job and the environment of the failure in question. */
  isSameJob: boolean;
  /** Whether its run is one of the {@linkcode BaseRuns} of the test. */
  isCounted: boolean;
}

export interface FailedRun {
  /** `""` when unknown. */
  branch: string;
  /** The pull request that it tests; `null` when unknown. */
  pullNumber: number | null;
  isOnBase: boolean;
  /**
   * Whether it is on a base branch that is only a guess, or may be, as its branch is unknown: earlier failures there
   * may be due to the same change.
   */
  isOnGuess: boolean;
  /** Whether enough of its tests failed for a common reason; `null` if not. */
  massFailure: MassFailure | null;
  /** Tests that failed at least once. */
  failedTestCount: number;
}

/** `outage`: others fail with the same causes ({@linkcode causesOfOthers}); `together`: this change alone. */
export type MassFailure = "outage" | "together";

/** What was known of a test when it failed. */
export interface KnownOfTest {
  /** The latest run in which it passed at this code version, perhaps this very run; `null` without one. */
  passedIn: KnownRun | null;
  base: BaseRuns;
  /** Oldest first. */
  failures: readonly EarlierFailure[];
  /** Its run before on this branch, or of this pull request; `null` without one. */
  before: KnownRun | null;
}

/**
 * Whether the latest run of a test on the base branch failed, or it failed there with the causes of this failure in
 * submissions from `firstId` on.
 */
export function isKnownOnBase(
  causes: readonly string[],
  { isOnGuess }: Pick<FailedRun, "isOnGuess">,
  { base, failures }: Pick<KnownOfTest, "base" | "failures">,
  firstId: string,
): boolean {
  if (isOnGuess) return false;
  const onBase = failures.filter((one) => one.isOnBase && (one.isSameJob || !isClean(base)));
  return base.latest?.hasFailed === true ||
    areSeen(causes, onBase.filter((one) => one.submissionId >= firstId));
}

function neverFailed({ runCount, failedCount }: BaseRuns): boolean {
  return runCount >= MIN_CLEAN_RUNS && failedCount === 0;
}

/** Whether the test is clean in this job and environment: what it does in others is no sign of a failure here. */
function isClean(base: BaseRuns): boolean {
  return base.isOfJob && neverFailed(base);
}

/**
 * Whether each cause of a failure was seen in an earlier one. One that is new, as that of the last attempt may be, is
 * enough for the failure not to be the same.
 */
function areSeen(causes: readonly string[], failures: readonly EarlierFailure[]): boolean {
  return causes.length > 0 &&
    causes.every((cause) => failures.some((one) => one.causes.includes(cause)));
}

/** A failure in another run, as far as it says of which change it is. */
export type FailureOfOther = Pick<
  EarlierFailure,
  "causes" | "branch" | "pullNumber" | "isOfBase" | "isOnBase"
>;

/**
 * The causes with which others fail too, so that they are not due to the change of a run. For a run on the base branch
 * these are causes of the base branch itself, or of more than one other change: that of one may have come to the base
 * branch with its merge. A rejected group of a merge queue has changes of others in it.
 */
export function causesOfOthers(
  failures: readonly FailureOfOther[],
  run: Pick<FailedRun, "isOnBase" | "pullNumber">,
): Set<string> {
  if (!run.isOnBase) return new Set(failures.flatMap(({ causes }) => causes));
  const single = failures.flatMap(({ causes, ...one }) =>
    causes.map((cause) => ({ ...one, cause }))
  );
  const byCause = Map.groupBy(single, ({ cause }) => cause);
  return new Set(
    byCause.keys().filter((cause) => isSeenBeyondOneChange(byCause.get(cause)!, run)),
  );
}

function isSeenBeyondOneChange(
  failures: readonly Omit<FailureOfOther, "causes">[],
  { pullNumber }: Pick<FailedRun, "pullNumber">,
): boolean {
  if (failures.some(({ isOnBase }) => isOnBase)) return true;
  const others = failures.filter(({ isOfBase }) => !isOfBase);
  const numbers = new Map(
    others.flatMap((one) => one.pullNumber === null ? [] : [[one.branch, one.pullNumber]]),
  );
  const changes = new Set(others.map(({ branch }) => numbers.get(branch) ?? branch));
  // In a merge queue another pull request is known to be another change.
  const isOther = pullNumber !== null && changes.values().some((one) => typeof one === "number");
  return isOther || changes.size > 1;
}

/** Evidence, with the facts that are said about it. */
export interface Finding {
  evidence: Evidence;
  /** The submission that it rests on, `null` without one. */
  restsOn: KnownRun | null;
  /** Runs on the base branch. */
  baseRunCount: number;
  /** How many of them failed: with a cause of this failure, where the evidence is about causes. */
  baseFailedCount: number;
}

/**
 * The evidence for a failure.
 *
 * @param causes fingerprints of its causes, without unknown ones
 * @param lately the causes of others in the 24 hours before, as {@linkcode causesOfOthers}
 */
export function findEvidence(
  causes: readonly string[],
  run: FailedRun,
  known: KnownOfTest,
  lately: ReadonlySet<string>,
): Finding {
  const { passedIn, base, before } = known;
  // What is only a guess is no base branch for its own runs.
  const given = run.isOnGuess
    ? known.failures.map((one) => ({ ...one, isOfBase: false, isOnBase: false }))
    : known.failures;
  // A run that does not know its branch cannot tell which of the others it is.
  const failures = run.branch === "" ? given.filter(({ isOnBase }) => isOnBase) : given;
  const own = new Set(causes);
  const isAlike = (failure: EarlierFailure) => failure.causes.some((cause) => own.has(cause));
  const alike = failures.filter((one) => isAlike(one) && !one.isSameCode);
  const alikeOnBase = alike.filter(({ isOnBase }) => isOnBase);
  const counted = alike.filter(({ isCounted }) => isCounted);
  const alikeCount = counted.length;
  const find = (evidence: Evidence, restsOn: KnownRun | null, failedCount: number): Finding => ({
    evidence,
    restsOn,
    baseRunCount: base.runCount,
    baseFailedCount: failedCount,
  });
  if (passedIn) return find("passed_here", passedIn, alikeCount);
  // An unknown branch may be this one.
  const elsewhere = alike.filter(({ branch, isSamePull, isOnBase, isSameJob }) =>
    (isOnBase || branch !== "" && branch !== run.branch && !isSamePull) &&
    (isSameJob || !isClean(base))
  );
  const seen = causesOfOthers(elsewhere, run);
  const isSeen = causes.length > 0 && causes.every((cause) => seen.has(cause));
  const latest = isSeen && base.latest?.hasFailed &&
    alike.find(({ submissionId }) => submissionId === base.latest!.submissionId);
  if (latest) return find("fails_on_base", latest, alikeCount);
  const isNewHere = !causes.some((cause) => lately.has(cause));
  if (run.massFailure === "outage") {
    // What others did not have is no part of it; an unknown cause may be.
    if (causes.every((cause) => lately.has(cause))) return find("outage", null, base.failedCount);
  } else if (run.massFailure === "together" || run.failedTestCount >= MIN_TOGETHER && isNewHere) {
    return find("together", null, base.failedCount);
  }
  const failedBefore = before !== null &&
    failures.some((one) => one.submissionId === before.submissionId && isAlike(one));
  if (isSeen && !failedBefore) {
    // Those that are counted say most, then others on the base branch.
    const restsOn = counted.at(-1) ?? alikeOnBase.at(-1) ?? elsewhere.at(-1)!;
    return find("seen_elsewhere", restsOn, alikeCount);
  }
  const others = failures.filter(({ isSameCode }) => !isSameCode);
  if (others.length > 0 && !areSeen(causes, failures)) {
    return find("new_cause", others.at(-1)!, base.failedCount);
  }
  if (base.runCount === 0) return find("new_test", null, 0);
  if (neverFailed(base)) return find("first", null, 0);
  return find("few", (alike.at(-1) ?? others.at(-1)) ?? null, base.failedCount);
}

/** A submission on the base branch. */
interface BaseRun extends Run<"results" | "isOutage"> {
  /** Whether it is of the job and the environment of the failure in question. */
  isSameJob: boolean;
  isSameCode: boolean;
}

export const NO_BASE_RUNS: BaseRuns = {
  runCount: 0,
  failedCount: 0,
  isOfJob: false,
  latest: null,
};

/**
 * The runs of tests on the base branch by test_no: of the same job in the same environment, or all if
 * it has none there. A skipped test did not run, and a run with one failed attempt has failed.
 *
 * Passes are counted by lists of tests, not one by one: hundreds of tests in a thousand runs take 3 ms.
 *
 * @param runs newest first
 */
export function countBaseRuns(
  runs: readonly BaseRun[],
  { selected, implied = NO_IMPLIED_PASSES }: {
    selected: SelectedTests;
    /** Of the set-ups among the tests. */
    implied?: ImpliedPasses;
  },
): Map<number, BaseRuns> {
  const runsOfJob = runs.filter(({ isSameJob }) => isSameJob);
  const otherRuns = runs.filter(({ isSameJob }) => !isSameJob);
  const ofJob = countRuns(runsOfJob, { selected, implied });
  const ofOthers = countRuns(otherRuns, { selected, implied });
  const found = new Map<number, BaseRuns>();
  const isOfJob = new Set<number>();
  for (const [place, testNo] of selected.testNos.entries()) {
    if (ofJob.runCounts[place]! > 0) isOfJob.add(testNo);
    const ofTest = { isOfJob: isOfJob.has(testNo), latest: null };
    const { runCounts, failedCounts } = ofTest.isOfJob ? ofJob : ofOthers;
    const runCount = runCounts[place]!;
    if (runCount === 0) continue;
    found.set(testNo, { runCount, failedCount: failedCounts[place]!, ...ofTest });
  }
  addLatest(found, runsOfJob, { testNos: isOfJob, selected, implied });
  const others = [...found.keys()].filter((testNo) => !isOfJob.has(testNo));
  addLatest(found, otherRuns, { testNos: others, selected, implied });
  return found;
}

/** How often tests ran and failed, by their places. */
function countRuns(
  runs: readonly BaseRun[],
  { selected, implied }: { selected: SelectedTests; implied: ImpliedPasses },
): { runCounts: Int32Array; failedCounts: Int32Array } {
  const runCounts = new Int32Array(selected.testNos.length);
  const failedCounts = new Int32Array(selected.testNos.length);
  const byList = Map.groupBy(runs, ({ results }) => results.tests);
  for (const [tests, { length }] of byList) {
    for (const index of selected.indexesIn(tests)) {
      runCounts[selected.placeOf(tests.testNos[index]!)]! += length;
    }
  }
  for (const { results } of runs) {
    results.eachExceptionOf(selected, (testNo, { counts: { positive, negative } }) => {
      const place = selected.placeOf(testNo);
      if (negative > 0) failedCounts[place]!++;
      else if (positive === 0) runCounts[place]!--;
    });
    for (const testNo of implied.in(results)) runCounts[selected.placeOf(testNo)]!++;
  }
  return { runCounts, failedCounts };
}

/** Adds the latest run of each test, at other code and in no outage. */
function addLatest(
  found: ReadonlyMap<number, BaseRuns>,
  runs: readonly BaseRun[],
  { testNos, selected, implied }: {
    testNos: Iterable<number>;
    /** These, and perhaps others. */
    selected: SelectedTests;
    implied: ImpliedPasses;
  },
): void {
  const missing = new Set(testNos);
  let wanted = selected;
  for (const { submissionId, isSameCode, isOutage, results } of runs) {
    if (missing.size === 0) return;
    if (isSameCode || isOutage) continue;
    // Most are in the first run; to look for few among all would take as long for each of the others.
    if (missing.size * 2 < wanted.testNos.length) wanted = new SelectedTests(missing);
    const add = (testNo: number, hasFailed: boolean) => {
      if (missing.delete(testNo)) {
        found.get(testNo)!.latest = { submissionId, hasFailed };
      }
    };
    results.each(wanted, (testNo, { counts: { positive, negative } }) => {
      if (positive + negative > 0) add(testNo, negative > 0);
    });
    for (const testNo of implied.in(results)) add(testNo, false);
  }
}
