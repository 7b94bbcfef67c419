// Tests: tests/routes/durations_test.ts
import {
  type GroupDurations,
  LatestDurations,
  latestRuns,
  testsAsGroups,
} from "../../lib/analysis/durations.ts";
import type { Run } from "../../lib/analysis/run.ts";
import type { RunCounts } from "../../lib/analysis/run_counts.ts";
import {
  dailyRuns,
  findSlowDowns,
  type SlowDown,
  slownessOf,
  type SlowOrder,
  type TimedRun,
} from "../../lib/analysis/slow_downs.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import type { SubmissionFilter } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { loadTestPage } from "./duration_rows.ts";
import { loadRuns, withDurations } from "./runs.ts";

/** A test with how long it takes. */
export interface SlowTest
  extends
    TestIdentity,
    Pick<GroupDurations, "medianMicroseconds" | "p90Microseconds" | "runCount"> {
  /** 24 hex digits. */
  id: string;
  testNo: number;
  /** Microseconds of all its runs in the window. */
  totalMicroseconds: number;
  /** `null` unless it became slower in the window. */
  slowDown: SlowDown | null;
}

interface SlowTestsQuery {
  repositoryId: number;
  idPrefix: number;
  windowStart: number;
  filter: SubmissionFilter;
  sort: SlowOrder;
  after: number;
  limit: number;
  /** How often tests ran, for the same window and filter, with the time. */
  runs: RunCounts;
}

/**
 * The tests that ran in the window, or with `slower` those that became slower, and how many there are.
 * Slow-downs are found in the latest 8 runs of each day.
 */
export async function loadSlowTests(
  tx: Queryable,
  { idPrefix, after, limit, sort, runs, ...query }: SlowTestsQuery,
): Promise<{ count: number; tests: SlowTest[] }> {
  const { repositoryId } = query;
  const windowRuns = await loadRuns(tx, {
    repositoryId,
    columns: ["tests", "commitOid", "environment"],
    since: query.windowStart,
    filter: query.filter,
  });
  const { groups, testNos } = testsAsGroups(windowRuns);
  const latest = idsOf(latestRuns(windowRuns, groups));
  const daily = idsOf(dailyRuns(windowRuns, groups));
  const needed = windowRuns.filter(({ submissionId }) =>
    latest.has(submissionId) || daily.has(submissionId)
  );
  const durations = new LatestDurations(groups);
  const timed: TimedRun[] = [];
  for await (const run of withDurations(tx, { repositoryId, runs: needed })) {
    if (latest.has(run.submissionId)) durations.add(run);
    if (daily.has(run.submissionId)) timed.push(run);
  }
  const found = durations.finish();
  const usual = new Float64Array(groups.groupOf.length);
  for (const { group, medianMicroseconds } of found) usual[testNos[group]!] = medianMicroseconds;
  const slowDowns = findSlowDowns(timed.reverse(), usual);
  const all = found.map(({ group, ...run }) => {
    const testNo = testNos[group]!;
    return {
      ...run,
      testNo,
      totalMicroseconds: runs.of(testNo).timeConsumed ?? 0,
      slowDown: slowDowns.get(testNo) ?? null,
    };
  }).filter(({ slowDown }) => sort !== "slower" || slowDown !== null);
  const page = await loadTestPage(tx, {
    repositoryId,
    idPrefix,
    testNos: Int32Array.from(all, ({ testNo }) => testNo),
    values: Float64Array.from(all, (test) => slownessOf(test, sort)),
    after,
    limit,
  });
  return {
    count: all.length,
    tests: page.map(({ index, test }) => ({ ...all[index]!, ...test })),
  };
}

function idsOf(runs: readonly Run[]): Set<string> {
  return new Set(runs.map(({ submissionId }) => submissionId));
}
