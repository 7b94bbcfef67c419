/**
 * Deletes what was recorded before a moment, in batches that are a short transaction each: nobody
 * waits for more than one of them, and whatever interrupts it leaves whole submissions behind, so
 * that running it again goes on.
 *
 * Nothing that the API shows changes, and so no data version does: first and latest disruptions are
 * kept in `disruptive_test`, which nobody touches here, the tags of a test stay with it, and of the
 * coverage reports the latest stays.
 */
import { pause } from "../../lib/base/delay.ts";
import type { Database } from "../connection/connect.ts";
import { pruneCoverage } from "./prune_coverage.ts";
import { pruneSubmissions } from "./prune_submissions.ts";
import { pruneTestLists, pruneTests } from "./prune_tests.ts";

/** What is pruned of a repository, or would be. */
export interface Pruned {
  submissionCount: number;
  testResultCount: number;
  coverageReportCount: number;
  /** Lists of tests that no submission ran any more. */
  testListCount: number;
  /** Tests that no submission ran any more, that never were disruptive and are not quarantined. */
  testCount: number;
}

/** What is pruned, and who hears of it. */
export interface PruneOptions {
  repositoryId: number;
  /** Seconds since 1970: what was recorded before goes. */
  cutoff: number;
  /** Ends it after the batch that runs. */
  stop?: AbortSignal | undefined;
  /** Hears after every batch what is gone by then. */
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

/** Adds what went to what had gone before. */
export function addPruned(pruned: Pruned, went: Partial<Pruned>): void {
  for (const [name, count] of Object.entries(went)) pruned[name as keyof Pruned] += count;
}

/**
 * Prunes a repository; returns what went, also when it was stopped before all had gone.
 *
 * Safe beside uploads, deletions and others that prune: like them it locks the repository for each
 * change, and decides under that lock.
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
 * Waits as long as it has worked. The embedded database does one thing after the other: without a
 * pause, a request waited for a batch with each of its statements: on two busy cores usually 13 ms
 * instead of 3, at worst 380 instead of 160. Whoever is told to stop does not wait.
 */
export async function leaveRoom(startedAt: number, stop?: AbortSignal): Promise<void> {
  await pause(performance.now() - startedAt, stop);
}
