import type { DataVersion, Versioned } from "../../lib/base/data_version.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";

export interface RepositoryDetails extends RepositoryName, DataVersion {
  repositoryId: number;
  /** Unique within the organization. */
  repositoryNumber: number;
  /** Of the ids of its tests. */
  idPrefix: number;
  /** Its page, `""` when unknown. */
  url: string;
}

/** The given repositories that still exist, by owner and name in any case. */
export async function loadRepositoryDetails(
  sql: Queryable,
  { repositoryIds }: { repositoryIds: readonly number[] },
): Promise<RepositoryDetails[]> {
  return await sql<RepositoryDetails[]>`
    select r.repository_id::float8 as "repositoryId",
      r.repository_number::float8 as "repositoryNumber",
      r.id_prefix::float8 as "idPrefix", r.owner, r.name, r.url,
      v.data_version::float8 as "dataVersion"
    from repository r
    cross join lateral repository_version(r.repository_id, null, null) v
    where r.repository_id = any(${arrayOf(repositoryIds)}::bigint[])
    order by (r.owner_key || '/' || r.name_key) collate "C"`;
}

/** One of them, `null` when it is gone. */
export async function loadRepository(
  sql: Queryable,
  { repositoryId }: { repositoryId: number },
): Promise<Versioned<RepositoryDetails> | null> {
  const [repository] = await loadRepositoryDetails(sql, { repositoryIds: [repositoryId] });
  return repository ? { ...repository, version: repository } : null;
}
