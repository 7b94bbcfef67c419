import type { DataVersion } from "../../lib/base/data_version.ts";
import type { CoverageTotals } from "../../lib/report/coverage/mod.ts";
import { bumpForAddition, versionColumns } from "../admin/repositories.ts";
import type { Queryable } from "../connection/sql.ts";

/** Stores coverage. A report without a line is as if there were none. */
export async function insertCoverage(
  sql: Queryable,
  { repositoryId, recordedAt, submissionId = null, coverage }: {
    repositoryId: number;
    recordedAt: number;
    submissionId?: string | null;
    coverage: CoverageTotals;
  },
): Promise<void> {
  if (coverage.lineCount === 0) return;
  await bumpForAddition(sql, repositoryId);
  await sql`
    insert into coverage_report
      (repository_id, recorded_at, submission_id, covered_line_count, line_count)
    values (${repositoryId}, to_timestamp(${recordedAt}), decode(${submissionId}::text, 'hex'),
      ${coverage.coveredLineCount}, ${coverage.lineCount})`;
}

/** Stores the coverage of a submission in place of the one that it brought before. */
export async function replaceSubmissionCoverage(
  sql: Queryable,
  { repositoryId, submissionId, recordedAt }: {
    repositoryId: number;
    submissionId: string;
    recordedAt: number;
  },
  coverage: CoverageTotals,
): Promise<void> {
  if (coverage.lineCount === 0) return;
  await sql`
    delete from coverage_report
    where repository_id = ${repositoryId} and submission_id = decode(${submissionId}, 'hex')`;
  await insertCoverage(sql, { repositoryId, recordedAt, submissionId, coverage });
}

/** What the latest coverage report of a repository says. */
export interface LatestCoverage {
  /** `null` when the repository is gone. */
  version: DataVersion | null;
  /** `null` when there is none. */
  coverage: CoverageTotals | null;
}

/** The most recently uploaded coverage report, whatever its `recorded_at`. */
export async function loadLatestCoverage(
  sql: Queryable,
  repositoryId: number,
): Promise<LatestCoverage> {
  const [row] = await sql<(DataVersion & (CoverageTotals | { lineCount: null }))[]>`
    select ${versionColumns(sql)}, latest.*
    from repository r
    left join (
      select covered_line_count::float8 as "coveredLineCount", line_count::float8 as "lineCount"
      from coverage_report
      where repository_id = ${repositoryId}
      order by coverage_report_id desc
      limit 1
    ) latest on true
    where r.repository_id = ${repositoryId}`;
  return { version: row ?? null, coverage: row && row.lineCount !== null ? row : null };
}
