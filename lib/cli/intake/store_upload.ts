/** Stores an upload that was read: all of it or nothing. */
import { storeCoverage, storeSubmission, type Upload } from "../../../db/write/store_submission.ts";
import { findOrCreateRepository } from "../../../db/admin/repositories.ts";
import { lockRepository } from "../../../db/write/repository_row.ts";
import type { Database } from "../../../db/connection/connect.ts";
import { writeTransaction } from "../../../db/write/transaction.ts";
import { removeUnprocessed } from "../../../db/write/submission_rows.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { formatTimestamp } from "../../base/time.ts";
import { requireOrganization } from "../resources.ts";
import type { UploadFiles } from "./read_files.ts";
import type { RunFacts } from "../../report/archive/mod.ts";

export type StoredUpload = Awaited<ReturnType<typeof storeUpload>>;

/** The result of an upload, as `ingest --json` prints it. */
export type IntakeOutcome = StoredUpload["outcome"];

/**
 * Stores an upload in one transaction, which `alongside` ends, and creates its repository.
 * @throws {Failure | TagLimitError}
 */
export async function storeUpload(
  sql: Database["sql"],
  facts: RunFacts & { organization: string },
  { results, coverage }: UploadFiles,
  { now, key, alongside }: Pick<Upload, "key" | "alongside"> & { now: number },
) {
  const organization = await requireOrganization(sql, facts.organization);
  const repository = await findOrCreateRepository(sql, {
    ...facts.repository,
    organization,
    createdAt: now,
  });
  const { repositoryId } = repository;
  const submission = results && await storeSubmission(sql, {
    ...facts,
    ...results,
    coverage,
    repositoryId,
    uploadedAt: now,
    key,
    alongside,
  });
  if (!submission) {
    await writeTransaction(sql, async (tx) => {
      if (!await lockRepository(tx, repositoryId)) {
        throw new Error("the repository was deleted during the upload");
      }
      if (key !== undefined) await removeUnprocessed(tx, { repositoryId, key });
      if (coverage) await storeCoverage(tx, { repositoryId, ...facts }, coverage);
      await alongside?.(tx);
    });
  }
  return {
    outcome: {
      /** `null` when there was only coverage, as there is no submission then. */
      key: submission?.key ?? null,
      repository: formatRepositoryName(repository),
      commit_oid: facts.commitOid,
      build_url: facts.buildUrl,
      recorded_at: formatTimestamp(submission?.recordedAt ?? facts.recordedAt),
      status: submission && "processed" as const,
      test_result_count: submission?.testResultCount ?? 0,
      disruption_count: submission?.disruptionCount ?? 0,
      duplicate: submission?.duplicate ?? false,
      coverage: coverage &&
        { covered_line_count: coverage.coveredLineCount, line_count: coverage.lineCount },
    },
    /** Given tags that a duplicate does not have. */
    droppedTags: submission ? facts.tags.filter((tag) => !submission.tags.includes(tag)) : [],
    /** Tests that were never disruptive before. */
    newlyDisruptive: submission?.newlyDisruptive ?? [],
  };
}
