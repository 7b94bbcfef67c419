/** What pruning would delete, and the space that is free after it did. */
import { firstSubmissionId } from "../../lib/base/identity.ts";
import type { Database } from "../connection/connect.ts";
import { leaveRoom, type Pruned } from "./prune.ts";
import { isOldCoverage } from "./prune_coverage.ts";
import { listedTests, unlistedTests } from "./prune_tests.ts";
import type { Queryable } from "../connection/sql.ts";

/**
 * Counts what {@linkcode pruneRepository} would delete now, and changes nothing.
 *
 * @param options.cutoff seconds since 1970: what was recorded before goes
 */
export async function planPrune(
  sql: Queryable,
  { repositoryId, cutoff }: { repositoryId: number; cutoff: number },
): Promise<Pruned> {
  const goes = isPrunable(sql, { repositoryId, cutoff });
  const [submissions] = await sql<Pick<Pruned, "submissionCount" | "testResultCount">[]>`
    select count(*)::float8 as "submissionCount",
      coalesce(sum(test_result_count), 0)::float8 as "testResultCount"
    from submission s
    where repository_id = ${repositoryId} and ${goes}`;
  const [coverage] = await sql<Pick<Pruned, "coverageReportCount">[]>`
    select count(*)::float8 as "coverageReportCount" from coverage_report
    where repository_id = ${repositoryId} and ${isOldCoverage(sql, { repositoryId, cutoff })}`;
  const lists = await sql<{ no: number; stays: boolean }[]>`
    select test_list_no as no, test_list_no in (
        select test_list_no from submission s
        where repository_id = ${repositoryId} and test_list_no is not null and not (${goes})
      ) as stays
    from test_list where repository_id = ${repositoryId}`;
  const testListNos = lists.filter(({ stays }) => stays).map(({ no }) => no);
  const [next] = await sql<{ testNo: number }[]>`
    select next_test_no as "testNo" from repository where repository_id = ${repositoryId}`;
  const testCount = next?.testNo ?? 0;
  const listed = await listedTests(sql, { repositoryId, testListNos, testCount });
  const plan: Pruned = {
    ...submissions!,
    ...coverage!,
    testListCount: lists.length - testListNos.length,
    testCount: 0,
  };
  for await (const tests of unlistedTests(sql, { repositoryId, listed })) {
    plan.testCount += tests.length;
  }
  return plan;
}

/** SQL: whether the row `s` of `submission` is old, and all of its code version with it. */
function isPrunable(
  sql: Queryable,
  { repositoryId, cutoff }: { repositoryId: number; cutoff: number },
) {
  const before = firstSubmissionId(cutoff);
  return sql`s.submission_id < decode(${before}, 'hex') and s.status <> 'processing'
    and s.code_version not in (
      select code_version from submission
      where repository_id = ${repositoryId} and submission_id >= decode(${before}, 'hex'))`;
}

/**
 * Makes the space of deleted rows free for new ones. A server does so by itself; in the embedded
 * database, which has no process for it, nobody else ever would.
 *
 * @param stop ends it after the table that is at work
 */
export async function reclaimSpace({ sql, kind }: Database, stop?: AbortSignal): Promise<void> {
  if (kind === "server") return;
  // One table at a time, so that requests come between.
  const statements = [
    () => sql`vacuum analyze negative_result`,
    () => sql`vacuum analyze submission`,
    () => sql`vacuum analyze coverage_report`,
    () => sql`vacuum analyze test_tag`,
    () => sql`vacuum analyze test_tag_set`,
    () => sql`vacuum analyze test_list`,
    () => sql`vacuum analyze test`,
  ];
  for (const statement of statements) {
    if (stop?.aborted) return;
    const startedAt = performance.now();
    await statement();
    await leaveRoom(startedAt, stop);
  }
}
