// Tests: tests/db/write/store_submission_test.ts
import { hasFailedAndPassed } from "../../lib/analysis/disruptions.ts";
import type { SubmissionContent } from "../../lib/analysis/submission_content.ts";
import type { Queryable } from "../connection/sql.ts";
import { hasCodeVersion } from "../read/fragments.ts";
import { detectDisruptions, type Disruptions, NO_DISRUPTIONS } from "./disruptions.ts";
import { insertNegatives } from "./negative_rows.ts";
import { NewNegatives } from "./new_negatives.ts";
import type { TestNos } from "./tests.ts";
import { noteOfLegs } from "./unnamed_legs.ts";

/**
 * Stores the negative results of a new submission, of which all else is stored, and finds the disruptions
 * at its code version: each row is written once, with the outcome.
 */
export async function storeNegatives(
  tx: Queryable,
  repositoryId: number,
  given: NewResults & { codeVersion: string },
): Promise<StoredNegatives> {
  const negatives = new NewNegatives(given);
  const mayHaveOthers = await mayHaveDisruptions(tx, repositoryId, given);
  const { newlyDisruptive, newDisruptions, legs } = mayHaveOthers
    ? await detectDisruptions(tx, { repositoryId, negatives, ...given })
    : NO_DISRUPTIONS;
  await insertNegatives(tx, repositoryId, negatives);
  return {
    disruptionCount: negatives.disruptionCount,
    newlyDisruptive,
    newDisruptions,
    legsNote: legs && await noteOfLegs(tx, repositoryId, given.submissionId, legs),
    negatives,
    mayHaveOthers,
  };
}

interface StoredNegatives extends Pick<Disruptions, "newlyDisruptive" | "newDisruptions"> {
  disruptionCount: number;
  /** The note about a submission that cannot be distinguished from another of its job; otherwise `null`. */
  legsNote: string | null;
  negatives: NewNegatives;
  /** False if the code version has no other submission. */
  mayHaveOthers: boolean;
}

interface NewResults {
  submissionId: string;
  content: SubmissionContent;
  /** The test_no of the tests with failures, by test_hash. */
  failedTestNos: Pick<TestNos, "get">;
}

/**
 * False for most uploads: the only one of its code version, in which no test failed and passed. The rest
 * of the detection takes three statements.
 */
async function mayHaveDisruptions(
  tx: Queryable,
  repositoryId: number,
  { submissionId, codeVersion, content }: NewResults & { codeVersion: string },
): Promise<boolean> {
  if (hasFailedAndPassed(content.exceptions)) return true;
  const [row] = await tx<{ hasOthers: boolean }[]>`
    select exists (
      select 1 from submission s
      where s.repository_id = ${repositoryId} and ${hasCodeVersion(tx, [codeVersion])}
        and s.status = 'processed' and s.submission_id <> decode(${submissionId}, 'hex')
    ) as "hasOthers"`;
  return row!.hasOthers;
}
