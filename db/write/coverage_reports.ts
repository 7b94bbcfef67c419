import type { CoverageTotals } from "../../lib/report/coverage/mod.ts";
import type { Queryable } from "../connection/sql.ts";
import { bumpForAddition } from "./repository_row.ts";

/**
 * Stores coverage, that of a submission in place of what it brought before. Of a report without a line
 * only the repository remains.
 */
export async function storeCoverage(
  tx: Queryable,
  { repositoryId, recordedAt, submissionId = null }: {
    repositoryId: number;
    recordedAt: number;
    submissionId?: string | null;
  },
  { coveredLineCount, lineCount }: CoverageTotals,
): Promise<void> {
  await bumpForAddition(tx, repositoryId);
  if (lineCount === 0) return;
  await tx`
    delete from coverage_report
    where repository_id = ${repositoryId} and submission_id = decode(${submissionId}::text, 'hex')`;
  await tx`
    insert into coverage_report
      (repository_id, recorded_at, submission_id, covered_line_count, line_count)
    values (${repositoryId}, to_timestamp(${recordedAt}), decode(${submissionId}::text, 'hex'),
      ${coveredLineCount}, ${lineCount})`;
}
