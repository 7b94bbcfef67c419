// Tests: tests/routes/repositories_test.ts
import { caseKey, repositoryIdPrefix } from "../../lib/base/identity.ts";
import { formatRepositoryName, type RepositoryName } from "../../lib/base/repository_name.ts";
import type { Queryable } from "../connection/sql.ts";
import { repositoryTables } from "../schema/distribute.ts";
import { bumpDataVersion, lockRepository } from "../write/repository_row.ts";
import { lockOrganization, type Organization } from "./organizations.ts";

export interface Repository extends RepositoryName {
  organizationId: number;
  repositoryId: number;
  /** Its `repository_id` in the API, unique in the organization. */
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
  await lockOrganization(tx, creation.organization);
  const present = await findRepository(tx, { ...creation.organization, ...creation });
  if (present) {
    throw new RangeError(`repository "${formatRepositoryName(present)}" already exists`);
  }
  return await insertRepository(tx, creation);
}

/**
 * The repository with a name, created if it does not exist, in the transaction of its first upload: one
 * that fails leaves no repository and uses up no number.
 */
export async function findOrCreateRepository(
  tx: Queryable,
  creation: Omit<NewRepository, "repositoryNumber">,
): Promise<Repository> {
  const name = { ...creation.organization, ...creation };
  const present = await findRepository(tx, name);
  if (present) return present;
  await lockOrganization(tx, creation.organization);
  // Another transaction may have created it meanwhile.
  return await findRepository(tx, name) ?? await insertRepository(tx, creation);
}

/** Inserts a repository whose name is free. @throws {RangeError} when its number is taken */
async function insertRepository(
  tx: Queryable,
  { organization, owner, name, createdAt, repositoryNumber: given }: NewRepository,
): Promise<Repository> {
  const { organizationId } = organization;
  const number = given ?? await nextNumber(tx, organizationId);
  if (given !== undefined) {
    const [taken] = await tx`
      select 1 from repository
      where organization_id = ${organizationId} and repository_number = ${given}`;
    if (taken) throw new RangeError(`repository id ${given} is already used`);
  }
  // Another repository may have the prefix: one that was renamed, or by chance.
  for (let attempt = 0;; attempt++) {
    const prefix = repositoryIdPrefix({ organization: organization.name, owner, name }, attempt);
    const [created] = await tx<Repository[]>`
      insert into repository (organization_id, repository_number, owner, name, owner_key, name_key,
        id_prefix, created_at)
      values (${organizationId}, ${number}, ${owner}, ${name}, ${caseKey(owner)}, ${caseKey(name)},
        ${prefix}, to_timestamp(${createdAt}))
      on conflict (id_prefix) do nothing
      returning ${repositoryColumns(tx)}`;
    if (!created) continue;
    await insertRepositoryState(tx, created);
    return created;
  }
}

/** Stores the state of a new repository. */
export async function insertRepositoryState(
  tx: Queryable,
  { repositoryId, idPrefix }: Pick<Repository, "repositoryId" | "idPrefix">,
): Promise<void> {
  // Microseconds are exact in a double until 2255.
  await tx`
    insert into repository_state (repository_id, id_prefix, data_version)
    values (${repositoryId}, ${idPrefix},
      (extract(epoch from clock_timestamp()) * 1000000)::bigint)`;
}

/** Takes the next free number of an organization: given numbers may be ahead of the counter. */
async function nextNumber(tx: Queryable, organizationId: number): Promise<number> {
  const [row] = await tx<{ number: number }[]>`
    update organization o set next_repository_number = 1 + (
      select min(number) from generate_series(o.next_repository_number, o.next_repository_number + (
        select count(*) from repository r where r.organization_id = o.organization_id)) as number
      where not exists (select 1 from repository r
        where r.organization_id = o.organization_id and r.repository_number = number))
    where organization_id = ${organizationId}
    returning (next_repository_number - 1)::float8 as number`;
  return row!.number;
}

/** The repository with a name (case-insensitive) within an organization. */
export async function findRepository(
  sql: Queryable,
  { organizationId, owner, name }: RepositoryName & { organizationId: number },
): Promise<Repository | null> {
  const [row] = await sql<Repository[]>`
    select ${repositoryColumns(sql)} from repository
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
    where organization_id = ${organizationId}
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
  await lockOrganization(tx, repository);
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

/** Sets the base branch of a repository, in a transaction; `null`: as CI says, or by the builds. */
export async function setBaseBranch(
  tx: Queryable,
  { organizationId, repositoryId }: Pick<Repository, "organizationId" | "repositoryId">,
  baseBranch: string | null,
): Promise<void> {
  // Pages and verdicts that are cached are of the branch before.
  await bumpDataVersion(tx, repositoryId);
  await tx`
    update repository set base_branch = ${baseBranch}
    where organization_id = ${organizationId} and repository_id = ${repositoryId}`;
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
  await tx`
    delete from trusted_issuer
    where organization_id = ${organizationId} and repository_id = ${repositoryId}`;
  // Messages of webhooks for all repositories name its tests too.
  await tx`
    delete from webhook_delivery
    where organization_id = ${organizationId} and repository_id = ${repositoryId}`;
  await tx`
    delete from webhook
    where organization_id = ${organizationId} and repository_id = ${repositoryId}`;
  for (const table of await repositoryTables(tx)) {
    await tx`delete from ${tx(table)} where repository_id = ${repositoryId}`;
  }
  await tx`
    delete from repository
    where organization_id = ${organizationId} and repository_id = ${repositoryId}`;
}

export function repositoryColumns(sql: Queryable) {
  return sql`organization_id as "organizationId", repository_id::float8 as "repositoryId",
    repository_number::float8 as "repositoryNumber", owner, name, url,
    id_prefix::float8 as "idPrefix", extract(epoch from created_at)::float8 as "createdAt"`;
}
