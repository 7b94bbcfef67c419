/** What every change of a repository's data begins and ends with: its lock and its data version. */
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import type { Queryable } from "../connection/sql.ts";

/** A repository whose row is locked. */
export interface LockedRepository extends RepositoryName {
  idPrefix: number;
  /** Counts changes that did not only add. */
  changeCount: number;
}

/**
 * Locks a repository until the transaction ends, as every change of its data must; `null` when it
 * does not exist.
 */
export async function lockRepository(
  tx: Queryable,
  repositoryId: number,
): Promise<LockedRepository | null> {
  const [row] = await tx<LockedRepository[]>`
    select owner, name, id_prefix::float8 as "idPrefix", ${changeCount(tx)} as "changeCount"
    from repository
    where repository_id = ${repositoryId}
    for no key update`;
  return row ?? null;
}

/** Makes cached responses about a repository stale. */
export async function bumpDataVersion(tx: Queryable, repositoryId: number): Promise<void> {
  await tx`
    update repository set data_version = data_version + 1 where repository_id = ${repositoryId}`;
}

/**
 * The same, for a change that only added submissions or coverage: caches then load just those. The
 * repository becomes visible.
 *
 * @returns the new data version
 */
export async function bumpForAddition(tx: Queryable, repositoryId: number): Promise<number> {
  const [row] = await tx<{ dataVersion: number }[]>`
    update repository set data_version = data_version + 1, addition_count = addition_count + 1,
      is_visible = true
    where repository_id = ${repositoryId}
    returning data_version::float8 as "dataVersion"`;
  return row?.dataVersion ?? 0;
}

/**
 * Notes that something was removed that no response shows. Caches load the repository in full after its
 * next change, because submissions that they have not loaded yet may be gone; uploads look up tests
 * again.
 */
export async function interruptAdditions(tx: Queryable, repositoryId: number): Promise<void> {
  await tx`
    update repository set addition_count = addition_count - 1 where repository_id = ${repositoryId}`;
}

/** SQL: how many changes of a row of `repository` did not only add. */
export function changeCount(sql: Queryable) {
  return sql`(data_version - addition_count)::float8`;
}
