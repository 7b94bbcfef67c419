/** Queries about the past of one test, beyond the window. */
import { hasSameCode } from "../../lib/analysis/run.ts";
import { firstSubmissionId, recordedAtOf } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { ALL_SUBMISSIONS } from "../../lib/query/submission_filter.ts";
import type { Queryable } from "../connection/sql.ts";
import { isRecordedSince } from "./fragments.ts";
import { loadFirstDisrupted, loadTestRuns, type RunVersion } from "./runs_of_test.ts";

/** The failures of a test on a day. */
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

/** The first disruption of a test, and its last pass at another version of the code before. */
interface FirstDisruption {
  disrupted: RunVersion;
  /** `null` when none is stored. */
  clean: RunVersion | null;
}

/** How long before the first disruption a pass is looked for. */
const SEARCHED_SECONDS = 90 * SECONDS_PER_DAY;
/** Passes before it at the same version of the code. */
const MAX_RERUNS = 20;

/** When a test became flaky; `null` when no disruption is stored. */
export async function loadFirstDisruption(
  sql: Queryable,
  test: { repositoryId: number; testNo: number },
): Promise<FirstDisruption | null> {
  const disrupted = await loadFirstDisrupted(sql, test);
  if (!disrupted) return null;
  const runs = await loadTestRuns(sql, {
    ...test,
    windowStart: disrupted.recordedAt - SEARCHED_SECONDS,
    filter: ALL_SUBMISSIONS,
    status: "passed",
    after: { submissionId: disrupted.submissionId, runCount: 0 },
    limit: MAX_RERUNS,
  });
  return { disrupted, clean: runs.find((run) => !hasSameCode(run, disrupted)) ?? null };
}
