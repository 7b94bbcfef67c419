/**
 * Deletes what was recorded before a moment, in batches of one short transaction each. An interrupted
 * run leaves whole submissions behind, and the next run continues.
 *
 * Nothing that the API shows changes, so no data version does: `disruptive_test` keeps first and latest
 * disruptions, tests keep their tags, and the latest coverage report stays.
 */
import { pause } from "../../lib/base/delay.ts";
import type { Database } from "../connection/connect.ts";
import { pruneCoverage } from "./prune_coverage.ts";
import { pruneSubmissions } from "./prune_submissions.ts";
import { pruneTestLists, pruneTests } from "./prune_tests.ts";

/** How much is pruned of a repository. */
export interface Pruned {
  submissionCount: number;
  testResultCount: number;
  coverageReportCount: number;
  /** Lists of tests that no submission ran any more. */
  testListCount: number;
  /** Tests that no submission ran any more, that never were disruptive and are not quarantined. */
  testCount: number;
}

export interface PruneOptions {
  repositoryId: number;
  /** Seconds since 1970: what was recorded before is deleted. */
  cutoff: number;
  /** Stops after the current batch. */
  stop?: AbortSignal | undefined;
  /** Called after every batch with the totals so far. */
  onBatch?(pruned: Readonly<Pruned>): void;
}

/** Nothing yet. */
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
export function addPruned(pruned: Pruned, went: Partial<Pruned>): void {
  for (const [name, count] of Object.entries(went)) pruned[name as keyof Pruned] += count;
}

/**
 * Prunes a repository; returns the totals, also when it was stopped. Safe beside uploads, deletions and
 * other runs: each batch locks the repository first.
 */
export async function pruneRepository(
  sql: Database["sql"],
  { repositoryId, cutoff, stop, onBatch }: PruneOptions,
): Promise<Pruned> {
  const pruned = nothingPruned();
  const scope = { repositoryId, cutoff };
  for (const step of [pruneSubmissions, pruneCoverage, pruneTestLists, pruneTests]) {
    let startedAt = performance.now();
    for await (const went of step(sql, scope)) {
      addPruned(pruned, went);
      onBatch?.(pruned);
      await leaveRoom(startedAt, stop);
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
export async function leaveRoom(startedAt: number, stop?: AbortSignal): Promise<void> {
  await pause(performance.now() - startedAt, stop);
}
