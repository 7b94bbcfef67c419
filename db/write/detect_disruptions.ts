import {
  codeVersionOf,
  findDisruptions,
  mergeDisruptive,
  type NegativeResult,
  type ProcessedSubmission,
} from "../../lib/analysis/disruptions.ts";
import { resultCountsAt } from "../../lib/analysis/columns.ts";
import { indexOfTest, type SubmissionContent } from "../../lib/analysis/submission_content.ts";
import {
  loadDisruptiveTests,
  loadNegatives,
  loadProcessedSubmissions,
  markDisruptions,
  storeDisruptiveTests,
} from "./code_versions.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
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

/** A failure or error of the new submission. */
export interface NewNegative extends NegativeResult {
  conclusion: "failure" | "error";
  textId: string;
  fingerprint: string;
}

/**
 * Detects the disruptions of a code version with a new submission: marks earlier negative results that
 * it turns into disruptions, updates the disruptive tests, and returns the negative results of the
 * submission and the tests that were never disruptive before. Runs before the results are stored, so
 * that each row is written once.
 */
export async function detectDisruptions(
  tx: Queryable,
  repositoryId: number,
  submission: NewSubmission,
): Promise<{ negatives: NewNegative[]; newlyDisruptive: TestIdentity[] }> {
  const codeVersion = codeVersionOf({ ...submission, submissionId: submission.id });
  const own = await ownNegatives(tx, repositoryId, submission);
  const earlier = await loadNegatives(tx, { repositoryId, codeVersion });
  const indexes = indexesOf(submission.content, [...own, ...earlier]);
  const outcomes = resultCountsAt(submission.content.exceptions, indexes.values());
  const passes = (testNo: number) => (outcomes.get(indexes.get(testNo) ?? -1)?.positive ?? 0) > 0;
  const affected = new Set([
    ...own.map(({ testNo }) => testNo),
    ...earlier.map(({ testNo }) => testNo).filter(passes),
  ]);
  if (affected.size === 0) return { negatives: own, newlyDisruptive: [] };

  const submissions: ProcessedSubmission[] = [
    ...await loadProcessedSubmissions(tx, {
      repositoryId,
      codeVersions: [codeVersion],
      testNos: affected,
    }),
    { ...submission, submissionId: submission.id, hasPositive: passes },
  ];
  const negatives = [...own, ...earlier.filter(({ testNo }) => affected.has(testNo))];
  const found = findDisruptions(submissions, negatives);
  const disruptions = new Set(found.flatMap((test) => test.disruptions));
  await markDisruptions(tx, {
    repositoryId,
    negatives: earlier.filter((negative) => disruptions.has(negative) && !negative.isDisruption),
    isDisruption: true,
  });
  const testNos = found.map(({ test }) => test.testNo);
  const known = await loadDisruptiveTests(tx, { repositoryId, testNos });
  const tests = found.map(({ test }) => mergeDisruptive(known.get(test.testNo), test));
  await storeDisruptiveTests(tx, { repositoryId, tests });
  return {
    negatives: own.map((negative) => ({ ...negative, isDisruption: disruptions.has(negative) })),
    newlyDisruptive: testNos.filter((testNo) => !known.has(testNo))
      .map((testNo) => submission.content.identityAt(indexes.get(testNo)!)),
  };
}

async function ownNegatives(
  tx: Queryable,
  repositoryId: number,
  { id, content }: NewSubmission,
): Promise<(NewNegative & { testHash: number })[]> {
  const hashes = new Set(content.negatives.map(({ testHash }) => testHash));
  const testNos = await testNosByHash(tx, repositoryId, hashes);
  return content.negatives.map(({ testHash, resultNo, conclusion, textNo }) => {
    const { textId, fingerprint, message } = content.texts[textNo]!;
    return {
      submissionId: id,
      testHash,
      testNo: testNos.get(testHash)!,
      resultNo,
      conclusion,
      textId,
      fingerprint,
      message,
      isDisruption: false,
    };
  });
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
