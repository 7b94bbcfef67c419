import * as v from "valibot";
import { releaseRepository } from "../../../db/admin/quarantine.ts";
import {
  createRepository,
  deleteRepository,
  listRepositories,
  renameRepository,
  type Repository,
  setBaseBranch,
} from "../../../db/admin/repositories.ts";
import type { Database } from "../../../db/connection/connect.ts";
import type { Queryable } from "../../../db/connection/sql.ts";
import { loadOtherBranches } from "../../../db/read/base_branch.ts";
import { writeTransaction } from "../../../db/write/transaction.ts";
import { sayUnusedBase } from "../../evidence/base_branch.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import {
  type AddCommand,
  command,
  type CommandContext,
  group,
  type LoggedChange,
} from "../command.ts";
import { argument, option, repositoryId, repositoryName } from "../parameters.ts";
import { readWith } from "../../base/read_with.ts";
import { readBranch } from "../../intake/upload_values.ts";
import { Failure } from "../../base/failure.ts";
import { openOrganization, ORG, requireRepository, YES } from "../organization.ts";
import { repositoryRecord } from "../resource_json.ts";

const REPOSITORY = argument("OWNER/NAME, split at the last slash", repositoryName);

const createCommand = command({
  name: "create",
  summary: "Create a repository and print OWNER/NAME",
  example: "repo create acme/shop --org acme",
  input: {
    repository: REPOSITORY,
    org: ORG,
    id: option("<n>", "numeric id (default: the next free one)", v.optional(repositoryId)),
  },
  async run({ org, repository, id }, context) {
    const { sql, organization } = await openOrganization(context, org);
    const options = { organization, repositoryNumber: id, createdAt: context.now };
    await change(context, sql, (tx) => createRepository(tx, { ...repository, ...options }));
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
      [
        { title: "REPOSITORY", cell: (record) => formatRepositoryName(record) },
        "repository_id",
        "created_at",
      ],
    );
  },
});

const renameCommand = command({
  name: "rename",
  summary: "Rename a repository and print the new OWNER/NAME; its tests keep their ids",
  example: "repo rename acme/shop acme/store --org acme",
  input: {
    repository: REPOSITORY,
    newName: argument("new OWNER/NAME", repositoryName),
    org: ORG,
  },
  async run({ org, repository, newName }, context) {
    const { sql, organization } = await openOrganization(context, org);
    const present = await requireRepository(sql, organization, repository);
    const newText = formatRepositoryName(newName);
    await change(context, sql, async (tx) => {
      const renamed = await renameRepository(tx, present, newName);
      if (!renamed) throw new Failure(`repository "${newText}" already exists`);
      return renamed;
    }, { subject: formatRepositoryName(present), detail: { new_name: newText } });
  },
});

const setCommand = command({
  name: "set",
  summary: "Set the base branch of a repository, to which its changes go; print OWNER/NAME",
  example: "repo set acme/shop --org acme --base trunk",
  details: [
    "Without one the base branch is the default branch as CI says, otherwise the first of main, master, trunk " +
    "and develop that has builds of the last 90 days, otherwise the branch with most of them. An empty --base " +
    "returns to that.",
    "It is one branch: gate and comment take a list as --base, for release branches. A note says so if no upload of " +
    "the last 90 days names it, although uploads name others; doctor and the page of the repository say it too.",
  ],
  input: {
    repository: REPOSITORY,
    org: ORG,
    base: option("<branch>", "base branch", readWith(readBranch)),
  },
  async run({ org, repository, base }, context) {
    const { sql, organization } = await openOrganization(context, org, repository.owner);
    const present = await requireRepository(sql, organization, repository);
    const { organizationId, repositoryId, repositoryNumber } = present;
    const baseBranch = base || null;
    await writeTransaction(sql, async (tx) => {
      await setBaseBranch(tx, present, baseBranch);
      const detail = { repository_id: repositoryNumber, base_branch: baseBranch };
      const subject = formatRepositoryName(present);
      await context.logChange(tx, { organizationId, subject, detail });
    });
    if (baseBranch !== null) {
      const of = { repositoryId, base: baseBranch, now: context.now };
      const branches = await loadOtherBranches(sql, of);
      if (branches.length > 0) context.note(sayUnusedBase({ base, branches }));
    }
    const record = { ...repositoryRecord(present), base_branch: baseBranch };
    await context.print(formatRepositoryName(present), record);
  },
});

const deleteCommand = command({
  name: "delete",
  summary: "Delete a repository and all its data; print OWNER/NAME",
  example: "repo delete acme/shop --org acme --yes",
  input: { repository: REPOSITORY, org: ORG, yes: YES },
  async run({ org, repository }, context) {
    const { sql, organization } = await openOrganization(context, org);
    const present = await requireRepository(sql, organization, repository);
    const origin = context.origin();
    const removal = { removedAt: context.now, removedBy: null, reason: "repository deleted" };
    await change(context, sql, async (tx) => {
      await releaseRepository(tx, present, removal, origin);
      await deleteRepository(tx, present);
      return present;
    });
  },
});

export const repoCommands: AddCommand = group({
  name: "repo",
  summary: "Create, list, rename, set up and delete repositories",
  example: "repo list --org acme",
  commands: [createCommand, listCommand, renameCommand, setCommand, deleteCommand],
});

/** Makes a change, logs it, and prints the repository. */
async function change(
  context: CommandContext,
  sql: Database["sql"],
  make: (tx: Queryable) => Promise<Repository>,
  logged: Partial<LoggedChange> = {},
): Promise<void> {
  const repository = await writeTransaction(sql, async (tx) => {
    const changed = await make(tx);
    const { organizationId, repositoryNumber } = changed;
    const subject = formatRepositoryName(changed);
    const detail = { repository_id: repositoryNumber };
    await context.logChange(tx, { organizationId, subject, detail, ...logged });
    return changed;
  });
  await context.print(formatRepositoryName(repository), repositoryRecord(repository));
}
