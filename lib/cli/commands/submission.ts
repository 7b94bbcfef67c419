import type { Command } from "commander";
import * as v from "valibot";
import { deleteSubmission } from "../../../db/write/delete_submission.ts";
import { listStoredSubmissions } from "../../../db/admin/stored_submissions.ts";
import { addCommand, addGroup, type CliIo } from "../command.ts";
import { Failure } from "../errors.ts";
import { requireOrganization, requireRepository } from "../lookup.ts";
import { confirmation, ORG, REPO, YES } from "../options.ts";
import { submissionRecord } from "../records.ts";
import { lineOfText, repositoryName, submissionKey } from "../values.ts";

/** Adds `submission list` and `submission delete`. */
export function addSubmissionCommands(program: Command, io: CliIo): void {
  const group = addGroup(program, {
    name: "submission",
    summary: "List and delete submissions",
    example: "submission list --org acme --repo acme/shop",
  });

  addCommand(group, io, {
    name: "list",
    summary:
      "List a repository's submissions, newest first: key, recorded, status, results, commit, URL",
    example: "submission list --org acme --repo acme/shop",
    options: [ORG, REPO],
    input: v.object({ org: lineOfText, repo: repositoryName }),
    async run({ org, repo }, context) {
      const { sql } = await context.openDatabase();
      const organization = await requireOrganization(sql, org);
      const repository = await requireRepository(sql, organization, repo);
      const submissions = await listStoredSubmissions(sql, repository.repositoryId);
      await context.printList(
        submissions.map(submissionRecord),
        (record) => [
          record.key,
          record.recorded_at,
          record.status,
          record.test_result_count,
          record.commit_oid,
          record.build_url,
        ],
      );
    },
  });

  addCommand(group, io, {
    name: "delete",
    summary: "Delete a submission, as if it had never been uploaded; prints its key",
    example: "submission delete acme/shop/0123456789abcdef01234567 --org acme --yes",
    arguments: [{ flags: "<key>", meaning: "key, as in `submission list`" }],
    options: [ORG, YES],
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
}
