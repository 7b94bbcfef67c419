import { caseKey, repositoryIdPrefix } from "../lib/identity.ts";
import type { RepositoryName } from "../lib/repository_name.ts";
import type { Database } from "./connect.ts";
import type { Organization } from "./organizations.ts";
import type { Queryable } from "./sql.ts";

/** A repository as it is stored. */
export interface Repository extends RepositoryName {
  organizationId: number;
  repositoryId: number;
  /** First 44 bits of the ids of its tests. */
  idPrefix: number;
  /** Seconds since 1970. */
  createdAt: number;
}

/** What a new repository is called, and whose it is. */
export interface NewRepository extends RepositoryName {
  organization: Pick<Organization, "organizationId" | "name">;
  /** The next free number when none is given. */
  repositoryId?: number | undefined;
  /** Seconds since 1970. */
  createdAt: number;
}

/** What came of creating a repository. */
export type Creation =
  | { outcome: "created" | "name_taken"; repository: Repository }
  | { outcome: "id_taken" };

// A conflict that no row explains means that the row vanished meanwhile. So many times in a row is
// a fault of this program, and must not become an endless loop.
const MAX_ATTEMPTS = 1_000;

/**
 * Creates a repository. Safe beside others that create the same one: exactly one of them is told
 * that it did.
 */
export async function createRepository(sql: Queryable, wanted: NewRepository): Promise<Creation> {
  let prefixAttempt = 0;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { organizationId, name: organization } = wanted.organization;
    const repositoryId = wanted.repositoryId ?? await nextRepositoryId(sql);
    const idPrefix = repositoryIdPrefix({ ...wanted, organization }, prefixAttempt);
    const [created] = await sql<Repository[]>`
      insert into repository
        (organization_id, repository_id, owner, name, owner_key, name_key, id_prefix, created_at)
      values (${organizationId}, ${repositoryId}, ${wanted.owner}, ${wanted.name},
        ${caseKey(wanted.owner)}, ${caseKey(wanted.name)}, ${idPrefix},
        to_timestamp(${wanted.createdAt}))
      on conflict do nothing
      returning ${columns(sql)}`;
    if (created) return { outcome: "created", repository: created };

    const present = await findRepository(sql, { organizationId, ...wanted });
    if (present) return { outcome: "name_taken", repository: present };
    const [taken] = await sql<{ prefix: boolean; id: boolean }[]>`
      select exists (select from repository where id_prefix = ${idPrefix}) as prefix,
        exists (select from repository where repository_id = ${repositoryId}) as id`;
    if (taken?.id && wanted.repositoryId !== undefined) return { outcome: "id_taken" };
    if (taken?.prefix) prefixAttempt++;
  }
  throw new Error(`no free number for repository ${wanted.owner}/${wanted.name} was found`);
}

/** The repository of a name, created under the next free number when it is new. */
export async function findOrCreateRepository(
  sql: Queryable,
  wanted: Omit<NewRepository, "repositoryId">,
): Promise<{ repository: Repository; created: boolean }> {
  // Looked up first: nearly always it is there, and a sequence number would be lost each time.
  const { organizationId } = wanted.organization;
  const present = await findRepository(sql, { ...wanted, organizationId });
  if (present) return { repository: present, created: false };
  const creation = await createRepository(sql, { ...wanted, repositoryId: undefined });
  // Only a number that was asked for can be refused.
  if (creation.outcome === "id_taken") throw new Error("a free repository number was refused");
  return { repository: creation.repository, created: creation.outcome === "created" };
}

/** The repository of a name, in any case, within an organization. */
export async function findRepository(
  sql: Queryable,
  { organizationId, owner, name }: RepositoryName & { organizationId: number },
): Promise<Repository | null> {
  const [row] = await sql<Repository[]>`
    select ${columns(sql)} from repository
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
    select ${columns(sql)} from repository
    where organization_id = ${organizationId}
    order by owner_key collate "C", name_key collate "C"`;
}

/**
 * Gives a repository another name; the ids of its tests stay. Returns `null` when the name belongs
 * to another repository of the organization, or when the repository was deleted meanwhile.
 */
export async function renameRepository(
  sql: Queryable,
  repository: Pick<Repository, "organizationId" | "repositoryId">,
  { owner, name }: RepositoryName,
): Promise<Repository | null> {
  try {
    const [row] = await sql<Repository[]>`
      update repository set owner = ${owner}, name = ${name}, owner_key = ${caseKey(owner)},
        name_key = ${caseKey(name)}, data_version = data_version + 1
      where organization_id = ${repository.organizationId}
        and repository_id = ${repository.repositoryId}
      returning ${columns(sql)}`;
    return row ?? null;
  } catch (error) {
    if (isUniqueViolation(error)) return null;
    throw error;
  }
}

/** Deletes a repository with all that belongs to it. Returns false when it was gone already. */
export async function deleteRepository(
  sql: Database["sql"],
  { organizationId, repositoryId }: Pick<Repository, "organizationId" | "repositoryId">,
): Promise<boolean> {
  return await sql.begin(async (tx) => {
    // Whoever stores a submission holds this row too, so nothing is added while it goes.
    const [locked] = await tx`
      select from repository
      where organization_id = ${organizationId} and repository_id = ${repositoryId}
      for update`;
    if (!locked) return false;
    // Kept, so that a watcher does not take the same archives again; only whose they were is forgotten.
    await tx`update archive set repository_id = null where repository_id = ${repositoryId}`;
    await tx`delete from quarantine where repository_id = ${repositoryId}`;
    await tx`delete from disruptive_test where repository_id = ${repositoryId}`;
    await tx`delete from negative_result where repository_id = ${repositoryId}`;
    await tx`delete from coverage_report where repository_id = ${repositoryId}`;
    await tx`delete from submission where repository_id = ${repositoryId}`;
    await tx`delete from test_tag_set where repository_id = ${repositoryId}`;
    await tx`delete from test_list where repository_id = ${repositoryId}`;
    await tx`delete from test where repository_id = ${repositoryId}`;
    await tx`
      delete from repository
      where organization_id = ${organizationId} and repository_id = ${repositoryId}`;
    return true;
  });
}

async function nextRepositoryId(sql: Queryable): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    select nextval('repository_id_sequence')::float8 as id`;
  return row!.id;
}

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "23505";
}

function columns(sql: Queryable) {
  return sql`organization_id as "organizationId", repository_id::float8 as "repositoryId", owner,
    name, id_prefix::float8 as "idPrefix", extract(epoch from created_at)::float8 as "createdAt"`;
}
