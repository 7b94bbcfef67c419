// Tests: tests/db/read/base_branch_test.ts tests/oracle/evidence_histories_test.ts
/** Queries about the past of one test, beyond the window. */
import { firstSubmissionId, recordedAtOf } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import type { Queryable } from "../connection/sql.ts";
import { isRecordedSince } from "./fragments.ts";

export interface FailureDay {
  /** In days since 1970. */
  day: number;
  disruptionCount: number;
  /** Failures and errors that are not disruptions. */
  otherCount: number;
}

/** The day of the first upload to a repository that is still stored, in days since 1970; `null` without one. */
export async function loadFirstUploadDay(
  sql: Queryable,
  { repositoryId }: { repositoryId: number },
): Promise<number | null> {
  const [first] = await sql<{ submissionId: string }[]>`
    select encode(s.submission_id, 'hex') as "submissionId" from submission s
    where s.repository_id = ${repositoryId}
    order by s.submission_id
    limit 1`;
  return first ? Math.floor(recordedAtOf(first.submissionId) / SECONDS_PER_DAY) : null;
}

/** The days since `firstDay` (since 1970) on which a test failed. */
export async function loadFailureDays(
  sql: Queryable,
  { repositoryId, testNo, firstDay }: { repositoryId: number; testNo: number; firstDay: number },
): Promise<FailureDay[]> {
  const first = firstSubmissionId(firstDay * SECONDS_PER_DAY);
  return await sql<FailureDay[]>`
    select f.day, (count(*) filter (where f.is_disruption))::int as "disruptionCount",
      (count(*) filter (where not f.is_disruption))::int as "otherCount"
    from (
      select n.is_disruption,
        (('x' || encode(substring(n.submission_id for 4), 'hex'))::bit(32)::bigint
          / ${SECONDS_PER_DAY}::int)::int as day
      from negative_result n
      where n.repository_id = ${repositoryId} and n.test_no = ${testNo}
        and ${isRecordedSince(sql, first)}
    ) f
    group by f.day`;
}
