import assert from "node:assert/strict";
import type { Database } from "../../db/connection/connect.ts";

/** Checks that the counts of what became of failures are those of the failures. */
export async function checkTruthCounts({ sql }: Pick<Database, "sql">): Promise<void> {
  const counted = await sql`
    select repository_id, period, evidence, is_on_base, not_the_change, the_change from truth_count
    order by repository_id, period, evidence, is_on_base`;
  const expected = await sql`
    select repository_id, get_byte(submission_id, 0) * 256 + get_byte(submission_id, 1) as period, evidence,
      is_on_base, count(*) filter (where truth = 'not_the_change')::int as not_the_change,
      count(*) filter (where truth = 'the_change')::int as the_change
    from failure_evidence
    where truth is not null and not is_repeat and evidence <> 'outage'
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4`;
  assert.deepEqual([...counted], [...expected]);
}
