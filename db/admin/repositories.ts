import { writeTransaction } from "../schema/migrate.ts";
import { caseKey, firstSubmissionId, repositoryIdPrefix } from "../../lib/base/identity.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import type { Database } from "../connection/connect.ts";
import type { Organization } from "./organizations.ts";
import type { Queryable } from "../connection/sql.ts";

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
  /** False when nothing is to be seen of it before its first upload is stored; true unless given. */
  isVisible?: boolean;
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
  const { organizationId, name: organization } = wanted.organization;
  // Asked first, so that a name that is taken costs no number.
  const first = await findRepository(sql, { organizationId, ...wanted });
  if (first) return { outcome: "name_taken", repository: first };
  let prefixAttempt = 0;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const repositoryId = wanted.repositoryId ?? await nextRepositoryId(sql);
    const idPrefix = repositoryIdPrefix({ ...wanted, organization }, prefixAttempt);
    const [created] = await sql<Repository[]>`
      insert into repository (organization_id, repository_id, owner, name, owner_key, name_key,
        id_prefix, created_at, is_visible, data_version)
      values (${organizationId}, ${repositoryId}, ${wanted.owner}, ${wanted.name},
        ${caseKey(wanted.owner)}, ${caseKey(wanted.name)}, ${idPrefix},
        to_timestamp(${wanted.createdAt}), ${wanted.isVisible ?? true}, ${firstVersion(sql)})
      on conflict do nothing
      returning ${columns(sql)}`;
    if (created) return { outcome: "created", repository: created };

    const present = await findAnyRepository(sql, { organizationId, ...wanted });
    if (present?.isVisible || (present && wanted.isVisible === false)) {
      return { outcome: "name_taken", repository: present };
    }
    if (present) {
      // What an upload that was cut off left, or one that is still coming created.
      const shown = await showRepository(sql, present, wanted);
      if (shown) return { outcome: "created", repository: shown };
      continue;
    }
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
  const present = await findAnyRepository(sql, { ...wanted, organizationId });
  if (present) return { repository: present, created: false };
  const creation = await createRepository(sql, { ...wanted, repositoryId: undefined });
  // Only a number that was asked for can be refused.
  if (creation.outcome === "id_taken") throw new Error("a free repository number was refused");
  return { repository: creation.repository, created: creation.outcome === "created" };
}

/** The repository of a name, in any case, within an organization. */
export async function findRepository(
  sql: Queryable,
  wanted: RepositoryName & { organizationId: number },
): Promise<Repository | null> {
  const repository = await findAnyRepository(sql, wanted);
  return repository?.isVisible ? repository : null;
}

/** The same, also one of which nothing is to be seen yet. */
async function findAnyRepository(
  sql: Queryable,
  { organizationId, owner, name }: RepositoryName & { organizationId: number },
): Promise<Repository & { isVisible: boolean } | null> {
  const [row] = await sql<(Repository & { isVisible: boolean })[]>`
    select ${columns(sql)}, is_visible as "isVisible" from repository
    where organization_id = ${organizationId} and owner_key = ${caseKey(owner)}
      and name_key = ${caseKey(name)}`;
  return row ?? null;
}

/** Shows a repository as if it were new; `null` when it has to be created after all. */
async function showRepository(
  sql: Queryable,
  { repositoryId }: Repository,
  wanted: NewRepository,
): Promise<Repository | null> {
  if (wanted.repositoryId !== undefined && wanted.repositoryId !== repositoryId) {
    // Nothing but staged tests can belong to it.
    await sql`
      with gone as (
        delete from repository where repository_id = ${repositoryId} and not is_visible
        returning 1
      ), ranges as (
        delete from unpublished_test_range
        where repository_id = ${repositoryId} and exists (select from gone)
      )
      delete from test where repository_id = ${repositoryId} and exists (select from gone)`;
    return null;
  }
  const [shown] = await sql<Repository[]>`
    update repository set is_visible = true, owner = ${wanted.owner}, name = ${wanted.name},
      created_at = to_timestamp(${wanted.createdAt})
    where repository_id = ${repositoryId} and not is_visible
    returning ${columns(sql)}`;
  return shown ?? null;
}

/** All repositories of an organization, by name. */
export async function listRepositories(
  sql: Queryable,
  organizationId: number,
): Promise<Repository[]> {
  return await sql<Repository[]>`
    select ${columns(sql)} from repository
    where organization_id = ${organizationId} and is_visible
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
  return await writeTransaction(sql, async (tx) => {
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
    await tx`delete from unpublished_test_range where repository_id = ${repositoryId}`;
    await tx`delete from test where repository_id = ${repositoryId}`;
    await tx`
      delete from repository
      where organization_id = ${organizationId} and repository_id = ${repositoryId}`;
    return true;
  });
}

/** The next number that is free: numbers may have been given out of turn. */
async function nextRepositoryId(sql: Queryable): Promise<number> {
  const [row] = await sql<{ id: number; isTaken: boolean }[]>`
    select id::float8, exists (select from repository where repository_id = id) as "isTaken"
    from nextval('repository_id_sequence') as id`;
  if (!row!.isTaken) return row!.id;
  const [free] = await sql<{ id: number }[]>`
    select setval('repository_id_sequence', (
      select min(repository_id) + 1 from repository r
      where repository_id >= ${row!.id}
        and not exists (select from repository where repository_id = r.repository_id + 1)
    ))::float8 as id`;
  return free!.id;
}

/** What is known of a repository whose row is locked. */
export interface LockedRepository extends RepositoryName {
  idPrefix: number;
  removalCount: number;
}

/**
 * Locks a repository until the transaction ends, as everybody does who changes its data; `null` when
 * it is gone.
 */
export async function lockRepository(
  tx: Queryable,
  repositoryId: number,
): Promise<LockedRepository | null> {
  const [row] = await tx<LockedRepository[]>`
    select owner, name, id_prefix::float8 as "idPrefix", removal_count::float8 as "removalCount"
    from repository
    where repository_id = ${repositoryId}
    for no key update`;
  return row ?? null;
}

/** SQL: the columns of a `DataVersion` from `repository` r. */
export function versionColumns(sql: Queryable) {
  return sql`extract(epoch from r.created_at)::float8 as "createdAt",
    r.data_version::float8 as "dataVersion"`;
}

/** SQL: the oldest submission of the window of `repository` r, 24 hex digits, null when there is none. */
export function oldestSubmission(sql: Queryable, windowStart: number) {
  return sql`(
    select encode(s.submission_id, 'hex') from submission s
    where s.repository_id = r.repository_id
      and s.submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex')
    order by s.submission_id limit 1)`;
}

/**
 * Where the versions of a new repository begin: after all those of one that had its number before,
 * which was deleted, perhaps within the same second. Answers that are kept of that one are not its.
 */
function firstVersion(sql: Queryable) {
  // Microseconds stay whole in a double for two hundred years more.
  return sql`(extract(epoch from clock_timestamp()) * 1000000)::bigint`;
}

/** Tells everybody who keeps answers about a repository that its data changed. */
export async function bumpDataVersion(tx: Queryable, repositoryId: number): Promise<void> {
  await tx`
    update repository set data_version = data_version + 1 where repository_id = ${repositoryId}`;
}

/** The same for a change after which every test is what it was, but for submissions that came. */
export async function bumpForAddition(tx: Queryable, repositoryId: number): Promise<void> {
  await tx`
    update repository set data_version = data_version + 1, addition_count = addition_count + 1
    where repository_id = ${repositoryId}`;
}

/**
 * Has the tests of a repository loaded as a whole after its next change, because submissions that
 * came since somebody looked may be gone. No answer changes by that, so the version stays.
 */
export async function interruptAdditions(tx: Queryable, repositoryId: number): Promise<void> {
  await tx`
    update repository set addition_count = addition_count - 1 where repository_id = ${repositoryId}`;
}

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "23505";
}

function columns(sql: Queryable) {
  return sql`organization_id as "organizationId", repository_id::float8 as "repositoryId", owner,
    name, id_prefix::float8 as "idPrefix", extract(epoch from created_at)::float8 as "createdAt"`;
}
