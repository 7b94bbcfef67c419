/**
 * Deletes what was recorded before a moment, in batches of one short transaction each. An interrupted
 * run leaves whole submissions behind, and the next run continues.
 *
 * Nothing that the API shows changes, so no data version does: `disruptive_test` keeps first and latest
 * disruptions, tests keep their tags, and the latest coverage report stays.
 */
import { pause } from "../../lib/base/delay.ts";
import type { Database } from "../connection/connect.ts";
import type { Queryable } from "../connection/sql.ts";
import { deleteUnusedTexts, findUnusedTexts } from "./failure_texts.ts";
import { isPrunable, pruneSubmissions } from "./prune_submissions.ts";
import { findUnlistedTests, inBatch, pruneTestLists, pruneTests } from "./prune_tests.ts";

/** Tables that rows are deleted from. */
const TABLES = [
  "negative_result",
  "failure_text",
  "submission",
  "coverage_report",
  "test_tag",
  "test_tag_set",
  "test_list",
  "test",
];

/** How much is pruned of a repository. */
export interface Pruned {
  submissionCount: number;
  testResultCount: number;
  coverageReportCount: number;
  /** Lists of tests that no submission refers to any more. */
  testListCount: number;
  /** Tests that are in no list any more, were never disruptive and are not quarantined. */
  testCount: number;
}

/** Texts; each batch reads the failures of the repository once. */
const TEXTS_PER_BATCH = 5_000;

export interface PruneScope {
  repositoryId: number;
  /** Seconds since 1970: what was recorded before is deleted. */
  cutoff: number;
}

/** Counts of nothing. */
export function nothingPruned(): Pruned {
  return {
    submissionCount: 0,
    testResultCount: 0,
    coverageReportCount: 0,
    testListCount: 0,
    testCount: 0,
  };
}

/** Adds the counts of a batch. */
export function addPruned(pruned: Pruned, batch: Partial<Pruned>): void {
  for (const [name, count] of Object.entries(batch)) pruned[name as keyof Pruned] += count;
}

/**
 * Prunes a repository; returns the totals, also when it was stopped, which happens after a batch.
 * Uploads, deletions and other runs may run concurrently: each batch locks the repository.
 */
export async function pruneRepository(
  sql: Database["sql"],
  { stop, onBatch, ...scope }: PruneScope & {
    stop?: AbortSignal | undefined;
    onBatch?(pruned: Readonly<Pruned>): void;
  },
): Promise<Pruned> {
  const pruned = nothingPruned();
  for (
    const step of [pruneSubmissions, pruneTexts, pruneCoverage, pruneTestLists, pruneTests]
  ) {
    let startedAt = performance.now();
    for await (const batch of step(sql, scope)) {
      addPruned(pruned, batch);
      onBatch?.(pruned);
      await yieldDatabase(startedAt, stop);
      if (stop?.aborted) return pruned;
      startedAt = performance.now();
    }
  }
  return pruned;
}

/**
 * Waits as long as the batch took. The embedded database runs one statement after the other: without
 * this pause, requests on two busy cores took 13 ms instead of 3, at worst 380 instead of 160.
 */
async function yieldDatabase(startedAt: number, stop?: AbortSignal): Promise<void> {
  await pause(performance.now() - startedAt, stop);
}

async function* pruneTexts(
  sql: Database["sql"],
  { repositoryId }: PruneScope,
): AsyncGenerator<Partial<Pruned>> {
  // Found at once, because no index leads from a text to its failures.
  const unused = await findUnusedTexts(sql, repositoryId);
  for (let start = 0; start < unused.length; start += TEXTS_PER_BATCH) {
    const textIds = unused.slice(start, start + TEXTS_PER_BATCH);
    await inBatch(sql, repositoryId, (tx) => deleteUnusedTexts(tx, { repositoryId, textIds }));
    yield {};
  }
}

async function* pruneCoverage(
  sql: Database["sql"],
  scope: PruneScope,
): AsyncGenerator<Partial<Pruned>> {
  const { repositoryId } = scope;
  const { count } = await inBatch(sql, repositoryId, async (tx) =>
    await tx`
      delete from coverage_report
      where repository_id = ${repositoryId} and ${isOldCoverage(tx, scope)}`) ?? { count: 0 };
  if (count > 0) yield { coverageReportCount: count };
}

/** SQL: whether a row of `coverage_report` is old and not the repository's latest. */
function isOldCoverage(sql: Queryable, { repositoryId, cutoff }: PruneScope) {
  return sql`recorded_at < to_timestamp(${cutoff}) and coverage_report_id <> (
    select max(coverage_report_id) from coverage_report where repository_id = ${repositoryId})`;
}

/** Counts what {@linkcode pruneRepository} would delete now, and changes nothing. */
export async function planPrune(sql: Queryable, scope: PruneScope): Promise<Pruned> {
  const { repositoryId } = scope;
  const isPruned = isPrunable(sql, scope);
  const isKeptList = sql`test_list_no in (
    select test_list_no from submission s
    where repository_id = ${repositoryId} and test_list_no is not null and not (${isPruned}))`;
  const [counts] = await sql<Omit<Pruned, "testCount">[]>`
    select submissions.*, coverage.*, lists.*
    from (
      select count(*)::float8 as "submissionCount",
        coalesce(sum(test_result_count), 0)::float8 as "testResultCount"
      from submission s where repository_id = ${repositoryId} and ${isPruned}
    ) submissions, (
      select count(*)::float8 as "coverageReportCount" from coverage_report
      where repository_id = ${repositoryId} and ${isOldCoverage(sql, scope)}
    ) coverage, (
      select count(*)::float8 as "testListCount" from test_list
      where repository_id = ${repositoryId} and not (${isKeptList})
    ) lists`;
  const unlisted = await findUnlistedTests(sql, repositoryId, isKeptList);
  return { ...counts!, testCount: unlisted.size };
}

/**
 * Makes the space of deleted rows available again, until `stop` after the current table. A server
 * does this automatically; the embedded database has no autovacuum.
 */
export async function reclaimSpace({ sql, kind }: Database, stop?: AbortSignal): Promise<void> {
  if (kind === "server") return;
  // One table at a time, so that requests are answered in between.
  for (const table of TABLES) {
    if (stop?.aborted) return;
    const startedAt = performance.now();
    await sql`vacuum analyze ${sql(table)}`;
    await yieldDatabase(startedAt, stop);
  }
}
