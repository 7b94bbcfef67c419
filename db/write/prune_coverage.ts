/** Deletes old coverage reports. */
import { writeTransaction } from "../schema/migrate.ts";
import type { Database } from "../connection/connect.ts";
import { lockRepository } from "../admin/repositories.ts";
import type { Queryable } from "../connection/sql.ts";

interface Scope {
  repositoryId: number;
  /** Seconds since 1970: old is what was recorded before. */
  cutoff: number;
}

/** Coverage reports that one batch deletes. */
const COVERAGE_REPORTS_PER_BATCH = 250;

/** Deletes the old coverage reports but the badge's; yields what each batch deleted. */
export async function* pruneCoverage(
  sql: Database["sql"],
  { repositoryId, cutoff }: Scope,
): AsyncGenerator<{ coverageReportCount: number }> {
  while (true) {
    const coverageReportCount = await writeTransaction(sql, async (tx) => {
      if (!await lockRepository(tx, repositoryId)) return 0;
      const gone = await tx`
        delete from coverage_report
        where repository_id = ${repositoryId} and coverage_report_id in (
          select coverage_report_id from coverage_report
          where repository_id = ${repositoryId} and ${isOldCoverage(tx, { repositoryId, cutoff })}
          limit ${COVERAGE_REPORTS_PER_BATCH})`;
      return gone.count;
    });
    if (coverageReportCount > 0) yield { coverageReportCount };
    if (coverageReportCount < COVERAGE_REPORTS_PER_BATCH) return;
  }
}

/** SQL: whether a row of `coverage_report` is old and not the repository's latest. */
export function isOldCoverage(sql: Queryable, { repositoryId, cutoff }: Scope) {
  return sql`recorded_at < to_timestamp(${cutoff}) and coverage_report_id <> (
    select max(coverage_report_id) from coverage_report where repository_id = ${repositoryId})`;
}
