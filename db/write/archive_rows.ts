// Tests: tests/db/write/prune_test.ts
import { type Queryable, textsIn } from "../connection/sql.ts";

/**
 * Notes that the submissions with these keys were deleted: `watch` leaves their archives alone as long as
 * they stay as they are, and takes those that are written again as new uploads.
 */
export async function markArchivesDeleted(
  tx: Queryable,
  { repositoryId, keys }: { repositoryId: number; keys: readonly string[] },
): Promise<void> {
  await tx`
    update archive set status = 'deleted'
    where repository_id = ${repositoryId} and status = 'processed'
      and submission_key = any(${textsIn(tx, keys)})`;
}
