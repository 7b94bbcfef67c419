// Tests: tests/routes/failures_test.ts tests/routes/flaky_groups_page_test.ts
/** The failures of submissions, packed: a repository may have a hundred thousand in its window. */
import { FailureColumns } from "../../lib/analysis/failure_columns.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { isRecordedSince } from "./fragments.ts";
import { viewOf } from "./packed_rows.ts";

interface FailuresRow {
  repositoryId: number;
  submissionId: string;
  /** Each has a fingerprint, test_no, and result_no, inverted for a disruption. */
  failures: Uint8Array;
}

const FAILURE_BYTES = 16;
const FINGERPRINT_BYTES = 8;

/** The failures of some runs, oldest first, by column; the numbers of their runs are places in `runs`. */
export function failureColumns(
  rows: readonly FailuresRow[],
  runs: readonly { submissionId: string }[],
): FailureColumns {
  const rowOf = new Map(rows.map((row) => [row.submissionId, row.failures]));
  const bytes = rows.reduce((sum, { failures }) => sum + failures.length, 0);
  const columns = new FailureColumns(bytes / FAILURE_BYTES);
  for (const [run, { submissionId }] of runs.entries()) {
    const failures = rowOf.get(submissionId);
    if (!failures) continue;
    const view = viewOf(failures);
    for (let at = 0; at < failures.length; at += FAILURE_BYTES) {
      const high = view.getInt32(at);
      const low = view.getInt32(at + 4);
      const cause = columns.causeOf(high, low) ??
        columns.addCause(high, low, failures.subarray(at, at + FINGERPRINT_BYTES).toHex());
      const testNo = view.getInt32(at + FINGERPRINT_BYTES);
      columns.add(run, testNo, cause, view.getInt32(at + FINGERPRINT_BYTES + 4));
    }
  }
  return columns;
}

/** The failures of repositories in the window, of all tests or of one. */
export async function selectFailures(
  sql: Queryable,
  { repositoryIds, testNo = null, windowStart }: {
    repositoryIds: readonly number[];
    testNo?: number | null;
    windowStart: number;
  },
): Promise<FailuresRow[]> {
  const firstId = firstSubmissionId(windowStart);
  const isWanted = testNo === null
    ? sql`n.submission_id >= decode(${firstId}, 'hex')`
    : sql`n.test_no = ${testNo} and ${isRecordedSince(sql, firstId)}`;
  return await sql<FailuresRow[]>`
    select n.repository_id::float8 as "repositoryId",
      encode(n.submission_id, 'hex') as "submissionId",
      string_agg(n.fingerprint || int4send(n.test_no)
        || int4send(n.result_no # -n.is_disruption::int), '') as failures
    from negative_result n
    where n.repository_id = any(${arrayOf(repositoryIds)}::bigint[]) and ${isWanted}
    group by n.repository_id, n.submission_id`;
}
