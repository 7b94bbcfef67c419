/**
 * Which results of one code version are disruptions.
 *
 * A test is nondeterministic at a code version when it has both a positive and a negative result
 * there; then every negative result of it there is a disruption. The verdict of a new submission
 * needs only the negatives at its code version and what ran beside them, never the history.
 */
import { firstSubmissionId, recordedAtOf } from "../base/identity.ts";

/**
 * Identifies the code that a submission ran: the git tree, else the commit. The same tree under two
 * commits is the same code. A commit that is not 7 to 64 hex digits (`HEAD`, `main`, `null`)
 * identifies nothing, and the submission is a code version of its own.
 */
export function codeVersionOf(
  { treeOid, commitOid, submissionId }: {
    treeOid: string | null;
    commitOid: string;
    submissionId: string;
  },
): string {
  // The generated column submission.code_version is the same.
  if (treeOid !== null) return `tree:${treeOid}`;
  return /^[0-9a-f]{7,64}$/i.test(commitOid) ? `commit:${commitOid}` : `submission:${submissionId}`;
}

/** One processed submission of the code version. */
export interface SubmissionOutcomes {
  /** 24 hex digits; ids sort like time. */
  submissionId: string;
  commitOid: string;
  buildUrl: string;
  /** Whether a test passed at least once in this submission. */
  hasPositive(testNo: number): boolean;
}

/** A failure or error at the code version. */
export interface Negative {
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

/** What is true of one test at one code version. */
export interface Verdict {
  testNo: number;
  /** All its negative results there: disruptions when it is nondeterministic. */
  negatives: Negative[];
  /** Its latest positive result there, `null` when there is none. */
  latestPositive: SubmissionOutcomes | null;
}

/** What is true of a test that is nondeterministic at a code version. */
export type Nondeterministic = Verdict & { latestPositive: SubmissionOutcomes };

/** Whether a test that failed at a code version passed there as well. */
export function isNondeterministic(verdict: Verdict): verdict is Nondeterministic {
  return verdict.latestPositive !== null;
}

/**
 * Judges the tests that failed at a code version by all of its submissions.
 *
 * @param submissions all processed submissions of the code version
 * @param negatives the negative results of the tests to judge, of all these submissions
 */
export function judgeTests(submissions: SubmissionOutcomes[], negatives: Negative[]): Verdict[] {
  const latestFirst = submissions.toSorted((a, b) => compareIds(b.submissionId, a.submissionId));
  return [...Map.groupBy(negatives, (negative) => negative.testNo)].map(([testNo, own]) => ({
    testNo,
    negatives: own,
    latestPositive: latestFirst.find((submission) => submission.hasPositive(testNo)) ?? null,
  }));
}

/** Adds what a code version says of a nondeterministic test to what is known from others. */
export function mergeVerdict(
  known: DisruptiveTest | undefined,
  verdict: Nondeterministic,
  submissions: Map<string, Pick<SubmissionOutcomes, "commitOid" | "buildUrl">>,
): DisruptiveTest {
  const inOrder = verdict.negatives.toSorted(compareNegatives);
  const first = inOrder[0]!;
  const latest = inOrder.at(-1)!;
  const positive = verdict.latestPositive;
  const submission = submissions.get(latest.submissionId)!;
  const here: DisruptiveTest = {
    testNo: verdict.testNo,
    firstDisruptionAt: recordedAtOf(first.submissionId),
    latestSubmissionId: latest.submissionId,
    latestResultNo: latest.resultNo,
    latestCommitOid: submission.commitOid,
    latestBuildUrl: submission.buildUrl,
    latestMessage: latest.message,
    positiveSubmissionId: positive.submissionId,
    positiveBuildUrl: positive.buildUrl,
  };
  return known ? mergeDisruptive(known, here) : here;
}

/** What two sources together say of a disruptive test. */
function mergeDisruptive(known: DisruptiveTest, here: DisruptiveTest): DisruptiveTest {
  const merged = { ...known };
  merged.firstDisruptionAt = Math.min(known.firstDisruptionAt, here.firstDisruptionAt);
  const later = compareIds(here.latestSubmissionId, known.latestSubmissionId) ||
    here.latestResultNo - known.latestResultNo;
  if (later > 0) {
    merged.latestSubmissionId = here.latestSubmissionId;
    merged.latestResultNo = here.latestResultNo;
    merged.latestCommitOid = here.latestCommitOid;
    merged.latestBuildUrl = here.latestBuildUrl;
    merged.latestMessage = here.latestMessage;
  }
  if (here.positiveSubmissionId > known.positiveSubmissionId) {
    merged.positiveSubmissionId = here.positiveSubmissionId;
    merged.positiveBuildUrl = here.positiveBuildUrl;
  }
  return merged;
}

/** What is known of a disruptive test that no stored result tells any more: some of its fields. */
export type Remembered = Partial<DisruptiveTest> & Pick<DisruptiveTest, "testNo">;

/**
 * Adds what is remembered to what stored results say of a test. Where they say nothing, a test
 * whose first or latest disruption is remembered stays disruptive, with `""` for what is forgotten;
 * any other is so no more.
 */
export function mergeRemembered(
  known: DisruptiveTest | undefined,
  remembered: Remembered,
): DisruptiveTest | undefined {
  if (known) return mergeDisruptive(known, { ...known, ...remembered });
  const { firstDisruptionAt, latestSubmissionId: latest } = remembered;
  const at = firstDisruptionAt ?? (latest === undefined ? undefined : recordedAtOf(latest));
  if (at === undefined) return undefined;
  return {
    firstDisruptionAt: at,
    latestSubmissionId: firstSubmissionId(at),
    latestResultNo: 0,
    latestCommitOid: "",
    latestBuildUrl: "",
    latestMessage: "",
    positiveSubmissionId: firstSubmissionId(at),
    positiveBuildUrl: "",
    ...remembered,
  };
}

function compareNegatives(a: Negative, b: Negative): number {
  return compareIds(a.submissionId, b.submissionId) || a.resultNo - b.resultNo;
}

function compareIds(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
