/** The quarantine policies of organizations and repositories. */
import type { QuarantinePolicy } from "../../lib/analysis/quarantine_policy.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import type { Queryable } from "../connection/sql.ts";

/**
 * Sets the policy of a repository, or with `null` of all repositories without their own. The policy
 * `null` turns it off.
 */
export async function setPolicy(
  tx: Queryable,
  { organizationId, repositoryId }: { organizationId: number; repositoryId: number | null },
  policy: QuarantinePolicy | null,
): Promise<void> {
  const value = JSON.stringify(policy);
  if (repositoryId === null) {
    await tx`
      update organization set quarantine_policy = ${value}::text::jsonb
      where organization_id = ${organizationId}`;
  } else {
    await tx`
      update repository set quarantine_policy = ${value}::text::jsonb
      where organization_id = ${organizationId} and repository_id = ${repositoryId}`;
  }
}

/** The policy that applies to a repository, `null` when it is off. */
export async function loadPolicy(
  sql: Queryable,
  { organizationId, repositoryId }: { organizationId: number; repositoryId: number },
): Promise<QuarantinePolicy | null> {
  const [row] = await sql<{ policy: string | null }[]>`
    select coalesce(r.quarantine_policy, o.quarantine_policy)::text as policy
    from repository r
    join organization o on o.organization_id = r.organization_id
    where r.organization_id = ${organizationId} and r.repository_id = ${repositoryId}`;
  return JSON.parse(row?.policy ?? "null");
}

/** The policies of an organization, its own (without a repository) first; `null`: off. */
export async function listPolicies(
  sql: Queryable,
  organizationId: number,
): Promise<{ repository: RepositoryName | null; policy: QuarantinePolicy | null }[]> {
  const rows = await sql<{ owner: string | null; name: string; policy: string }[]>`
    select null as owner, '' as name, quarantine_policy::text as policy from organization
    where organization_id = ${organizationId} and quarantine_policy is not null
    union all (
      select owner, name, quarantine_policy::text from repository
      where organization_id = ${organizationId} and quarantine_policy is not null
      order by owner_key collate "C", name_key collate "C")`;
  return rows.map(({ owner, name, policy }) => ({
    repository: owner === null ? null : { owner, name },
    policy: JSON.parse(policy),
  }));
}
