// Tests: tests/db/write/evidence_test.ts
/** The counts of what became of failures, from which shares are read: changed with the failures themselves. */
import type { Fragment, Queryable } from "../connection/sql.ts";
import { countsInShare, periodOf } from "../read/fragments.ts";

/** A change of the counts of one evidence in one period. */
interface TruthCountChange {
  /** As {@linkcode periodOf}. */
  period: number;
  evidence: string;
  isOnBase: boolean;
  notTheChange: number;
  theChange: number;
}

/**
 * Changes failures, and with them the counts of what became of them. The repository must be locked.
 *
 * @param change SQL, in parentheses: a change of `failure_evidence` that returns `submission_id`, `evidence` and `is_on_base`, then
 * `truth` and `is_repeat` from now on, and as `old_truth` and `old_is_repeat` before; without a row a null and false
 */
export async function changeEvidence(
  tx: Queryable,
  repositoryId: number,
  change: Fragment,
): Promise<void> {
  const changes = await tx<TruthCountChange[]>`
    with changed as ${change}
    select ${periodOf(tx)} as period, evidence, is_on_base as "isOnBase",
      sum(sign * (truth = 'not_the_change')::int)::int as "notTheChange",
      sum(sign * (truth = 'the_change')::int)::int as "theChange"
    from (
      select submission_id, evidence, is_on_base, truth, is_repeat, 1 as sign from changed
      union all
      select submission_id, evidence, is_on_base, old_truth, old_is_repeat, -1 from changed
    ) c
    where ${countsInShare(tx)}
    group by 1, 2, 3`;
  await addTruthCounts(tx, repositoryId, changes);
}

async function addTruthCounts(
  tx: Queryable,
  repositoryId: number,
  changes: readonly TruthCountChange[],
): Promise<void> {
  const rows = changes.filter((one) => one.notTheChange !== 0 || one.theChange !== 0);
  if (rows.length === 0) return;
  await tx`
    insert into truth_count as c
      (repository_id, period, evidence, is_on_base, not_the_change, the_change)
    select ${repositoryId}, period, evidence, "isOnBase", "notTheChange", "theChange"
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as t(period int, evidence text,
      "isOnBase" boolean, "notTheChange" int, "theChange" int)
    on conflict (repository_id, period, evidence, is_on_base) do update set
      not_the_change = c.not_the_change + excluded.not_the_change,
      the_change = c.the_change + excluded.the_change`;
  if (!rows.some((one) => one.notTheChange < 0 || one.theChange < 0)) return;
  await tx`
    delete from truth_count
    where repository_id = ${repositoryId} and (not_the_change, the_change) = (0, 0)`;
}

/** Deletes the evidence for the failures of submissions. */
export async function deleteEvidence(
  tx: Queryable,
  { repositoryId, ofSubmissions }: {
    repositoryId: number;
    /** SQL: an array of submission ids. */
    ofSubmissions: Fragment;
  },
): Promise<void> {
  await changeEvidence(
    tx,
    repositoryId,
    tx`(delete from failure_evidence
      where repository_id = ${repositoryId} and submission_id = any(${ofSubmissions})
      returning submission_id, evidence, is_on_base, null as truth, false as is_repeat,
        truth as old_truth, is_repeat as old_is_repeat)`,
  );
}
