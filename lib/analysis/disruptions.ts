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
export interface ProcessedSubmission {
  /** 24 hex digits; ids sort like time. */
  submissionId: string;
  commitOid: string;
  buildUrl: string;
  /** Whether a test passed at least once in this submission. */
  hasPositive(testNo: number): boolean;
}

/** A failure or error at the code version. */
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

/**
 * Finds the tests that failed and passed at a code version, from all of its processed submissions
 * and the negative results of the tests in question. Their disruptions are in order.
 */
export function findDisruptions(
  submissions: ProcessedSubmission[],
  negatives: NegativeResult[],
): { test: DisruptiveTest; disruptions: NegativeResult[] }[] {
  const latestFirst = submissions.toSorted((a, b) => compareIds(b.submissionId, a.submissionId));
  return [...Map.groupBy(negatives, ({ testNo }) => testNo)].flatMap(([testNo, own]) => {
    const positive = latestFirst.find((submission) => submission.hasPositive(testNo));
    if (!positive) return [];
    const disruptions = own.toSorted((a, b) =>
      compareIds(a.submissionId, b.submissionId) || a.resultNo - b.resultNo
    );
    const [first, latest] = [disruptions[0]!, disruptions.at(-1)!];
    const submission = submissions.find((one) => one.submissionId === latest.submissionId)!;
    const test: DisruptiveTest = {
      testNo,
      firstDisruptionAt: recordedAtOf(first.submissionId),
      latestSubmissionId: latest.submissionId,
      latestResultNo: latest.resultNo,
      latestCommitOid: submission.commitOid,
      latestBuildUrl: submission.buildUrl,
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
export type PrunedFields = Partial<DisruptiveTest> & Pick<DisruptiveTest, "testNo">;

/**
 * Merges the fields from pruned submissions with those from stored results. Without stored
 * results, a test with a known first or latest disruption stays disruptive, with `""` for unknown
 * fields; any other is no longer disruptive.
 */
export function mergePrunedFields(
  known: DisruptiveTest | undefined,
  pruned: PrunedFields,
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

function compareIds(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
