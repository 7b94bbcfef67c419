import {
  codeVersionOf,
  isNondeterministic,
  judgeTests,
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
import { testNosByHash } from "./tests.ts";

/** A submission before it is stored. */
export interface NewSubmission {
  /** 24 hex digits. */
  id: string;
  commitOid: string;
  treeOid: string | null;
  buildUrl: string;
  content: SubmissionContent;
}

/** A negative result as it is stored. */
export type StoredNegative = Negative & Pick<NegativeResult, "conclusion">;

/**
 * Detects the disruptions of a code version with a new submission: marks earlier negative results that
 * it turns into disruptions, updates the disruptive tests, and returns the negative results of the
 * submission. Runs before these are stored, so that each row is written once.
 */
export async function detectDisruptions(
  tx: Queryable,
  repositoryId: number,
  submission: NewSubmission,
): Promise<StoredNegative[]> {
  const scope = {
    repositoryId,
    codeVersion: codeVersionOf({ ...submission, submissionId: submission.id }),
  };
  const own = await ownNegatives(tx, repositoryId, submission);
  const earlier = await loadNegatives(tx, scope);
  const indexes = indexesOf(submission.content, [...own, ...earlier]);
  const outcomes = outcomesAt(submission.content.exceptions, indexes.values());
  const passes = (testNo: number) => (outcomes.get(indexes.get(testNo) ?? -1)?.positive ?? 0) > 0;
  const affected = new Set([
    ...own.map(({ testNo }) => testNo),
    ...earlier.map(({ testNo }) => testNo).filter(passes),
  ]);
  if (affected.size === 0) return own;

  const submissions: SubmissionOutcomes[] = [
    ...await loadOutcomes(tx, {
      repositoryId,
      codeVersions: [scope.codeVersion],
      testNos: affected,
    }),
    { ...submission, submissionId: submission.id, hasPositive: passes },
  ];
  const negatives = [...own, ...earlier.filter(({ testNo }) => affected.has(testNo))];
  const verdicts = judgeTests(submissions, negatives).filter(isNondeterministic);
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
  const isDisruption = new Set<Negative>(disruptions);
  return own.map((negative) => ({ ...negative, isDisruption: isDisruption.has(negative) }));
}

/** Tests looked up by one statement. */
const TESTS_PER_STATEMENT = 2_000;

async function ownNegatives(
  tx: Queryable,
  repositoryId: number,
  { id, content }: NewSubmission,
): Promise<(StoredNegative & { testHash: number })[]> {
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

/** The indexes of tests in the new submission's list, by test_no. */
function indexesOf(
  content: SubmissionContent,
  negatives: { testHash: number; testNo: number }[],
): Map<number, number> {
  const indexes = new Map<number, number>();
  for (const { testHash, testNo } of negatives) {
    const index = indexOfTest(content.testHashes, testHash);
    if (index !== -1) indexes.set(testNo, index);
  }
  return indexes;
}
