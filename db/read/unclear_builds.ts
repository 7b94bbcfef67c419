// Tests: tests/routes/build_outcome_test.ts
import { buildKey } from "../../lib/analysis/build_costs.ts";
import { BUILD_COLUMNS, unclearTests } from "../../lib/analysis/build_outcome.ts";
import { idsIn, type Queryable } from "../connection/sql.ts";
import { loadRuns } from "./runs.ts";

/** An upload of a build in a list. */
type Upload = Parameters<typeof buildKey>[0];

/** The keys of the builds in which the outcome of a test is unknown at last. */
export async function loadUnclearBuilds(
  tx: Queryable,
  { repositoryId, uploads }: { repositoryId: number; uploads: readonly Upload[] },
): Promise<ReadonlySet<string>> {
  const idsOf = (some: readonly Upload[]) => some.map(({ submissionId }) => submissionId);
  // Only tests without an attempt that passed, failed or was skipped are in none of the counts.
  const unclear = await tx<Upload[]>`
    select encode(s.submission_id, 'hex') as "submissionId", s.build_url as "buildUrl"
    from submission s
    join test_list l on l.repository_id = s.repository_id and l.test_list_no = s.test_list_no
    where s.repository_id = ${repositoryId} and s.submission_id = any(${idsIn(tx, idsOf(uploads))})
      and s.ran_test_count + s.skipped_test_count < l.test_count`;
  if (unclear.length === 0) return new Set();
  const keys = new Set(unclear.map(buildKey));
  const runs = await loadRuns(tx, {
    repositoryId,
    columns: [...BUILD_COLUMNS, "results"],
    submissionIds: idsOf(uploads.filter((upload) => keys.has(buildKey(upload)))),
  });
  const builds = Map.groupBy(runs, buildKey);
  return new Set([...keys].filter((key) => unclearTests(builds.get(key)!).length > 0));
}
