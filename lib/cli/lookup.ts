import { findOrganization, type Organization } from "../../db/admin/organizations.ts";
import { findRepository, type Repository } from "../../db/admin/repositories.ts";
import type { Queryable } from "../../db/connection/sql.ts";
import { formatRepositoryName, type RepositoryName } from "../base/repository_name.ts";
import { Failure } from "./errors.ts";

/**
 * Finds an organization by its name.
 *
 * @throws {Failure} when it does not exist
 */
export async function requireOrganization(sql: Queryable, name: string): Promise<Organization> {
  const organization = await findOrganization(sql, name);
  if (!organization) {
    throw new Failure(
      `organization "${name}" is unknown: create it with \`test-analytics org create NAME\`, or ` +
        "list all with `test-analytics org list`",
    );
  }
  return organization;
}

/**
 * Finds a repository of an organization.
 *
 * @throws {Failure} when it does not exist
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
        "`test-analytics repo list --org NAME` shows all",
    );
  }
  return repository;
}
