import {
  BASE_DAYS,
  basePatterns,
  DEFAULT_BASE,
  type FoundBase,
  USUAL_BASE_BRANCHES,
} from "../../lib/evidence/base_branch.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { arrayOf, type Fragment, type Queryable, textsIn } from "../connection/sql.ts";
import { buildKeyOf, isOfBase } from "./fragments.ts";

/**
 * The base branch of a repository: the one that was set, else the default branch as CI says, else the first of
 * the usual ones that has builds in the last 90 days, else the branch with most of them. A later one is looked
 * for only where the earlier ones are unknown.
 *
 * @param options.now seconds since 1970
 */
export async function loadBaseBranch(
  sql: Queryable,
  options: { repositoryId: number; now: number },
): Promise<string> {
  return (await loadBase(sql, options)).base;
}

/** The base branch as {@linkcode loadBaseBranch}, and how much is known of it. */
export async function loadBase(
  sql: Queryable,
  { repositoryId, now }: { repositoryId: number; now: number },
): Promise<FoundBase> {
  const isBuild = isRecent(sql, { repositoryId, now });
  // The first two of `coalesce` are what `knownBaseBranch` knows; the last is `''` with builds that name no branch.
  const [row] = await sql<{ known: string | null; branch: string | null }[]>`
    select coalesce(r.base_branch, r.default_branch) as known, coalesce(r.base_branch, r.default_branch, (
      select b.branch
      from unnest(${textsIn(sql, [...USUAL_BASE_BRANCHES])}) with ordinality b (branch, place)
      where exists (select 1 from submission s where ${isBuild} and s.branch = b.branch)
      order by b.place limit 1
    ), (
      select s.branch from submission s
      where ${isBuild} and s.branch > ''
      group by s.branch
      order by count(distinct ${buildKeyOf(sql)}) desc, s.branch collate "C" limit 1
    ), (select '' from submission s where ${isBuild} limit 1)) as branch
    from repository r
    where r.repository_id = ${repositoryId}`;
  const branch = row?.branch ?? null;
  const base = branch || DEFAULT_BASE;
  const isUsual = USUAL_BASE_BRANCHES.some((name) => name === base);
  return { base, isBaseNamed: branch !== "", isBaseGuessed: !row?.known && !isUsual };
}

/** SQL: whether the row `s` of `submission` is of the last 90 days. */
function isRecent(
  sql: Queryable,
  { repositoryId, now }: { repositoryId: number; now: number },
): Fragment {
  return sql`s.repository_id = ${repositoryId} and s.status = 'processed'
    and s.submission_id >= decode(${firstSubmissionId(now - BASE_DAYS * SECONDS_PER_DAY)}, 'hex')`;
}

/** Named at most. */
const MAX_BRANCHES = 5;

/** The branches with most builds of the last 90 days, where none of these is on a branch; `[]` otherwise. */
export async function loadOtherBranches(
  sql: Queryable,
  { base, ...of }: { repositoryId: number; base: string; now: number },
): Promise<string[]> {
  const isBuild = isRecent(sql, of);
  const rows = await sql<{ branch: string }[]>`
    select s.branch from submission s
    where ${isBuild} and s.branch > '' and not exists (
      select 1 from submission s where ${isBuild} and ${isOfBase(sql, basePatterns(base))}
    )
    group by s.branch
    order by count(distinct ${buildKeyOf(sql)}) desc, s.branch collate "C" limit ${MAX_BRANCHES}`;
  return rows.map(({ branch }) => branch);
}

/**
 * The base branch of each repository, as {@linkcode loadBaseBranch}. Citus cannot join the builds of several with
 * their rows: the usual branches are looked for in a statement of their own. Where none of them has builds, which is
 * rare, a repository has a statement for itself.
 */
export async function loadBaseBranches(
  sql: Queryable,
  { repositoryIds, now }: { repositoryIds: readonly number[]; now: number },
): Promise<Map<number, string>> {
  const rows = await sql<BranchRow[]>`
    select repository_id::float8 as "repositoryId", coalesce(base_branch, default_branch) as branch
    from repository where repository_id = any(${arrayOf(repositoryIds)}::bigint[])`;
  const branches = new Map(rows.map(({ repositoryId, branch }) => [repositoryId, branch]));
  const unknown = rows.flatMap(({ repositoryId, branch }) => branch === null ? [repositoryId] : []);
  for (const { repositoryId, branch } of await selectUsualBranches(sql, { unknown, now })) {
    const place = (branch: string | null) => USUAL_BASE_BRANCHES.findIndex((one) => one === branch);
    const known = branches.get(repositoryId)!;
    if (known === null || place(branch) < place(known)) branches.set(repositoryId, branch);
  }
  const loaded = Array.from(branches, async ([repositoryId, branch]) => (
    [repositoryId, branch ?? await loadBaseBranch(sql, { repositoryId, now })] as const
  ));
  return new Map(await Promise.all(loaded));
}

interface BranchRow {
  repositoryId: number;
  branch: string | null;
}

/** The usual branches that have builds, of the repositories of which no other is known. */
async function selectUsualBranches(
  sql: Queryable,
  { unknown, now }: { unknown: readonly number[]; now: number },
): Promise<BranchRow[]> {
  if (unknown.length === 0) return [];
  const ids = arrayOf(unknown);
  // One build of each branch is looked for: grouping all of them takes seven times as long with 2,000.
  return await sql<BranchRow[]>`
    select r.repository_id::float8 as "repositoryId", b.branch
    from repository_state r
    cross join unnest(${textsIn(sql, [...USUAL_BASE_BRANCHES])}) b (branch)
    where r.repository_id = any(${ids}::bigint[]) and exists (
      select 1 from submission s
      where s.repository_id = any(${ids}::bigint[]) and s.repository_id = r.repository_id
        and s.status = 'processed' and s.branch = b.branch
        and s.submission_id >= decode(${
    firstSubmissionId(now - BASE_DAYS * SECONDS_PER_DAY)
  }, 'hex'))`;
}
