// Tests: tests/routes/conclusions_test.ts
import { firstSubmissionId } from "../../lib/base/identity.ts";
import type { Base } from "../../lib/evidence/base_branch.ts";
import type { Evidence } from "../../lib/evidence/evidence.ts";
import {
  type ConclusionRecord,
  conclusionRecord,
  type SaidFailures,
} from "../../lib/evidence/record.ts";
import type { ShareSource } from "../../lib/evidence/shares.ts";
import type { Truth } from "../../lib/evidence/truth.ts";
import type { Queryable } from "../connection/sql.ts";
import { loadBase } from "./base_branch.ts";
import { countsOnce } from "./fragments.ts";

interface Row {
  evidence: Evidence;
  isOnBase: boolean;
  notTheChange: number | null;
  of: number | null;
  from: ShareSource | null;
  truth: Truth | null;
  count: number;
}

/**
 * What was said of the failures of a repository that were recorded since a moment, and what became of them.
 * Repeats of a failure at one code version count once.
 */
export async function loadConclusionRecord(
  sql: Queryable,
  { repositoryId, now, since }: {
    repositoryId: number;
    /** Seconds since 1970, as `since`. */
    now: number;
    since: number;
  },
): Promise<ConclusionRecord & Base> {
  // Nearly every failure has a share of its own: only those that count for the scores are read.
  const isScored = sql`truth is not null and evidence <> 'passed_here'`;
  const [base, rows] = await Promise.all([
    loadBase(sql, { repositoryId, now }),
    sql<Row[]>`
      select evidence, is_on_base as "isOnBase",
        case when ${isScored} then share_not_the_change end as "notTheChange",
        case when ${isScored} then share_of end as "of",
        case when ${isScored} then share_from end as "from", truth, count(*)::int as count
      from failure_evidence
      where repository_id = ${repositoryId} and ${countsOnce(sql)}
        and submission_id >= decode(${firstSubmissionId(since)}, 'hex')
      group by 1, 2, 3, 4, 5, 6`,
  ]);
  const failures = rows.map(({ notTheChange, of, from, ...row }): SaidFailures => ({
    ...row,
    share: notTheChange === null ? null : { notTheChange, of: of!, from: from! },
  }));
  return { ...base, ...conclusionRecord(failures) };
}
