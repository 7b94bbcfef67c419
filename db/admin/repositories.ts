import { caseKey, repositoryIdPrefix } from "../../lib/base/identity.ts";
import { formatRepositoryName, type RepositoryName } from "../../lib/base/repository_name.ts";
import type { Queryable } from "../connection/sql.ts";
import { repositoryTables } from "../schema/distribute.ts";
import { bumpDataVersion, lockRepository, showRepository } from "../write/repository_row.ts";
import type { Organization } from "./organizations.ts";

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

interface NewRepository extends RepositoryName {
  organization: Pick<Organization, "organizationId" | "name">;
  /** The next free number of the organization unless given. */
  repositoryNumber?: number | undefined;
  createdAt: number;
}

/**
 * Creates a repository, in a transaction. Of concurrent callers with the same name one succeeds.
 * @throws {RangeError} when its name or number is taken
 */
export async function createRepository(
  tx: Queryable,
  creation: NewRepository,
): Promise<Repository> {
  const { organizationId } = creation.organization;
  const { repositoryId } = await findOrCreateRepository(tx, creation);
  // Its first upload may be in progress: waits for the end.
  await lockRepository(tx, repositoryId);
  const present = await findRepository(tx, { organizationId, ...creation });
  if (present) {
    throw new RangeError(`repository "${formatRepositoryName(present)}" already exists`);
  }
  await showRepository(tx, repositoryId, creation.repositoryNumber);
  const [created] = await tx<Repository[]>`
    update repository set owner = ${creation.owner}, name = ${creation.name},
      created_at = to_timestamp(${creation.createdAt})
    where repository_id = ${repositoryId}
    returning ${repositoryColumns(tx)}`;
  return created!;
}

/** The repository with a name; created if it does not exist, hidden until its first upload. */
export async function findOrCreateRepository(
  sql: Queryable,
  { organization, owner, name, createdAt }: Omit<NewRepository, "repositoryNumber">,
): Promise<Repository> {
  const { organizationId } = organization;
  // Another process may create it at the same time, or another repository have the prefix.
  for (let attempt = 0;; attempt++) {
    const present = await findAnyRepository(sql, { organizationId, owner, name });
    if (present?.isVisible) return present;
    const prefix = repositoryIdPrefix({ organization: organization.name, owner, name }, attempt);
    const [created] = present ? [] : await sql<Repository[]>`
      insert into repository
        (organization_id, owner, name, owner_key, name_key, id_prefix, created_at)
      values (${organizationId}, ${owner}, ${name}, ${caseKey(owner)}, ${caseKey(name)}, ${prefix},
        to_timestamp(${createdAt}))
      on conflict do nothing
      returning ${repositoryColumns(sql)}`;
    const repository = created ?? present;
    if (!repository) continue;
    // Also for one that is hidden: the process that created it may have been killed before this.
    // Microseconds are exact in a double until 2255.
    await sql`
      insert into repository_state (repository_id, id_prefix, data_version)
      values (${repository.repositoryId}, ${repository.idPrefix},
        (extract(epoch from clock_timestamp()) * 1000000)::bigint)
      on conflict do nothing`;
    return repository;
  }
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
async function findAnyRepository(
  sql: Queryable,
  { organizationId, owner, name }: RepositoryName & { organizationId: number },
): Promise<Repository & { isVisible: boolean } | undefined> {
  const [row] = await sql<(Repository & { isVisible: boolean })[]>`
    select ${repositoryColumns(sql)}, repository_number is not null as "isVisible"
    from repository
    where organization_id = ${organizationId} and owner_key = ${caseKey(owner)}
      and name_key = ${caseKey(name)}`;
  return row;
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
 * repository of the organization has the name.
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

/** Deletes a repository and all its data, in a transaction. */
export async function deleteRepository(
  tx: Queryable,
  { organizationId, repositoryId }: Pick<Repository, "organizationId" | "repositoryId">,
): Promise<void> {
  // Uploads lock the repository too, so nothing is added during the deletion. On Citus there may be
  // nothing to lock: a worker commits before the coordinator, which may have died since.
  await lockRepository(tx, repositoryId);
  // The rows stay, so that a watcher does not process the archives again.
  await tx`
    update archive set repository_id = null,
      status = case status when 'processed' then 'deleted' else status end
    where repository_id = ${repositoryId}`;
  await tx`delete from api_token where repository_id = ${repositoryId}`;
  for (const table of await repositoryTables(tx)) {
    await tx`delete from ${tx(table)} where repository_id = ${repositoryId}`;
  }
  await tx`
    delete from repository
    where organization_id = ${organizationId} and repository_id = ${repositoryId}`;
}

/** SQL: the columns of a `Repository`. */
export function repositoryColumns(sql: Queryable) {
  return sql`organization_id as "organizationId", repository_id::float8 as "repositoryId",
    repository_number::float8 as "repositoryNumber", owner, name, url,
    id_prefix::float8 as "idPrefix", extract(epoch from created_at)::float8 as "createdAt"`;
}
