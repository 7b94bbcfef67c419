/**
 * Deletes old submissions. Those of one code version prove each other's disruptions: they are deleted
 * once all of them are old.
 */
import { firstSubmissionId } from "../../lib/base/identity.ts";
import type { Database } from "../connection/connect.ts";
import { idsIn, type Queryable } from "../connection/sql.ts";
import type { Pruned, PruneScope } from "./prune.ts";
import { inBatch } from "./prune_tests.ts";
import { interruptAdditions } from "./repository_row.ts";

type PrunedSubmissions = Pick<Pruned, "submissionCount" | "testResultCount">;

// Limits of one batch. Failures are most of the work, and no submission has more than results.
const SUBMISSIONS_PER_BATCH = 50;
const RESULTS_PER_BATCH = 20_000;

/** SQL: whether the row `s` of `submission` is old, and all others of its code version are. */
export function isPrunable(sql: Queryable, { repositoryId, cutoff }: PruneScope) {
  const before = firstSubmissionId(cutoff);
  // One that is being processed gets another id soon, and has no results that take space.
  return sql`s.submission_id < decode(${before}, 'hex') and s.status <> 'processing'
    and s.code_version not in (
      select code_version from submission
      where repository_id = ${repositoryId} and submission_id >= decode(${before}, 'hex'))`;
}

/** Deletes the old submissions with their results; yields what each batch deleted. */
export async function* pruneSubmissions(
  sql: Database["sql"],
  scope: PruneScope,
): AsyncGenerator<PrunedSubmissions> {
  const { repositoryId } = scope;
  // The oldest code version first, and those of its submissions that have failures: after an
  // interruption passes may be left without failures, but no failures without the passes that prove
  // them disruptions.
  const prunable = await sql<{ id: string; resultCount: number }[]>`
    select encode(submission_id, 'hex') as id, test_result_count as "resultCount"
    from submission s
    where repository_id = ${repositoryId} and ${isPrunable(sql, scope)}
    order by first_value(submission_id) over (partition by code_version order by submission_id),
      not exists (
        select 1 from negative_result n
        where n.repository_id = ${repositoryId} and n.submission_id = s.submission_id),
      submission_id`;
  for (let start = 0, end = 0; start < prunable.length; start = end) {
    // At least one, however many results it has.
    for (let results = 0; end < prunable.length && end < start + SUBMISSIONS_PER_BATCH; end++) {
      results += prunable[end]!.resultCount;
      if (end > start && results > RESULTS_PER_BATCH) break;
    }
    const ids = prunable.slice(start, end).map(({ id }) => id);
    const pruned = await inBatch(sql, repositoryId, (tx) => deleteSubmissions(tx, scope, ids));
    if (pruned === null) return;
    yield pruned;
  }
}

async function deleteSubmissions(
  tx: Queryable,
  scope: PruneScope,
  ids: string[],
): Promise<PrunedSubmissions> {
  const { repositoryId } = scope;
  // Checked again: their code version may have been uploaded again since.
  const deleted = await tx<{ id: string; resultCount: number }[]>`
    delete from submission s
    where repository_id = ${repositoryId} and submission_id = any(${idsIn(tx, ids)})
      and ${isPrunable(tx, scope)}
    returning encode(submission_id, 'hex') as id, test_result_count as "resultCount"`;
  if (deleted.length > 0) {
    const deletedIds = idsIn(tx, deleted.map(({ id }) => id));
    await tx`
      delete from negative_result
      where repository_id = ${repositoryId} and submission_id = any(${deletedIds})`;
    await interruptAdditions(tx, repositoryId);
  }
  return {
    submissionCount: deleted.length,
    testResultCount: deleted.reduce((sum, { resultCount }) => sum + resultCount, 0),
  };
}
