// Tests: tests/lib/cli/commands/digest_test.ts
/** Whether anything was run again: without it, no test can be disruptive. */
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { buildKeyOf } from "./fragments.ts";

/**
 * The repositories in which code was run again: that ever had a disruption, or, since the start of the window, a
 * retry, another build or another attempt of a build at one code version. Shards of one attempt repeat nothing.
 */
export async function loadRerunRepositories(
  sql: Queryable,
  { repositoryIds, windowStart }: { repositoryIds: readonly number[]; windowStart: number },
): Promise<Set<number>> {
  const disruptive = await sql<RepositoryRow[]>`
    select distinct d.repository_id::float8 as "repositoryId" from disruptive_test d
    where d.repository_id = any(${arrayOf(repositoryIds)}::bigint[])`;
  const found = new Set(disruptive.map(({ repositoryId }) => repositoryId));
  // Only the submissions of the others need be looked through.
  const others = repositoryIds.filter((repositoryId) => !found.has(repositoryId));
  if (others.length === 0) return found;
  const repeated = await sql<RepositoryRow[]>`
    select distinct c.repository_id::float8 as "repositoryId"
    from (
      select s.repository_id
      from submission s
      where s.repository_id = any(${arrayOf(others)}::bigint[]) and s.status = 'processed'
        and s.submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex')
      group by s.repository_id, s.code_version
      having count(distinct (${buildKeyOf(sql)}, s.attempt))
        + coalesce(max((s.test_result_count > s.ran_test_count + s.skipped_test_count)::int), 0) > 1
    ) c`;
  for (const { repositoryId } of repeated) found.add(repositoryId);
  return found;
}

interface RepositoryRow {
  repositoryId: number;
}
