import * as v from "valibot";
import { releaseRepository } from "../../../db/admin/quarantine.ts";
import {
  createRepository,
  deleteRepository,
  listRepositories,
  renameRepository,
  type Repository,
} from "../../../db/admin/repositories.ts";
import { writeTransaction } from "../../../db/write/transaction.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { type AddCommand, command, type CommandContext, group } from "../command.ts";
import { argument, option, repositoryId, repositoryName } from "../parameters.ts";
import { Failure } from "../errors.ts";
import { openOrganization, ORG, repositoryRecord, requireRepository, YES } from "../resources.ts";

const REPOSITORY = argument("OWNER/NAME, split at the last slash", repositoryName);

const createCommand = command({
  name: "create",
  summary: "Create a repository; prints OWNER/NAME",
  example: "repo create acme/shop --org acme",
  input: {
    repository: REPOSITORY,
    org: ORG,
    id: option("<n>", "numeric id (default: the next free one)", v.optional(repositoryId)),
  },
  async run({ org, repository, id }, context) {
    const { sql, organization } = await openOrganization(context, org);
    const created = await writeTransaction(sql, async (tx) => {
      const created = await createRepository(tx, {
        ...repository,
        organization,
        repositoryNumber: id,
        createdAt: context.now,
      });
      await context.logChange(tx, changeOf(created));
      return created;
    });
    await printRepository(context, created);
  },
});

const listCommand = command({
  name: "list",
  summary: "List an organization's repositories: OWNER/NAME, id, creation",
  example: "repo list --org acme",
  input: { org: ORG },
  async run({ org }, context) {
    const { sql, organization } = await openOrganization(context, org);
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
  input: {
    repository: REPOSITORY,
    newName: argument("new OWNER/NAME", repositoryName),
    org: ORG,
  },
  async run({ org, repository, newName }, context) {
    const { sql, organization } = await openOrganization(context, org);
    const present = await requireRepository(sql, organization, repository);
    const renamed = await writeTransaction(sql, async (tx) => {
      const renamed = await renameRepository(tx, present, newName);
      const detail = { new_name: formatRepositoryName(newName) };
      if (renamed) await context.logChange(tx, { ...changeOf(present), detail });
      return renamed;
    });
    if (!renamed) {
      throw new Failure(`repository "${formatRepositoryName(newName)}" already exists`);
    }
    await printRepository(context, renamed);
  },
});

const deleteCommand = command({
  name: "delete",
  summary: "Delete a repository and all its data; prints OWNER/NAME",
  example: "repo delete acme/shop --org acme --yes",
  input: { repository: REPOSITORY, org: ORG, yes: YES },
  async run({ org, repository }, context) {
    const { sql, organization } = await openOrganization(context, org);
    const present = await requireRepository(sql, organization, repository);
    const origin = await context.origin();
    const removal = { removedAt: context.now, removedBy: null, reason: "repository deleted" };
    await writeTransaction(sql, async (tx) => {
      await releaseRepository(tx, present, removal, origin);
      await deleteRepository(tx, present);
      await context.logChange(tx, changeOf(present));
    });
    await printRepository(context, present);
  },
});

export const repoCommands: AddCommand = group({
  name: "repo",
  summary: "Create, list, rename and delete repositories",
  example: "repo list --org acme",
  commands: [createCommand, listCommand, renameCommand, deleteCommand],
});

function changeOf(repository: Repository) {
  const { organizationId, repositoryNumber } = repository;
  const detail = { repository_id: repositoryNumber };
  return { organizationId, subject: formatRepositoryName(repository), detail };
}

async function printRepository(context: CommandContext, repository: Repository) {
  await context.print(formatRepositoryName(repository), repositoryRecord(repository));
}
