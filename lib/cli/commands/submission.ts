import * as v from "valibot";
import { deleteSubmission } from "../../../db/write/delete_submission.ts";
import { listStoredSubmissions } from "../../../db/admin/stored_submissions.ts";
import { type AddCommand, command, group } from "../command.ts";
import { Failure } from "../errors.ts";
import {
  confirmation,
  ORG,
  REPO,
  requireOrganization,
  requireRepository,
  submissionRecord,
  YES,
} from "../resources.ts";
import { lineOfText, repositoryName, submissionKey } from "../values.ts";

const listCommand = command({
  name: "list",
  summary:
    "List a repository's submissions, newest first: key, recorded, status, results, commit, URL",
  example: "submission list --org acme --repo acme/shop",
  options: { ...ORG, ...REPO },
  input: v.object({ org: lineOfText, repo: repositoryName }),
  async run({ org, repo }, context) {
    const { sql } = await context.openDatabase();
    const organization = await requireOrganization(sql, org);
    const repository = await requireRepository(sql, organization, repo);
    const submissions = await listStoredSubmissions(sql, repository.repositoryId);
    await context.printList(
      submissions.map(submissionRecord),
      ["key", "recorded_at", "status", "test_result_count", "commit_oid", "build_url"],
    );
  },
});

const deleteCommand = command({
  name: "delete",
  summary: "Delete a submission, as if it had never been uploaded; prints its key",
  example: "submission delete acme/shop/0123456789abcdef01234567 --org acme --yes",
  arguments: { "<key>": "key, as in `submission list`" },
  options: { ...ORG, ...YES },
  input: v.object({ org: lineOfText, key: submissionKey, yes: confirmation }),
  async run({ org, key }, context) {
    const { sql } = await context.openDatabase();
    const { organizationId } = await requireOrganization(sql, org);
    if (!await deleteSubmission(sql, { organizationId, key })) {
      throw new Failure(
        `submission "${key}" is unknown: \`test-analytics submission list\` shows all`,
      );
    }
    await context.print(key, { key });
  },
});

/** `submission list` and `submission delete`. */
export const submissionCommands: AddCommand = group({
  name: "submission",
  summary: "List and delete submissions",
  example: "submission list --org acme --repo acme/shop",
  commands: [listCommand, deleteCommand],
});
