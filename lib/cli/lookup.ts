import { findOrganization, type Organization } from "../../db/admin/organizations.ts";
import { findRepository, type Repository } from "../../db/admin/repositories.ts";
import type { Queryable } from "../../db/connection/sql.ts";
import { formatRepositoryName, type RepositoryName } from "../base/repository_name.ts";
import { Failure } from "./errors.ts";

/**
 * The organization that a command names.
 *
 * @throws {Failure} when there is none of the name
 */
export async function requireOrganization(sql: Queryable, name: string): Promise<Organization> {
  const organization = await findOrganization(sql, name);
  if (!organization) {
    throw new Failure(
      `organization "${name}" is unknown: \`test-analytics org create NAME\` creates it, ` +
        "`test-analytics org list` shows all",
    );
  }
  return organization;
}

/**
 * The repository that a command names.
 *
 * @throws {Failure} when the organization has none of the name
 */
export async function requireRepository(
  sql: Queryable,
  organization: Organization,
  name: RepositoryName,
): Promise<Repository> {
  const repository = await findRepository(sql, { ...organization, ...name });
  if (!repository) {
    throw new Failure(
      `repository "${formatRepositoryName(name)}" is unknown in "${organization.name}": ` +
        `expected one that \`repo list\` shows`,
    );
  }
  return repository;
}
