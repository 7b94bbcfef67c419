// Tests: tests/db/read/base_branch_test.ts tests/routes/durations_test.ts
/** Durations of single tests, for pages. */
import { groupsOf, runsByWeek } from "../../lib/analysis/durations.ts";
import type { SubmissionFilter } from "../../lib/query/submission_filter.ts";
import { SECONDS_PER_WEEK } from "../../lib/base/time.ts";
import type { Queryable } from "../connection/sql.ts";
import { loadLatestDurations } from "./duration_rows.ts";
import { loadRuns } from "./runs.ts";

/**
 * The median run of each of some tests in each of the latest weeks, oldest first; `null` in a week without
 * a run. Weeks are periods of 7 days, the last one until `end`.
 *
 * @returns arrays by test_no
 */
export async function loadWeeklyMedians(
  sql: Queryable,
  { repositoryId, testNos, filter, end, weeks }: {
    repositoryId: number;
    testNos: readonly number[];
    filter?: SubmissionFilter;
    /** Seconds since 1970. */
    end: number;
    weeks: number;
  },
): Promise<Map<number, (number | null)[]>> {
  const medians = new Map(
    testNos.map((testNo) => [testNo, Array<number | null>(weeks).fill(null)]),
  );
  if (testNos.length === 0) return medians;
  const groups = groupsOf(testNos.map((testNo) => Int32Array.of(testNo)));
  const since = end - weeks * SECONDS_PER_WEEK;
  const all = await loadRuns(sql, {
    repositoryId,
    columns: ["tests"],
    since,
    ...filter && { filter },
  });
  for (const [week, runs] of runsByWeek(all, { since, weeks })) {
    const latest = await loadLatestDurations(sql, { repositoryId, runs, groups });
    for (const { group, medianMicroseconds } of latest.finish()) {
      medians.get(testNos[group]!)![week] = medianMicroseconds;
    }
  }
  return medians;
}
