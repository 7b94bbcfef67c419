import * as v from "valibot";
import { createRepository } from "../../../db/admin/create_repository.ts";
import {
  deleteRepository,
  findRepository,
  listRepositories,
  renameRepository,
  type Repository,
} from "../../../db/admin/repositories.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { type AddCommand, command, type CommandContext, group } from "../command.ts";
import { Failure } from "../errors.ts";
import {
  confirmation,
  ORG,
  repositoryRecord,
  requireOrganization,
  requireRepository,
  YES,
} from "../resources.ts";
import { lineOfText, repositoryId, repositoryName } from "../values.ts";

const REPOSITORY = { "<repository>": "OWNER/NAME, split at the last slash" };

const createCommand = command({
  name: "create",
  summary: "Create a repository; prints OWNER/NAME",
  example: "repo create acme/shop --org acme",
  arguments: { ...REPOSITORY },
  options: { ...ORG, "--id <n>": "numeric id (default: the next free one)" },
  input: v.object({
    org: lineOfText,
    repository: repositoryName,
    id: v.optional(repositoryId),
  }),
  async run({ org, repository, id }, context) {
    const { sql } = await context.openDatabase();
    const organization = await requireOrganization(sql, org);
    const creation = await createRepository(sql, {
      ...repository,
      organization,
      repositoryNumber: id,
      createdAt: context.now,
    });
    if (creation.outcome === "number_taken") {
      throw new Failure(`repository id ${id} is already used`);
    }
    if (creation.outcome === "name_taken") {
      const name = formatRepositoryName(creation.repository);
      throw new Failure(`repository "${name}" already exists`);
    }
    await printRepository(context, creation.repository);
  },
});

const listCommand = command({
  name: "list",
  summary: "List an organization's repositories: OWNER/NAME, id, creation",
  example: "repo list --org acme",
  options: { ...ORG },
  input: v.object({ org: lineOfText }),
  async run({ org }, context) {
    const { sql } = await context.openDatabase();
    const organization = await requireOrganization(sql, org);
    const repositories = await listRepositories(sql, organization.organizationId);
    await context.printList(
      repositories.map(repositoryRecord),
      (record) => [formatRepositoryName(record), record.repository_id, record.created_at],
    );
  },
});

const renameCommand = command({
  name: "rename",
  summary: "Rename a repository, keeping the ids of its tests; prints the new OWNER/NAME",
  example: "repo rename acme/shop acme/store --org acme",
  arguments: { ...REPOSITORY, "<new-name>": "new OWNER/...NAME" },
  options: { ...ORG },
  input: v.object({ org: lineOfText, repository: repositoryName, newName: repositoryName }),
  async run({ org, repository, newName }, context) {
    const { sql } = await context.openDatabase();
    const organization = await requireOrganization(sql, org);
    const present = await requireRepository(sql, organization, repository);
    const renamed = await renameRepository(sql, present, newName);
    if (!renamed) {
      // The target exists, or the repository was deleted in the meantime.
      const taken = await findRepository(sql, { ...organization, ...newName });
      throw new Failure(
        taken
          ? `repository "${formatRepositoryName(taken)}" already exists`
          : `repository "${formatRepositoryName(present)}" was deleted in the meantime`,
      );
    }
    await printRepository(context, renamed);
  },
});

const deleteCommand = command({
  name: "delete",
  summary: "Delete a repository and all its data; prints OWNER/NAME",
  example: "repo delete acme/shop --org acme --yes",
  arguments: { ...REPOSITORY },
  options: { ...ORG, ...YES },
  input: v.object({ org: lineOfText, repository: repositoryName, yes: confirmation }),
  async run({ org, repository }, context) {
    const { sql } = await context.openDatabase();
    const organization = await requireOrganization(sql, org);
    const present = await requireRepository(sql, organization, repository);
    if (!await deleteRepository(sql, present)) {
      context.note(`repository "${formatRepositoryName(present)}" was deleted in the meantime`);
    }
    await printRepository(context, present);
  },
});

/** `repo create`, `repo list`, `repo rename` and `repo delete`. */
export const repoCommands: AddCommand = group({
  name: "repo",
  summary: "Create, list, rename and delete repositories",
  example: "repo list --org acme",
  commands: [createCommand, listCommand, renameCommand, deleteCommand],
});

async function printRepository(context: CommandContext, repository: Repository) {
  await context.print(formatRepositoryName(repository), repositoryRecord(repository));
}
