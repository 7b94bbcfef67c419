/**
 * Detection of disruptions. A test is nondeterministic at a code version when it has both a positive and
 * a negative result there; then each of its negative results there is a disruption. This needs the
 * submissions of one code version, never the history.
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

/** The results of one test at one code version. */
export interface Verdict {
  testNo: number;
  /** Disruptions when the test is nondeterministic. */
  negatives: Negative[];
  /** The submission of its latest positive result; `null` when there is none. */
  latestPositive: SubmissionOutcomes | null;
}

/** A verdict of a nondeterministic test. */
export type Nondeterministic = Verdict & { latestPositive: SubmissionOutcomes };

/** Whether a test that failed at a code version also passed there. */
export function isNondeterministic(verdict: Verdict): verdict is Nondeterministic {
  return verdict.latestPositive !== null;
}

/**
 * Finds out, for tests that failed at a code version, whether and where they passed.
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

/** Merges the verdict of a code version into what is known of a disruptive test. */
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

/** The first, latest and latest positive of both. */
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

/** Fields of a disruptive test that come from pruned submissions. */
export type PrunedFacts = Partial<DisruptiveTest> & Pick<DisruptiveTest, "testNo">;

/**
 * Merges what comes from pruned submissions into what stored results say of a test. Without stored
 * results, a test with a known first or latest disruption stays disruptive, with `""` for unknown
 * fields; any other is not disruptive any more.
 */
export function mergePrunedFacts(
  known: DisruptiveTest | undefined,
  pruned: PrunedFacts,
): DisruptiveTest | undefined {
  if (known) return mergeDisruptive(known, { ...known, ...pruned });
  const { firstDisruptionAt, latestSubmissionId: latest } = pruned;
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
    ...pruned,
  };
}

function compareNegatives(a: Negative, b: Negative): number {
  return compareIds(a.submissionId, b.submissionId) || a.resultNo - b.resultNo;
}

function compareIds(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
