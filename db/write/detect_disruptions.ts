import {
  codeVersionOf,
  isNondeterministic,
  judge,
  mergeVerdict,
  type Negative,
  type SubmissionOutcomes,
} from "../../lib/analysis/code_version.ts";
import { outcomesAt } from "../../lib/analysis/columns.ts";
import {
  indexOfTest,
  type NegativeResult,
  type SubmissionContent,
} from "../../lib/analysis/submission_content.ts";
import {
  loadDisruptiveTests,
  loadNegatives,
  loadOutcomes,
  markDisruptions,
  storeDisruptiveTests,
} from "./code_versions.ts";
import type { Queryable } from "../connection/sql.ts";
import { testNosByHash } from "./test_lists.ts";

/** A submission that is about to be stored. */
export interface NewSubmission {
  /** 24 hex digits. */
  id: string;
  commitOid: string;
  treeOid: string | null;
  buildUrl: string;
  content: SubmissionContent;
}

/** A negative result as it is to be stored. */
export type JudgedNegative = Negative & Pick<NegativeResult, "conclusion">;

/**
 * Judges a new submission together with the earlier ones of its code version: marks their negative
 * results that it turns into disruptions, stores what is now known of the tests concerned, and
 * returns the new submission's own negative results, judged.
 *
 * Runs before the submission is stored, so that its rows are written once and not changed at once.
 */
export async function judgeSubmission(
  tx: Queryable,
  repositoryId: number,
  submission: NewSubmission,
): Promise<JudgedNegative[]> {
  const scope = {
    repositoryId,
    codeVersion: codeVersionOf({ ...submission, submissionId: submission.id }),
  };
  const own = await ownNegatives(tx, repositoryId, submission);
  const earlier = await loadNegatives(tx, scope);
  const places = placesConcerned(submission.content, [...own, ...earlier]);
  const outcomes = outcomesAt(submission.content.exceptions, places.values());
  const passes = (testNo: number) => (outcomes.get(places.get(testNo) ?? -1)?.positive ?? 0) > 0;
  const concerned = new Set([
    ...own.map(({ testNo }) => testNo),
    ...earlier.map(({ testNo }) => testNo).filter(passes),
  ]);
  if (concerned.size === 0) return own;

  const submissions: SubmissionOutcomes[] = [
    ...await loadOutcomes(tx, {
      repositoryId,
      codeVersions: [scope.codeVersion],
      testNos: concerned,
    }),
    { ...submission, submissionId: submission.id, hasPositive: passes },
  ];
  const negatives = [...own, ...earlier.filter(({ testNo }) => concerned.has(testNo))];
  const verdicts = judge(submissions, negatives).filter(isNondeterministic);
  const disruptions = verdicts.flatMap((verdict) => verdict.negatives);
  await markDisruptions(tx, {
    repositoryId,
    negatives: disruptions.filter(({ submissionId, isDisruption }) =>
      !isDisruption && submissionId !== submission.id
    ),
    isDisruption: true,
  });
  const known = await loadDisruptiveTests(tx, {
    repositoryId,
    testNos: verdicts.map(({ testNo }) => testNo),
  });
  const byId = new Map(submissions.map((each) => [each.submissionId, each]));
  await storeDisruptiveTests(tx, {
    repositoryId,
    tests: verdicts.map((verdict) => mergeVerdict(known.get(verdict.testNo), verdict, byId)),
  });
  const guilty = new Set<Negative>(disruptions);
  return own.map((negative) => ({ ...negative, isDisruption: guilty.has(negative) }));
}

/** Tests that one statement looks up. */
const TESTS_PER_STATEMENT = 2_000;

async function ownNegatives(
  tx: Queryable,
  repositoryId: number,
  { id, content }: NewSubmission,
): Promise<(JudgedNegative & { testHash: number })[]> {
  const hashes = [...new Set(content.negatives.map(({ testHash }) => testHash))];
  const testNos = new Map<number, number>();
  for (let start = 0; start < hashes.length; start += TESTS_PER_STATEMENT) {
    const batch = hashes.slice(start, start + TESTS_PER_STATEMENT);
    for (const [hash, testNo] of await testNosByHash(tx, repositoryId, batch)) {
      testNos.set(hash, testNo);
    }
  }
  return content.negatives.map(({ testHash, resultNo, conclusion, message }) => ({
    submissionId: id,
    testHash,
    testNo: testNos.get(testHash)!,
    resultNo,
    conclusion,
    message,
    isDisruption: false,
  }));
}

/** Where in the new submission's list the tests of these negatives stand, by test_no. */
function placesConcerned(
  content: SubmissionContent,
  negatives: { testHash: number; testNo: number }[],
): Map<number, number> {
  const places = new Map<number, number>();
  for (const { testHash, testNo } of negatives) {
    const place = indexOfTest(content.testHashes, testHash);
    if (place !== -1) places.set(testNo, place);
  }
  return places;
}
