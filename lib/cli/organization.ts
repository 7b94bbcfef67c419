// Tests: tests/lib/cli/commands/digest_test.ts tests/lib/cli/commands/export_test.ts
/** Finds the organization and the repositories that the options of a command name. */
import * as v from "valibot";
import {
  findDefaultOrganization,
  findOrganization,
  listOrganizations,
  type Organization,
} from "../../db/admin/organizations.ts";
import { findRepository, listRepositories, type Repository } from "../../db/admin/repositories.ts";
import type { Queryable } from "../../db/connection/sql.ts";
import { formatRepositoryName, type RepositoryName } from "../base/repository_name.ts";
import { quote, shellWord } from "../base/quote.ts";
import { PROGRAM } from "../base/version.ts";
import type { CommandContext } from "./command.ts";
import { option } from "./parameters.ts";
import { lineOfText } from "../base/value_schemas.ts";
import { Failure, UsageError } from "../base/failure.ts";

export const ORG = option(
  "<name>",
  "organization (default: the only one)",
  v.undefinedable(lineOfText),
);

/** `--yes`, for commands that delete data. */
export const YES = option(
  "",
  "confirm the deletion, which cannot be undone",
  v.literal(true),
);

/** Finds an organization by its name. @throws {Failure} when it does not exist */
export async function requireOrganization(sql: Queryable, name: string): Promise<Organization> {
  const organization = await findOrganization(sql, name);
  if (!organization) throw unknownOrganization(name);
  return organization;
}

/**
 * Opens the database, and finds an organization in it: the only one, or the one named after the owner of
 * a repository, unless it is named. @throws {Failure} when it does not exist
 */
export async function openOrganization(
  context: CommandContext,
  name: string | undefined,
  owner?: string,
) {
  const { sql } = await context.openDatabase();
  if (name !== undefined) return { sql, organization: await requireOrganization(sql, name) };
  const organization = await findDefaultOrganization(sql, owner);
  if (organization) return { sql, organization };
  const names = (await listOrganizations(sql)).map(({ name }) => quote(name));
  throw names.length === 0
    ? new Failure(`no organization yet: create one with \`${PROGRAM} org create NAME\``)
    : new UsageError(`missing option '--org <name>': expected one of ${names.join(", ")}`);
}

/** The error for an organization that does not exist. */
export function unknownOrganization(name: string): Failure {
  return new Failure(
    `organization "${name}" is unknown: create it with ` +
      `\`${PROGRAM} org create ${shellWord(name)}\`, or ` +
      `list all with \`${PROGRAM} org list\``,
  );
}

/**
 * Finds a repository of an organization.
 *
 * @param options `isPreparation`: the command may precede the first upload, so that the error names the
 * command that creates the repository
 * @throws {Failure} when it does not exist
 */
export async function requireRepository(
  sql: Queryable,
  organization: Organization,
  name: RepositoryName,
  { isPreparation = false } = {},
): Promise<Repository> {
  const repository = await findRepository(sql, { ...organization, ...name });
  if (!repository) {
    const fullName = formatRepositoryName(name);
    const org = `--org ${shellWord(organization.name)}`;
    const create = `\`${PROGRAM} repo create ${shellWord(fullName)} ${org}\` creates it, `;
    throw new Failure(
      `repository "${fullName}" is unknown in "${organization.name}": ` +
        `${isPreparation ? create : ""}\`${PROGRAM} repo list ${org}\` shows all`,
    );
  }
  return repository;
}

/** The repository of this name, otherwise all of an organization. @throws {Failure} when it does not exist */
export async function selectRepositories(
  sql: Queryable,
  organization: Organization,
  name: RepositoryName | undefined,
): Promise<Repository[]> {
  return name
    ? [await requireRepository(sql, organization, name)]
    : await listRepositories(sql, organization.organizationId);
}
