// Tests: tests/lib/cli/commands/repo_test.ts tests/lib/cli/transcripts_test.ts
/** JSON of repositories and submissions, as commands print it. */
import type { Repository } from "../../db/admin/repositories.ts";
import type { StoredSubmission } from "../../db/read/submissions.ts";
import { jsonRecord } from "../base/json_record.ts";

export function repositoryRecord(repository: Repository) {
  const { organizationId, repositoryNumber: repositoryId, owner, name, createdAt } = repository;
  return jsonRecord({ organizationId, repositoryId, owner, name, createdAt });
}

/** JSON of a submission. */
export function submissionRecord({ treeOid, branch, ...rest }: StoredSubmission) {
  const { environment, job, shard, attempt, runner, pullNumber, pullTitle, author } = rest;
  const { key, status, recordedAt, uploadedAt, buildUrl, commitOid, testResultCount, notes } = rest;
  return {
    ...jsonRecord({ key, status, recordedAt, uploadedAt, buildUrl, commitOid, testResultCount }),
    notes,
    tree_oid: treeOid || null,
    branch: branch || null,
    environment: environment || null,
    job: job || null,
    shard: shard || null,
    attempt: attempt || null,
    runner: runner || null,
    exit_code: rest.exitCode,
    pull_number: pullNumber,
    pull_title: pullTitle || null,
    author: author || null,
  };
}
