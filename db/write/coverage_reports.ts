import type { CoverageTotals } from "../../lib/report/coverage/mod.ts";
import type { Queryable } from "../connection/sql.ts";
import { bumpForAddition } from "./repository_row.ts";

/** Stores coverage. Of a report without a line only the repository remains. */
export async function insertCoverage(
  sql: Queryable,
  { repositoryId, recordedAt, submissionId = null, coverage }: {
    repositoryId: number;
    recordedAt: number;
    submissionId?: string | null;
    coverage: CoverageTotals;
  },
): Promise<void> {
  await bumpForAddition(sql, repositoryId);
  if (coverage.lineCount === 0) return;
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
