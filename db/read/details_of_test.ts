// Tests: tests/lib/cli/commands/evidence_test.ts tests/routes/test_evidence_test.ts
import { firstSubmissionId } from "../../lib/base/identity.ts";
import type { TrackedTestBase } from "../../lib/analysis/tests_state.ts";
import { activeQuarantine } from "../../lib/analysis/quarantine.ts";
import type { Queryable } from "../connection/sql.ts";
import { isRecordedSince } from "./fragments.ts";
import { testColumns, type TestRow, trackedTestBase } from "./tracked_test_rows.ts";

/** A test, disruptive or not. */
export interface TestDetails extends TrackedTestBase {
  tags: string[];
}

/** A test that exists. */
export async function loadTestDetails(sql: Queryable, options: {
  repositoryId: number;
  testNo: number;
  now: number;
  windowStart: number;
}): Promise<TestDetails> {
  const { repositoryId, testNo, now, windowStart } = options;
  type Extra = { idPrefix: number; disruptionCount: number; tags: string[] };
  const [row] = await sql<[TestRow & Extra]>`
    select r.id_prefix::float8 as "idPrefix", ${testColumns(sql)},
      (select count(*)::int from negative_result n
        where n.repository_id = ${repositoryId} and n.test_no = ${testNo} and n.is_disruption
          and ${isRecordedSince(sql, firstSubmissionId(windowStart))}) as "disruptionCount",
      array_to_json(array(
        select g.tag from test_tag g
        where g.repository_id = ${repositoryId} and g.tests @> ${testNo}::int)) as tags
    from repository_state r
    join test t on t.repository_id = r.repository_id and t.test_no = ${testNo}
    left join disruptive_test d on d.repository_id = t.repository_id and d.test_no = t.test_no
    left join quarantine q on q.repository_id = t.repository_id and q.test_no = t.test_no
    where r.repository_id = ${repositoryId}`;
  const test = trackedTestBase(row, row);
  const quarantine = activeQuarantine(test.quarantine, now);
  return { ...test, quarantine, tags: row.tags.toSorted() };
}
