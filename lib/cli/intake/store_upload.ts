/** Stores an upload that was read: all of it or nothing. */
import { storeCoverage, storeSubmission, type Upload } from "../../../db/write/store_submission.ts";
import { findOrCreateRepository } from "../../../db/admin/repositories.ts";
import { lockRepository } from "../../../db/write/repository_row.ts";
import type { Database } from "../../../db/connection/connect.ts";
import { writeTransaction } from "../../../db/write/transaction.ts";
import { removeUnprocessed } from "../../../db/write/submission_rows.ts";
import type { TestIdentity } from "../../base/identity.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { formatTimestamp } from "../../base/time.ts";
import { requireOrganization } from "../resources.ts";
import type { UploadFiles } from "./read_files.ts";
import type { RunFacts } from "./run_options.ts";

/** The result of an upload, as `ingest --json` prints it. */
export interface IntakeOutcome {
  /** `null` when there was only coverage, as there is no submission then. */
  key: string | null;
  repository: string;
  commit_oid: string;
  build_url: string;
  recorded_at: string;
  /** `null` when there was only coverage. */
  status: "processed" | null;
  test_result_count: number;
  disruption_count: number;
  duplicate: boolean;
  /** `null` without coverage. */
  coverage: { covered_line_count: number; line_count: number } | null;
}

/** The result of {@linkcode storeUpload}. */
export interface StoredUpload {
  outcome: IntakeOutcome;
  /** Given tags that a duplicate does not have. */
  droppedTags: string[];
  /** Tests that were never disruptive before. */
  newlyDisruptive: TestIdentity[];
}

/**
 * Stores an upload in one transaction, which `alongside` ends, and creates its repository.
 * @throws {Failure | TagLimitError}
 */
export async function storeUpload(
  sql: Database["sql"],
  facts: RunFacts & { organization: string },
  { results, coverage }: UploadFiles,
  { now, key, alongside }: Pick<Upload, "key" | "alongside"> & { now: number },
): Promise<StoredUpload> {
  const organization = await requireOrganization(sql, facts.organization);
  const repository = await findOrCreateRepository(sql, {
    ...facts.repository,
    organization,
    createdAt: now,
  });
  const outcome: IntakeOutcome = {
    key: null,
    repository: formatRepositoryName(repository),
    commit_oid: facts.commitOid,
    build_url: facts.buildUrl,
    recorded_at: formatTimestamp(facts.recordedAt),
    status: null,
    test_result_count: 0,
    disruption_count: 0,
    duplicate: false,
    coverage: coverage &&
      { covered_line_count: coverage.coveredLineCount, line_count: coverage.lineCount },
  };
  if (!results) {
    const { repositoryId } = repository;
    await writeTransaction(sql, async (tx) => {
      if (!await lockRepository(tx, repositoryId)) {
        throw new Error("the repository was deleted during the upload");
      }
      if (key !== undefined) await removeUnprocessed(tx, { repositoryId, key });
      if (coverage) await storeCoverage(tx, { repositoryId, ...facts }, coverage);
      await alongside?.(tx);
    });
    return { outcome, droppedTags: [], newlyDisruptive: [] };
  }
  const submission = await storeSubmission(sql, {
    ...facts,
    ...results,
    coverage,
    repositoryId: repository.repositoryId,
    uploadedAt: now,
    key,
    alongside,
  });
  return {
    outcome: {
      ...outcome,
      key: submission.key,
      recorded_at: formatTimestamp(submission.recordedAt),
      status: "processed",
      test_result_count: submission.testResultCount,
      disruption_count: submission.disruptionCount,
      duplicate: submission.duplicate,
    },
    droppedTags: facts.tags.filter((tag) => !submission.tags.includes(tag)),
    newlyDisruptive: submission.newlyDisruptive,
  };
}
