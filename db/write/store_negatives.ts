// Tests: tests/db/write/store_submission_test.ts
import type { Queryable } from "../connection/sql.ts";
import { detectDisruptions, type Disruptions, NO_DISRUPTIONS } from "./disruptions.ts";
import { insertNegatives } from "./negative_rows.ts";
import type { NewNegatives } from "./new_negatives.ts";
import { noteOfLegs } from "./unnamed_legs.ts";

/**
 * Stores the negative results of a new submission, of which all else is stored, and finds the disruptions
 * at its code version: each row is written once, with the outcome.
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

/**
 * Whether a submission is the only one of its code version, as most are. The code version is not a parameter:
 * this is sent together with the insertion that computes it.
 */
export async function isOnlyRunOfVersion(
  tx: Queryable,
  { repositoryId, submissionId }: { repositoryId: number; submissionId: string },
): Promise<boolean> {
  const [row] = await tx<{ isOnly: boolean }[]>`
    select not exists (
      select 1 from submission o
      join submission s on s.repository_id = o.repository_id and s.code_version = o.code_version
        and s.environment = o.environment and s.job = o.job and s.submission_id <> o.submission_id
      where o.repository_id = ${repositoryId} and o.submission_id = decode(${submissionId}, 'hex')
        and s.repository_id = ${repositoryId} and s.status = 'processed'
    ) as "isOnly"`;
  return row!.isOnly;
}
