/**
 * Deletes what was recorded before a moment, in batches of one short transaction each. An interrupted
 * run leaves whole submissions behind, and the next run continues.
 *
 * Lists of the window do not change: `disruptive_test` keeps first and latest disruptions, tests keep their
 * tags, and the latest coverage report stays. What looks further back does, such as the causes in a verdict,
 * the latest runs of a job, and tests by name: so a batch that deleted submissions or tests changes the data
 * version.
 */
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { pause } from "../../lib/base/delay.ts";
import type { Database } from "../connection/connect.ts";
import { idsIn, type Queryable } from "../connection/sql.ts";
import { repositoryTables } from "../schema/distribute.ts";
import { markArchivesDeleted } from "./archive_rows.ts";
import { deleteUnusedTexts } from "./store_texts.ts";
import { deleteEvidence } from "./truth_counts.ts";
import { bumpDataVersion, lockRepository } from "./repository_row.ts";
import { deleteTests, deleteUnusedLists, excludeListed, findUnlistedTests } from "./tests.ts";
import { writeTransaction } from "./transaction.ts";

// Limits of one batch. Failures are most of the work, and no submission has more than results.
const SUBMISSIONS_PER_BATCH = 50;
const RESULTS_PER_BATCH = 20_000;
/** Each batch reads the failures of the repository once. */
const TEXTS_PER_BATCH = 10_000;
const TESTS_PER_BATCH = 500;

export interface Pruned {
  submissionCount: number;
  testResultCount: number;
}

interface PruneScope {
  repositoryId: number;
  /** Seconds since 1970: what was recorded before is deleted. */
  cutoff: number;
}

/** Batches yield their counts, if they deleted submissions. */
type Batches = AsyncGenerator<Pruned | undefined>;

/**
 * Prunes a repository; returns the totals, even if it was stopped, which happens after a batch.
 * Uploads, deletions and other runs may run concurrently: each batch locks the repository.
 */
export async function pruneRepository(
  sql: Database["sql"],
  { stop, onBatch, ...scope }: PruneScope & {
    stop?: AbortSignal | undefined;
    onBatch?(pruned: Readonly<Pruned>): void;
  },
): Promise<Pruned> {
  const pruned: Pruned = { submissionCount: 0, testResultCount: 0 };
  for (const step of [pruneSubmissions, pruneTexts, pruneCoverageAndLists, pruneTests]) {
    let startedAt = performance.now();
    for await (const batch of step(sql, scope)) {
      pruned.submissionCount += batch?.submissionCount ?? 0;
      pruned.testResultCount += batch?.testResultCount ?? 0;
      onBatch?.(pruned);
      await yieldDatabase(startedAt, stop);
      if (stop?.aborted) return pruned;
      startedAt = performance.now();
    }
  }
  return pruned;
}

/** Counts what {@linkcode pruneRepository} would delete now. */
export async function planPrune(sql: Queryable, scope: PruneScope): Promise<Pruned> {
  const [counts] = await sql<Pruned[]>`
    select count(*)::float8 as "submissionCount",
      coalesce(sum(test_result_count), 0)::float8 as "testResultCount"
    from submission s where repository_id = ${scope.repositoryId} and ${isPrunable(sql, scope)}`;
  return counts!;
}

/**
 * Waits as long as the batch took. The embedded database runs one statement after the other: without
 * this pause, requests on two busy cores took 13 ms instead of 3, at worst 380 instead of 160.
 */
async function yieldDatabase(startedAt: number, stop?: AbortSignal): Promise<void> {
  await pause(performance.now() - startedAt, stop);
}

/** Runs a batch in a transaction with the repository locked; `null` when it does not exist any more. */
async function inBatch<T>(
  sql: Database["sql"],
  repositoryId: number,
  batch: (tx: Queryable) => Promise<T>,
): Promise<T | null> {
  return await writeTransaction(
    sql,
    async (tx) => await lockRepository(tx, repositoryId) ? await batch(tx) : null,
  );
}

/**
 * SQL: whether the row `s` of `submission` is old, and all others of its code version are: they prove
 * each other's disruptions.
 */
function isPrunable(sql: Queryable, { repositoryId, cutoff }: PruneScope) {
  const before = firstSubmissionId(cutoff);
  // One that is being processed gets another id soon, and has no results that take space.
  return sql`s.submission_id < decode(${before}, 'hex') and s.status <> 'processing'
    and not exists (
      select 1 from submission o
      where o.repository_id = ${repositoryId} and o.submission_id >= decode(${before}, 'hex')
        and (o.code_version, o.environment, o.job, o.workflow)
          = (s.code_version, s.environment, s.job, s.workflow))`;
}

async function* pruneSubmissions(sql: Database["sql"], scope: PruneScope): Batches {
  const { repositoryId } = scope;
  // The oldest code version first, and of that the submissions with failures: after an
  // interruption passes may be left without failures, but no failures without the passes that prove
  // them disruptions.
  const prunable = await sql<{ id: string; resultCount: number }[]>`
    select encode(submission_id, 'hex') as id, test_result_count as "resultCount"
    from submission s
    where repository_id = ${repositoryId} and ${isPrunable(sql, scope)}
    order by first_value(submission_id) over (
        partition by code_version, environment, job, workflow order by submission_id),
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
    const deleted = await inBatch(sql, repositoryId, async (tx) => {
      // Checked again: their code version may have been uploaded again since.
      const deleted = await tx<{ id: string; key: string; resultCount: number }[]>`
        delete from submission s
        where repository_id = ${repositoryId} and submission_id = any(${idsIn(tx, ids)})
          and ${isPrunable(tx, scope)}
        returning encode(submission_id, 'hex') as id, key, test_result_count as "resultCount"`;
      const deletedIds = idsIn(tx, deleted.map(({ id }) => id));
      await tx`
        delete from negative_result
        where repository_id = ${repositoryId} and submission_id = any(${deletedIds})`;
      await deleteEvidence(tx, { repositoryId, ofSubmissions: deletedIds });
      await markArchivesDeleted(tx, { repositoryId, keys: deleted.map(({ key }) => key) });
      if (deleted.length > 0) await bumpDataVersion(tx, repositoryId);
      return deleted;
    });
    if (deleted === null) return;
    const testResultCount = deleted.reduce((sum, { resultCount }) => sum + resultCount, 0);
    yield { submissionCount: deleted.length, testResultCount };
  }
}

async function* pruneTexts(sql: Database["sql"], { repositoryId }: PruneScope): Batches {
  const batch = (tx: Queryable) => deleteUnusedTexts(tx, repositoryId, TEXTS_PER_BATCH);
  while (await inBatch(sql, repositoryId, batch)) yield;
}

/** Deletes old coverage but the latest of the repository, and lists that no submission has. */
async function* pruneCoverageAndLists(
  sql: Database["sql"],
  { repositoryId, cutoff }: PruneScope,
): Batches {
  await inBatch(sql, repositoryId, async (tx) => {
    await tx`
      delete from coverage_report
      where repository_id = ${repositoryId} and recorded_at < to_timestamp(${cutoff})
        and coverage_report_id <> (
          select max(coverage_report_id) from coverage_report
          where repository_id = ${repositoryId})`;
    await deleteUnusedLists(tx, repositoryId);
  });
  yield;
}

/**
 * Deletes the tests that are in no list, unless they were ever disruptive or are quarantined. One
 * that is uploaded again has the same id.
 */
export async function* pruneTests(
  sql: Database["sql"],
  { repositoryId }: Pick<PruneScope, "repositoryId">,
): Batches {
  let { unlisted, nextListNo } = await findUnlistedTests(sql, repositoryId);
  while (unlisted.size > 0) {
    const deleted = await inBatch(sql, repositoryId, async (tx) => {
      // Lists that were added since may contain some of them.
      nextListNo = await excludeListed(tx, unlisted, { repositoryId, from: nextListNo });
      const testNos = [...unlisted.values().take(TESTS_PER_BATCH)];
      for (const testNo of testNos) unlisted.delete(testNo);
      await deleteTests(tx, repositoryId, testNos);
      await bumpDataVersion(tx, repositoryId);
    });
    if (deleted === null) return;
    yield;
  }
}

/**
 * Makes the space of deleted rows available again, until `stop` after the current table. A server
 * does this automatically; the embedded database has no autovacuum.
 */
export async function reclaimSpace({ sql, kind }: Database, stop?: AbortSignal): Promise<void> {
  if (kind === "server") return;
  // One table at a time, so that requests are answered in between.
  for (const table of await repositoryTables(sql)) {
    if (stop?.aborted) return;
    const startedAt = performance.now();
    await sql`vacuum analyze ${sql(table)}`;
    await yieldDatabase(startedAt, stop);
  }
}
