/**
 * Detection of disruptions. A code version (`submission.code_version`) is a git tree, otherwise a commit, in
 * one environment and one job of one workflow; a commit that is not 7 to 64 hex digits (`HEAD`, `null`)
 * identifies nothing, and its submission is a code version of its own. A test is nondeterministic where it has
 * a positive and a negative result of which one repeats the other, by the rules in `repetition/`; then each of
 * its negative results there is a disruption. This needs the submissions of one code version, never the history.
 */
import { firstSubmissionId, recordedAtOf } from "../base/identity.ts";
import { compareTexts } from "../base/text.ts";
import { forEachException } from "./columns.ts";
import { ImpliedPasses, type SetUpGroup } from "./repetition/implied_passes.ts";
import { findLegs, type RepeatedRun, repeats } from "./repetition/submissions.ts";
import { type Run, SelectedTests } from "./run.ts";

/** A run at a code version, with how its tests ended. */
export type VersionRun = RepeatedRun & Run<"commitOid" | "tests" | "results">;

/** What the rules of repetition want to know about tests. */
export interface TestFacts {
  /** As {@linkcode mayMoveToShard} says. */
  hasFile(testNo: number): boolean;
  /** The file, class or suite of a case that stands for a set-up; `undefined` for every other test. */
  setUpOf(testNo: number): SetUpGroup | undefined;
}

export interface NegativeResult {
  submissionId: string;
  resultNo: number;
  testNo: number;
  message: string;
  isDisruption: boolean;
}

/** The first and the latest disruption of a test, and its latest pass where it is nondeterministic. */
export interface DisruptiveTest {
  testNo: number;
  /** Seconds since 1970. */
  firstDisruptionAt: number;
  latestSubmissionId: string;
  latestResultNo: number;
  latestCommitOid: string;
  latestBuildUrl: string;
  latestMessage: string;
  positiveSubmissionId: string;
  positiveBuildUrl: string;
}

/** Whether a test of a submission failed and passed in it, from its encoded exceptions. */
export function hasFailedAndPassed(exceptions: Uint8Array): boolean {
  let found = false;
  forEachException(exceptions, (_index, { counts }) => {
    found = counts.negative > 0 && counts.positive > 0;
    return !found;
  });
  return found;
}

/**
 * Finds the tests that are nondeterministic at a code version, from all of its runs and the negative results
 * of the tests in question. Their disruptions are in order.
 */
export function findDisruptions(
  runs: readonly VersionRun[],
  negatives: readonly NegativeResult[],
  facts: TestFacts,
  /** Whether one run can repeat another: not where legs are unnamed. */
  { provesBetween = findLegs(runs) === null }: { provesBetween?: boolean } = {},
): { test: DisruptiveTest; disruptions: NegativeResult[] }[] {
  const failedIn = new Map<number, Set<string>>();
  for (const { testNo, submissionId } of negatives) {
    const own = failedIn.get(testNo) ?? new Set();
    failedIn.set(testNo, own.add(submissionId));
  }
  const passedIn = findPasses(runs, failedIn.keys(), facts);
  const isProved = (testNo: number) => {
    const failed = failedIn.get(testNo)!;
    const passed = passedIn.get(testNo) ?? [];
    if (passed.some(({ submissionId }) => failed.has(submissionId))) return true;
    if (!provesBetween || passed.length === 0) return false;
    const hasFile = facts.hasFile(testNo);
    const others = distinctRuns(passed);
    return distinctRuns(runs.filter(({ submissionId }) => failed.has(submissionId)))
      .some((run) => others.some((other) => repeats(run, other, { hasFile })));
  };
  const proved = new Set(failedIn.keys().filter(isProved));
  return describeDisruptions(runs, negatives.filter(({ testNo }) => proved.has(testNo)), facts);
}

/** One of all runs that repeat the same others. */
function distinctRuns(runs: readonly VersionRun[]): VersionRun[] {
  const key = ({ buildUrl, shard, attempt }: VersionRun) => `${attempt}\0${shard}\0${buildUrl}`;
  return [...new Map(runs.map((run) => [key(run), run])).values()];
}

/** The runs in which tests passed, earliest first; the pass of a set-up is implied. */
function findPasses(
  runs: readonly VersionRun[],
  testNos: Iterable<number>,
  { setUpOf }: TestFacts,
): Map<number, VersionRun[]> {
  const wanted = [...testNos];
  const implied = new ImpliedPasses(wanted, setUpOf);
  const selected = new SelectedTests(wanted);
  const found = new Map<number, VersionRun[]>();
  for (const run of runs.toSorted((a, b) => compareTexts(a.submissionId, b.submissionId))) {
    const passed = new Set(implied.in(run.results));
    run.results.each(selected, (testNo, { counts }) => {
      if (counts.positive > 0) passed.add(testNo);
    });
    for (const testNo of wanted) {
      if (!passed.has(testNo)) continue;
      const own = found.get(testNo);
      if (own) own.push(run);
      else found.set(testNo, [run]);
    }
  }
  return found;
}

/** The disruptive tests of negative results that are disruptions. */
export function describeDisruptions(
  runs: readonly VersionRun[],
  negatives: readonly NegativeResult[],
  facts: TestFacts,
): { test: DisruptiveTest; disruptions: NegativeResult[] }[] {
  const negativesOf = Map.groupBy(negatives, ({ testNo }) => testNo);
  const passedIn = findPasses(runs, negativesOf.keys(), facts);
  return [...negativesOf].flatMap(([testNo, own]) => {
    const positive = passedIn.get(testNo)?.at(-1);
    if (!positive) return [];
    const disruptions = own.toSorted((a, b) =>
      compareTexts(a.submissionId, b.submissionId) || a.resultNo - b.resultNo
    );
    const [first, latest] = [disruptions[0]!, disruptions.at(-1)!];
    const run = runs.find((one) => one.submissionId === latest.submissionId)!;
    const test: DisruptiveTest = {
      testNo,
      firstDisruptionAt: recordedAtOf(first.submissionId),
      latestSubmissionId: latest.submissionId,
      latestResultNo: latest.resultNo,
      latestCommitOid: run.commitOid,
      latestBuildUrl: run.buildUrl,
      latestMessage: latest.message,
      positiveSubmissionId: positive.submissionId,
      positiveBuildUrl: positive.buildUrl,
    };
    return [{ test, disruptions }];
  });
}

/** The first disruption, the latest, and the latest positive result of both. */
export function mergeDisruptive(
  known: DisruptiveTest | undefined,
  here: DisruptiveTest,
): DisruptiveTest {
  if (!known) return here;
  const order = compareTexts(here.latestSubmissionId, known.latestSubmissionId) ||
    here.latestResultNo - known.latestResultNo;
  const { positiveSubmissionId, positiveBuildUrl } =
    here.positiveSubmissionId > known.positiveSubmissionId ? here : known;
  return {
    ...(order > 0 ? here : known),
    firstDisruptionAt: Math.min(known.firstDisruptionAt, here.firstDisruptionAt),
    positiveSubmissionId,
    positiveBuildUrl,
  };
}

/**
 * A disruptive test after the deletion of a submission. `before` and `after` were found in what is stored
 * with and without it. Fields that differ from `before` come from pruned submissions and are kept; of a
 * test that was disruptive in pruned submissions only, unknown ones are `""`.
 */
export function withoutSubmission(
  test: DisruptiveTest,
  before: DisruptiveTest | undefined,
  after: DisruptiveTest | undefined,
): DisruptiveTest | undefined {
  const { testNo, firstDisruptionAt, positiveSubmissionId, positiveBuildUrl, ...latest } = test;
  const isFirstPruned = before === undefined || firstDisruptionAt < before.firstDisruptionAt;
  const isLatestPruned = latest.latestSubmissionId !== before?.latestSubmissionId ||
    latest.latestResultNo !== before.latestResultNo;
  const kept = {
    ...isFirstPruned && { firstDisruptionAt },
    ...isLatestPruned && latest,
    ...positiveSubmissionId !== before?.positiveSubmissionId &&
      { positiveSubmissionId, positiveBuildUrl },
  };
  if (after) return mergeDisruptive(after, { ...after, ...kept });
  if (!isFirstPruned && !isLatestPruned) return undefined;
  const first = isFirstPruned ? firstDisruptionAt : recordedAtOf(latest.latestSubmissionId);
  return {
    testNo,
    firstDisruptionAt: first,
    latestSubmissionId: firstSubmissionId(first),
    latestResultNo: 0,
    latestCommitOid: "",
    latestBuildUrl: "",
    latestMessage: "",
    positiveSubmissionId: firstSubmissionId(first),
    positiveBuildUrl: "",
    ...kept,
  };
}
