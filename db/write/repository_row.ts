// Tests: tests/db/write/file_matches_test.ts tests/db/write/prune_test.ts
/** The lock and the data version of a repository, which every change of its data uses. */
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import type { Queryable } from "../connection/sql.ts";

/** A repository whose state is locked. */
export interface LockedRepository extends RepositoryName {
  idPrefix: number;
  /** Its web page; `""` when unknown. */
  url: string;
  /** The base branch that was set, and the default branch as CI says; `null` when unknown. */
  baseBranch: string | null;
  defaultBranch: string | null;
}

/** Locks a repository, as every change of its data must; `null` when it does not exist. */
export async function lockRepository(
  tx: Queryable,
  repositoryId: number,
): Promise<LockedRepository | null> {
  const [[state], [row]] = await Promise.all([
    tx<Pick<LockedRepository, "idPrefix">[]>`
      select id_prefix::float8 as "idPrefix" from repository_state
      where repository_id = ${repositoryId}
      for no key update`,
    // Sent second, so that it reads with the lock held: a deletion takes it too.
    tx<Omit<LockedRepository, "idPrefix">[]>`
      select owner, name, url, base_branch as "baseBranch", default_branch as "defaultBranch"
      from repository where repository_id = ${repositoryId}`,
  ]);
  return state && row ? { ...state, ...row } : null;
}

/** Locks the repository of an upload. @throws {Error} if it was deleted */
export async function lockForUpload(
  tx: Queryable,
  repositoryId: number,
): Promise<LockedRepository> {
  const repository = await lockRepository(tx, repositoryId);
  if (!repository) throw new Error("the repository was deleted during the upload");
  return repository;
}

/** Makes cached responses about a repository stale. */
export async function bumpDataVersion(tx: Queryable, repositoryId: number): Promise<void> {
  await tx`
    update repository_state set data_version = data_version + 1
    where repository_id = ${repositoryId}`;
}

/**
 * The same, for a change that only added submissions or coverage: caches then load just those. Returns
 * the new data version.
 */
export async function bumpForAddition(tx: Queryable, repositoryId: number): Promise<number> {
  const [row] = await tx<{ dataVersion: number }[]>`
    update repository_state
    set data_version = data_version + 1, addition_count = addition_count + 1
    where repository_id = ${repositoryId}
    returning data_version::float8 as "dataVersion"`;
  return row?.dataVersion ?? 0;
}

/**
 * Takes the next numbers of a repository; returns the first. A statement of its own: as part of the one
 * that stores something under them, Citus sends it to all workers.
 */
export async function takeNumbers(
  sql: Queryable,
  { repositoryId, column, count = 1 }: {
    repositoryId: number;
    column: "next_test_no" | "next_test_list_no";
    count?: number;
  },
): Promise<number> {
  const [row] = await sql<{ first: number }[]>`
    update repository_state set ${sql(column)} = ${sql(column)} + ${count}
    where repository_id = ${repositoryId}
    returning ${sql(column)} - ${count} as first`;
  return row!.first;
}

/**
 * Notes within an upload that tests changed which did not run in it. Caches load the repository in full after
 * this change: otherwise they would read the tests of the upload only.
 */
export async function forceFullReload(tx: Queryable, repositoryId: number): Promise<void> {
  await tx`
    update repository_state set addition_count = addition_count - 1
    where repository_id = ${repositoryId}`;
}
