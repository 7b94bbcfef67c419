import { caseKey, repositoryIdPrefix } from "../../lib/base/identity.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import type { Queryable } from "../connection/sql.ts";
import type { Organization } from "./organizations.ts";
import { lockRepository, showRepository } from "../write/repository_row.ts";
import { findAnyRepository, type Repository, repositoryColumns } from "./repositories.ts";

export interface NewRepository extends RepositoryName {
  organization: Pick<Organization, "organizationId" | "name">;
  /** The next free number of the organization unless given. */
  repositoryNumber?: number | undefined;
  /** Seconds since 1970. */
  createdAt: number;
}

/** Result of {@linkcode createRepository}. */
export type RepositoryCreation =
  | { outcome: "created" | "name_taken"; repository: Repository }
  | { outcome: "number_taken" };

// More conflicts than a name or a prefix of ids can have.
const MAX_ATTEMPTS = 1_000;

/**
 * Creates a repository, in a transaction that is to be rolled back unless the outcome is `created`.
 * Of concurrent callers with the same name exactly one gets `created`.
 */
export async function createRepository(
  tx: Queryable,
  creation: NewRepository,
): Promise<RepositoryCreation> {
  const { organizationId } = creation.organization;
  const { repository } = await findOrCreateRepository(tx, creation);
  // Its first upload may be in progress: waits for the end.
  await lockRepository(tx, repository.repositoryId);
  const present = await findAnyRepository(tx, { organizationId, ...creation });
  if (present?.isVisible) return { outcome: "name_taken", repository: present };
  const { repositoryId } = repository;
  const given = creation.repositoryNumber;
  if (!await showRepository(tx, repositoryId, given)) {
    return { outcome: "number_taken" };
  }
  const [created] = await tx<Repository[]>`
    update repository set owner = ${creation.owner}, name = ${creation.name},
      created_at = to_timestamp(${creation.createdAt})
    where repository_id = ${repositoryId}
    returning ${repositoryColumns(tx)}`;
  return { outcome: "created", repository: created! };
}

/** The repository with a name; created if it does not exist, hidden until its first upload. */
export async function findOrCreateRepository(
  sql: Queryable,
  { organization, owner, name, createdAt }: Omit<NewRepository, "repositoryNumber">,
): Promise<{ repository: Repository; created: boolean }> {
  const { organizationId } = organization;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const present = await findAnyRepository(sql, { organizationId, owner, name });
    if (present?.isVisible) return { repository: present, created: false };
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
    return { repository, created: !present };
  }
  throw new Error(`no free prefix of test ids found for repository ${owner}/${name}`);
}
