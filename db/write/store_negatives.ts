// Tests: tests/db/write/store_submission_test.ts
import type { Queryable } from "../connection/sql.ts";
import { detectDisruptions, type Disruptions, NO_DISRUPTIONS } from "./disruptions.ts";
import { insertNegatives } from "./negative_rows.ts";
import type { NewNegatives } from "./new_negatives.ts";
import { noteOfLegs } from "./unnamed_legs.ts";

/**
 * Stores the negative results of a submission that was inserted, and finds the disruptions at its code
 * version: each row is written once, with the outcome.
 */
export async function storeNegatives(
  tx: Queryable,
  repositoryId: number,
  { negatives, mayBeDisruptions, ...run }: NewRun & {
    negatives: NewNegatives;
    /** False for most uploads, which saves three statements. */
    mayBeDisruptions: boolean;
  },
): Promise<StoredNegatives> {
  const { newlyDisruptive, newDisruptions, legs } = mayBeDisruptions
    ? await detectDisruptions(tx, { repositoryId, negatives, ...run })
    : NO_DISRUPTIONS;
  await insertNegatives(tx, repositoryId, negatives);
  return {
    disruptionCount: negatives.disruptionCount,
    newlyDisruptive,
    newDisruptions,
    legsNote: legs && await noteOfLegs(tx, repositoryId, run.submissionId, legs),
  };
}

interface StoredNegatives extends Pick<Disruptions, "newlyDisruptive" | "newDisruptions"> {
  disruptionCount: number;
  /** The note about a submission that cannot be distinguished from another of its job; otherwise `null`. */
  legsNote: string | null;
}

interface NewRun {
  submissionId: string;
  codeVersion: string;
}
