// Tests: tests/lib/cli/transcripts_test.ts

import { deleteSubmission } from "../../../db/write/delete_submission.ts";
import { listStoredSubmissions } from "../../../db/read/submissions.ts";
import type { Queryable } from "../../../db/connection/sql.ts";
import { shellWord } from "../../base/quote.ts";
import { PROGRAM } from "../../base/version.ts";
import { type AddCommand, command, group } from "../command.ts";
import { argument, option, repositoryName, submissionKey } from "../parameters.ts";
import { Failure } from "../../base/failure.ts";
import { openOrganization, ORG, requireRepository, YES } from "../organization.ts";
import { submissionRecord } from "../resource_json.ts";

const listCommand = command({
  name: "list",
  summary:
    "List a repository's submissions, newest first: key, recorded, status, results, commit, URL",
  example: "submission list --org acme --repo acme/shop",
  input: { org: ORG, repo: option("<owner/name>", "repository", repositoryName) },
  async run({ org, repo }, context) {
    const { sql, organization } = await openOrganization(context, org);
    const repository = await requireRepository(sql, organization, repo);
    const submissions = await listStoredSubmissions(sql, repository.repositoryId);
    await context.printList(
      submissions.map(submissionRecord),
      ["key", "recorded_at", "status", "test_result_count", "commit_oid", "build_url"],
      ["key", "recorded_at", "test_result_count", "status"],
    );
  },
});

const deleteCommand = command({
  name: "delete",
  summary: "Delete a submission as if it had never been uploaded; print its key",
  example: "submission delete acme/4f2a9c1.tar.gz --org acme --yes",
  input: { key: argument("key, as in `submission list`", submissionKey), org: ORG, yes: YES },
  async run({ org, key }, context) {
    const { sql, organization } = await openOrganization(context, org);
    const { organizationId } = organization;
    const beforeCommit = (tx: Queryable) => context.logChange(tx, { organizationId, subject: key });
    if (!await deleteSubmission(sql, { organizationId, key, beforeCommit })) {
      throw new Failure(
        `submission "${key}" is unknown: ` +
          `\`${PROGRAM} submission list --org ${
            shellWord(organization.name)
          } --repo OWNER/NAME\` shows all`,
      );
    }
    await context.print(key, { key });
  },
});

export const submissionCommands: AddCommand = group({
  name: "submission",
  summary: "List and delete submissions",
  example: "submission list --org acme --repo acme/shop",
  commands: [listCommand, deleteCommand],
});
