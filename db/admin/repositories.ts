import { caseKey } from "../../lib/base/identity.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import type { Queryable } from "../connection/sql.ts";
import { bumpDataVersion, lockRepository } from "../write/repository_row.ts";

export interface Repository extends RepositoryName {
  organizationId: number;
  repositoryId: number;
  /** Its `repository_id` in the API, unique in the organization; a hidden repository has none. */
  repositoryNumber: number;
  /** First 44 bits of the ids of its tests. */
  idPrefix: number;
  /** Its web page, from the latest upload; `""` when unknown. */
  url: string;
  /** Seconds since 1970. */
  createdAt: number;
}

/** The repository with a name (in any case) within an organization. */
export async function findRepository(
  sql: Queryable,
  name: RepositoryName & { organizationId: number },
): Promise<Repository | null> {
  const repository = await findAnyRepository(sql, name);
  return repository?.isVisible ? repository : null;
}

/** The same, including hidden repositories. */
export async function findAnyRepository(
  sql: Queryable,
  { organizationId, owner, name }: RepositoryName & { organizationId: number },
): Promise<Repository & { isVisible: boolean } | null> {
  const [row] = await sql<(Repository & { isVisible: boolean })[]>`
    select ${repositoryColumns(sql)}, repository_number is not null as "isVisible"
    from repository
    where organization_id = ${organizationId} and owner_key = ${caseKey(owner)}
      and name_key = ${caseKey(name)}`;
  return row ?? null;
}

/** All repositories of an organization, by name. */
export async function listRepositories(
  sql: Queryable,
  organizationId: number,
): Promise<Repository[]> {
  return await sql<Repository[]>`
    select ${repositoryColumns(sql)} from repository
    where organization_id = ${organizationId} and repository_number is not null
    order by owner_key collate "C", name_key collate "C"`;
}

/**
 * Renames a repository, in a transaction; its tests keep their ids. Returns `null` when another
 * repository of the organization has the name, or when the repository no longer exists.
 */
export async function renameRepository(
  tx: Queryable,
  repository: Pick<Repository, "organizationId" | "repositoryId">,
  { owner, name }: RepositoryName,
): Promise<Repository | null> {
  const { organizationId, repositoryId } = repository;
  // First, because it locks the repository.
  await bumpDataVersion(tx, repositoryId);
  const [row] = await tx<Repository[]>`
    update repository set owner = ${owner}, name = ${name}, owner_key = ${caseKey(owner)},
      name_key = ${caseKey(name)}
    where organization_id = ${organizationId} and repository_id = ${repositoryId}
      and not exists (select 1 from repository r
        where r.organization_id = ${organizationId} and r.repository_id <> ${repositoryId}
          and r.owner_key = ${caseKey(owner)} and r.name_key = ${caseKey(name)})
    returning ${repositoryColumns(tx)}`;
  return row ?? null;
}

/** Deletes a repository and all its data, in a transaction. Returns false when it no longer exists. */
export async function deleteRepository(
  tx: Queryable,
  { organizationId, repositoryId }: Pick<Repository, "organizationId" | "repositoryId">,
): Promise<boolean> {
  // Uploads lock the repository too, so nothing is added during the deletion. On Citus there may be
  // nothing to lock: a worker commits before the coordinator, which may have died since.
  await lockRepository(tx, repositoryId);
  // The archives are kept, so that a watcher does not process them again.
  await tx`update archive set repository_id = null where repository_id = ${repositoryId}`;
  await tx`delete from api_token where repository_id = ${repositoryId}`;
  await tx`delete from quarantine where repository_id = ${repositoryId}`;
  await tx`delete from disruptive_test where repository_id = ${repositoryId}`;
  await tx`delete from failure_text where repository_id = ${repositoryId}`;
  await tx`delete from negative_result where repository_id = ${repositoryId}`;
  await tx`delete from coverage_report where repository_id = ${repositoryId}`;
  await tx`delete from submission where repository_id = ${repositoryId}`;
  await tx`delete from test_tag where repository_id = ${repositoryId}`;
  await tx`delete from test_tag_set where repository_id = ${repositoryId}`;
  await tx`delete from test_list where repository_id = ${repositoryId}`;
  await tx`delete from unpublished_test_range where repository_id = ${repositoryId}`;
  await tx`delete from test where repository_id = ${repositoryId}`;
  await tx`delete from repository_state where repository_id = ${repositoryId}`;
  const { count } = await tx`
    delete from repository
    where organization_id = ${organizationId} and repository_id = ${repositoryId}`;
  return count > 0;
}

/** SQL: the columns of a `Repository`. */
export function repositoryColumns(sql: Queryable) {
  return sql`organization_id as "organizationId", repository_id::float8 as "repositoryId",
    repository_number::float8 as "repositoryNumber", owner, name, url,
    id_prefix::float8 as "idPrefix", extract(epoch from created_at)::float8 as "createdAt"`;
}
