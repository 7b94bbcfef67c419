// Tests: tests/routes/badges_test.ts
import { firstSubmissionId } from "../../lib/base/identity.ts";
import type { CoverageTotals } from "../../lib/report/coverage/mod.ts";
import type { Queryable } from "../connection/sql.ts";
import { buildKeyOf } from "./fragments.ts";

/** Builds of the window: processed submissions that share a build URL, or one submission without. */
interface BuildCounts {
  buildCount: number;
  /** Builds with at least one disruption in the window. */
  disruptedBuildCount: number;
}

/**
 * Counts builds.
 *
 * @param options.windowEnd the first second after the window; without one it has no end
 */
export async function loadBuildCounts(sql: Queryable, options: {
  repositoryId: number;
  windowStart: number;
  windowEnd?: number;
}): Promise<BuildCounts> {
  const { repositoryId, windowStart, windowEnd } = options;
  const start = firstSubmissionId(windowStart);
  const isBeforeEnd = windowEnd === undefined
    ? sql``
    : sql`and s.submission_id < decode(${firstSubmissionId(windowEnd)}, 'hex')`;
  // Disruptions are few: collected once, and hashed, instead of looked for per submission.
  const [row] = await sql<[BuildCounts]>`
    select count(distinct build)::float8 as "buildCount",
      (count(distinct build) filter (where is_disrupted))::float8 as "disruptedBuildCount"
    from (
      select
        ${buildKeyOf(sql)} as build,
        s.submission_id in (
          select n.submission_id from negative_result n
          where n.repository_id = ${repositoryId} and n.is_disruption
            and n.submission_id >= decode(${start}, 'hex')
        ) as is_disrupted
      from submission s
      where s.repository_id = ${repositoryId} and s.status = 'processed'
        and s.submission_id >= decode(${start}, 'hex') ${isBeforeEnd}
    ) builds`;
  return row;
}

/** The most recently uploaded coverage report, regardless of its `recorded_at`; `null` without one. */
export async function loadLatestCoverage(
  sql: Queryable,
  { repositoryId }: { repositoryId: number },
): Promise<CoverageTotals | null> {
  const [row] = await sql<CoverageTotals[]>`
    select covered_line_count::float8 as "coveredLineCount", line_count::float8 as "lineCount"
    from coverage_report
    where repository_id = ${repositoryId}
    order by coverage_report_id desc
    limit 1`;
  return row ?? null;
}
