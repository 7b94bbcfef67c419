import { caseKey, repositoryIdPrefix } from "../../lib/base/identity.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import type { Queryable } from "../connection/sql.ts";
import type { Organization } from "./organizations.ts";
import {
  findAnyRepository,
  findRepository,
  type Repository,
  repositoryColumns,
} from "./repositories.ts";

/** A repository to create. */
export interface NewRepository extends RepositoryName {
  organization: Pick<Organization, "organizationId" | "name">;
  /** The next free number of the organization unless given. */
  repositoryNumber?: number | undefined;
  /** Seconds since 1970. */
  createdAt: number;
  /** False hides it until its first upload is stored; true by default. */
  isVisible?: boolean;
}

/** Result of {@linkcode createRepository}. */
export type RepositoryCreation =
  | { outcome: "created" | "name_taken"; repository: Repository }
  | { outcome: "number_taken" };

// A conflict without a conflicting row means that the row was deleted since. Bounded, so that a bug
// cannot become an endless loop.
const MAX_ATTEMPTS = 1_000;

/** Creates a repository. Of concurrent callers with the same name exactly one gets `created`. */
export async function createRepository(
  sql: Queryable,
  wanted: NewRepository,
): Promise<RepositoryCreation> {
  const { organizationId, name: organization } = wanted.organization;
  // Checked first, so that a name that is taken uses up no number.
  const first = await findRepository(sql, { organizationId, ...wanted });
  if (first) return { outcome: "name_taken", repository: first };
  let prefixAttempt = 0;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const repositoryNumber = wanted.repositoryNumber ?? await nextNumber(sql, organizationId);
    const idPrefix = repositoryIdPrefix({ ...wanted, organization }, prefixAttempt);
    const [created] = await sql<Repository[]>`
      insert into repository (organization_id, repository_number, owner, name, owner_key,
        name_key, id_prefix, created_at, is_visible, data_version)
      values (${organizationId}, ${repositoryNumber}, ${wanted.owner}, ${wanted.name},
        ${caseKey(wanted.owner)}, ${caseKey(wanted.name)}, ${idPrefix},
        to_timestamp(${wanted.createdAt}), ${wanted.isVisible ?? true}, ${firstVersion(sql)})
      on conflict do nothing
      returning ${repositoryColumns(sql)}`;
    if (created) return { outcome: "created", repository: created };

    const present = await findAnyRepository(sql, { organizationId, ...wanted });
    if (present?.isVisible || (present && wanted.isVisible === false)) {
      return { outcome: "name_taken", repository: present };
    }
    if (present) {
      // Left by an interrupted upload, or created by one that is in progress.
      const shown = await showRepository(sql, present, wanted);
      if (shown) return { outcome: "created", repository: shown };
      continue;
    }
    const [taken] = await sql<{ prefix: boolean; number: boolean }[]>`
      select exists (select from repository where id_prefix = ${idPrefix}) as prefix,
        exists (
          select from repository
          where organization_id = ${organizationId} and repository_number = ${repositoryNumber}
        ) as number`;
    if (taken?.number && wanted.repositoryNumber !== undefined) return { outcome: "number_taken" };
    if (taken?.prefix) prefixAttempt++;
  }
  throw new Error(`no free number found for repository ${wanted.owner}/${wanted.name}`);
}

/** The repository with a name, created under the next free number if it does not exist. */
export async function findOrCreateRepository(
  sql: Queryable,
  wanted: Omit<NewRepository, "repositoryNumber">,
): Promise<{ repository: Repository; created: boolean }> {
  // Looked up first: it nearly always exists, and a failed insert would use up a number.
  const { organizationId } = wanted.organization;
  const present = await findAnyRepository(sql, { ...wanted, organizationId });
  if (present) return { repository: present, created: false };
  const creation = await createRepository(sql, { ...wanted, repositoryNumber: undefined });
  // Only a given number can be taken.
  if (creation.outcome === "number_taken") throw new Error("a free repository number was taken");
  return { repository: creation.repository, created: creation.outcome === "created" };
}

/** Makes a hidden repository visible; `null` when it has to be created after all. */
async function showRepository(
  sql: Queryable,
  { repositoryId, repositoryNumber }: Repository,
  wanted: NewRepository,
): Promise<Repository | null> {
  if (wanted.repositoryNumber !== undefined && wanted.repositoryNumber !== repositoryNumber) {
    // It has no data but unpublished tests.
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
    returning ${repositoryColumns(sql)}`;
  return shown ?? null;
}

/** The next free number of an organization: numbers given by users may be ahead of the counter. */
async function nextNumber(sql: Queryable, organizationId: number): Promise<number> {
  const [row] = await sql<{ number: number; isTaken: boolean }[]>`
    update organization o set next_repository_number = next_repository_number + 1
    where organization_id = ${organizationId}
    returning (next_repository_number - 1)::float8 as number,
      exists (
        select from repository r
        where r.organization_id = o.organization_id
          and r.repository_number = o.next_repository_number - 1
      ) as "isTaken"`;
  if (!row!.isTaken) return row!.number;
  const [free] = await sql<{ number: number }[]>`
    with free as (
      select min(r.repository_number) + 1 as number from repository r
      where r.organization_id = ${organizationId} and r.repository_number >= ${row!.number}
        and not exists (
          select from repository f
          where f.organization_id = r.organization_id
            and f.repository_number = r.repository_number + 1)
    )
    update organization set next_repository_number = free.number + 1 from free
    where organization_id = ${organizationId}
    returning free.number::float8 as number`;
  return free!.number;
}

/**
 * The first data version of a new repository: above all versions of a deleted one that had the same
 * id, so that cached responses of that one never match.
 */
function firstVersion(sql: Queryable) {
  // Microseconds are exact in a double until the year 2255.
  return sql`(extract(epoch from clock_timestamp()) * 1000000)::bigint`;
}
