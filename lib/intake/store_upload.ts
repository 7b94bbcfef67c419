/** Stores an upload that was read: all of it or nothing. */
import type { Organization } from "../../db/admin/organizations.ts";
import { findOrCreateRepository } from "../../db/admin/repositories.ts";
import type { Database } from "../../db/connection/connect.ts";
import type { Queryable } from "../../db/connection/sql.ts";
import {
  storeCoverageAlone,
  type StoreResult,
  storeSubmission,
  type Upload,
} from "../../db/write/store_submission.ts";
import { addUploadEvents } from "../../db/write/upload_events.ts";
import { writeTransaction } from "../../db/write/transaction.ts";
import { formatRepositoryName } from "../base/repository_name.ts";
import { formatTimestamp } from "../base/time.ts";
import { countTests } from "../analysis/test_counts.ts";
import type { UploadFiles } from "./read_files.ts";
import type { RunFacts } from "../report/archive/mod.ts";

export type StoredUpload = Awaited<ReturnType<typeof storeUpload>>;

/** The result of an upload, as `ingest --json` prints it. */
export type IntakeOutcome = StoredUpload["outcome"];

/** Stores an upload in one transaction, which creates its repository if it does not exist. */
export async function storeUpload(
  sql: Database["sql"],
  organization: Organization,
  facts: RunFacts,
  { results, coverage, notes }: UploadFiles,
  { now, key, beforeCommit }: Pick<Upload, "key"> & {
    now: number;
    /** Runs at the end of the transaction; `null`: there was only coverage. */
    beforeCommit?(tx: Queryable, stored: StoreResult | null): Promise<void>;
  },
) {
  const creation = { ...facts.repository, organization, createdAt: now };
  const { repository, submission, duplicate } = await writeTransaction(sql, async (tx) => {
    const repository = await findOrCreateRepository(tx, creation);
    const { repositoryId } = repository;
    const upload = { ...facts, coverage, notes, repositoryId, uploadedAt: now, key };
    const submission = results ? await storeSubmission(tx, { ...upload, ...results }) : null;
    if (results && submission && !submission.duplicate) {
      const { exceptions, testHashes } = results.content;
      const counts = countTests(exceptions, testHashes.length);
      await addUploadEvents(tx, repository, { ...facts, ...submission, counts }, now);
    }
    const { duplicate } = submission ?? await storeCoverageAlone(tx, upload);
    await beforeCommit?.(tx, submission);
    return { repository, submission, duplicate };
  });
  return {
    repository,
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
      duplicate,
      coverage: coverage &&
        { covered_line_count: coverage.coveredLineCount, line_count: coverage.lineCount },
    },
    /** Given tags that a duplicate does not have. */
    droppedTags: submission ? facts.tags.filter((tag) => !submission.tags.includes(tag)) : [],
    /** Tests that were never disruptive before. */
    newlyDisruptive: submission?.newlyDisruptive ?? [],
    /** On its tests, in addition to those on its files. */
    notes: submission?.notes ?? [],
  };
}
