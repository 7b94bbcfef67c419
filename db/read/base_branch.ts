import { BASE_DAYS, DEFAULT_BASE, USUAL_BASE_BRANCHES } from "../../lib/evidence/base_branch.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { type Queryable, textsIn } from "../connection/sql.ts";
import { buildKeyOf } from "./fragments.ts";

/**
 * The base branch of a repository: the one that was set, else the default branch as CI says, else the first
 * of the usual ones that has builds in the last 90 days, else the branch with most of them.
 *
 * @param options.now seconds since 1970
 */
export async function loadBaseBranch(
  sql: Queryable,
  { repositoryId, now }: { repositoryId: number; now: number },
): Promise<string> {
  const [repository] = await sql<{ given: string | null }[]>`
    select coalesce(base_branch, default_branch) as given from repository where repository_id = ${repositoryId}`;
  if (repository?.given) return repository.given;
  const since = firstSubmissionId(now - BASE_DAYS * SECONDS_PER_DAY);
  const [usual] = await sql<{ branch: string }[]>`
    select b.branch
    from unnest(${textsIn(sql, [...USUAL_BASE_BRANCHES])}) with ordinality b (branch, place)
    where exists (
      select 1 from submission s
      where s.repository_id = ${repositoryId} and s.branch = b.branch
        and s.submission_id >= decode(${since}, 'hex') and s.status = 'processed')
    order by b.place limit 1`;
  if (usual) return usual.branch;
  const [most] = await sql<{ branch: string }[]>`
    select s.branch
    from submission s
    where s.repository_id = ${repositoryId} and s.branch <> ''
      and s.submission_id >= decode(${since}, 'hex') and s.status = 'processed'
    group by s.branch
    order by count(distinct ${buildKeyOf(sql)}) desc, s.branch collate "C" limit 1`;
  return most?.branch ?? DEFAULT_BASE;
}
