/**
 * Deletes old submissions. Those of one code version prove each other's disruptions: they are deleted
 * once all of them are old.
 */
import type { Database } from "../connection/connect.ts";
import { idsIn, type Queryable, textsIn } from "../connection/sql.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { inBatch } from "./prune_tests.ts";
import { interruptAdditions } from "./repository_row.ts";

interface PrunedSubmissions {
  submissionCount: number;
  testResultCount: number;
}

/** Submissions that one batch examines, and at most deletes. */
const SUBMISSIONS_PER_BATCH = 50;

/** Failures that one batch deletes, rows with two indexes: by far the most work. */
const NEGATIVES_PER_BATCH = 1_000;

/** Results of the submissions that one batch deletes: some bytes each, in rows of 2 kB. */
const RESULTS_PER_BATCH = 1_000_000;

/**
 * Deletes the old submissions with their results, oldest first; yields what each batch deleted.
 *
 * @param options.cutoff seconds since 1970: what was recorded before is old
 */
export async function* pruneSubmissions(
  sql: Database["sql"],
  { repositoryId, cutoff }: { repositoryId: number; cutoff: number },
): AsyncGenerator<PrunedSubmissions> {
  const before = firstSubmissionId(cutoff);
  let after = firstSubmissionId(0);
  while (true) {
    const batch = await inBatch(
      sql,
      repositoryId,
      (tx) => pruneBatch(tx, { repositoryId, before, after }),
    );
    if (batch === null) return;
    after = batch.after;
    yield batch.pruned;
  }
}

/**
 * Deletes some submissions; `null` when none is left to examine.
 *
 * @param options.after submissions up to this id were examined
 * @param options.before submissions from this id on are not old
 */
async function pruneBatch(
  tx: Queryable,
  { repositoryId, before, after }: { repositoryId: number; before: string; after: string },
): Promise<{ after: string; pruned: PrunedSubmissions } | null> {
  // One that is being processed gets another id soon, and has no results that take space.
  const old = await tx<{ id: string; codeVersion: string }[]>`
    select encode(submission_id, 'hex') as id, code_version as "codeVersion"
    from submission
    where repository_id = ${repositoryId} and submission_id > decode(${after}, 'hex')
      and submission_id < decode(${before}, 'hex') and status <> 'processing'
    order by submission_id
    limit ${SUBMISSIONS_PER_BATCH}`;
  if (old.length === 0) return null;
  const codeVersions = textsIn(tx, [...new Set(old.map(({ codeVersion }) => codeVersion))]);
  // Of a code version that does not fit into one batch, those with failures come first: passes
  // without failures may remain, but no failures without the passes that prove them disruptions.
  const prunable = await tx<PrunableSubmission[]>`
    select encode(s.submission_id, 'hex') as id, s.test_result_count as "testResultCount",
      negatives.count as "negativeCount"
    from submission s
    cross join lateral (
      select count(*)::int from negative_result n
      where n.repository_id = s.repository_id and n.submission_id = s.submission_id) negatives
    where s.repository_id = ${repositoryId} and s.status <> 'processing'
      and s.code_version = any(${codeVersions})
      and s.code_version not in (
        select live.code_version from submission live
        where live.repository_id = ${repositoryId} and live.code_version = any(${codeVersions})
          and live.submission_id >= decode(${before}, 'hex'))
    order by s.code_version, negatives.count = 0, s.submission_id`;
  const chosen = firstThatFit(prunable);
  if (chosen.length > 0) await interruptAdditions(tx, repositoryId);
  return {
    // The rest is examined again by the next batch.
    after: chosen.length === prunable.length ? old.at(-1)!.id : after,
    pruned: await deleteSubmissions(tx, repositoryId, chosen.map(({ id }) => id)),
  };
}

interface PrunableSubmission {
  /** 24 hex digits. */
  id: string;
  testResultCount: number;
  negativeCount: number;
}

/** The first submissions within the limits of a batch; at least one, however many results it has. */
function firstThatFit(submissions: PrunableSubmission[]): PrunableSubmission[] {
  let [results, negatives] = [0, 0];
  const end = submissions.findIndex(({ testResultCount, negativeCount }, index) => {
    results += testResultCount;
    negatives += negativeCount;
    return index > 0 && (index >= SUBMISSIONS_PER_BATCH || results > RESULTS_PER_BATCH ||
      negatives > NEGATIVES_PER_BATCH);
  });
  return end === -1 ? submissions : submissions.slice(0, end);
}

async function deleteSubmissions(
  tx: Queryable,
  repositoryId: number,
  ids: string[],
): Promise<PrunedSubmissions> {
  // Without statistics, as on the embedded database, a join would read whole tables.
  await tx`
    delete from negative_result
    where repository_id = ${repositoryId} and submission_id = any(${idsIn(tx, ids)})`;
  const [pruned] = await tx<PrunedSubmissions[]>`
    with deleted as (
      delete from submission
      where repository_id = ${repositoryId} and submission_id = any(${idsIn(tx, ids)})
      returning test_result_count
    )
    select count(*)::int as "submissionCount",
      coalesce(sum(test_result_count), 0)::float8 as "testResultCount"
    from deleted`;
  return pruned!;
}
