/** Stores an upload that was read: all of it or nothing. */
import type { Organization } from "../../db/admin/organizations.ts";
import { findOrCreateRepository, findRepository } from "../../db/admin/repositories.ts";
import type { Database } from "../../db/connection/connect.ts";
import type { Queryable } from "../../db/connection/sql.ts";
import {
  storeCoverageAlone,
  type StoredAhead,
  type StoreResult,
  storeSubmission,
  type Upload,
} from "../../db/write/store_submission.ts";
import { addUploadEvents } from "../../db/write/upload_events.ts";
import { lockRepository } from "../../db/write/repository_row.ts";
import { findFileMatches } from "../../db/write/file_matches.ts";
import { findTestListNo, storeTests } from "../../db/write/tests.ts";
import { writeTransaction } from "../../db/write/transaction.ts";
import { formatRepositoryName } from "../base/repository_name.ts";
import { formatTimestamp } from "../base/time.ts";
import { withFileMatches } from "../analysis/file_matches.ts";
import { countTests } from "../analysis/test_counts.ts";
import type { SubmissionContent } from "../analysis/submission_content.ts";
import type { UploadFiles } from "./read_files.ts";
import type { RunFacts } from "../report/archive/mod.ts";

/**
 * Uploads with more tests store them ahead. On the embedded database, where all others wait for a running
 * transaction, storing so many takes 60 ms on a busy machine.
 */
const TESTS_PER_TRANSACTION = 2_000;

export type StoredUpload = Awaited<ReturnType<typeof storeUpload>>;

/** The result of an upload, as `ingest --json` prints it. */
export type IntakeOutcome = StoredUpload["outcome"];

/**
 * Stores an upload in one transaction, which creates its repository if it does not exist. Very many new
 * tests are stored ahead, with their repository.
 */
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
  const ahead = results && await storeTestsAhead(sql, creation, results.content);
  const { repository, submission, duplicate } = await writeTransaction(sql, async (tx) => {
    const repository = await findOrCreateRepository(tx, creation);
    const { repositoryId } = repository;
    const upload = { ...facts, coverage, notes, repositoryId, uploadedAt: now, key };
    const storedAhead = ahead?.repositoryId === repositoryId ? ahead : null;
    const submission = results
      ? await storeSubmission(tx, { ...upload, ...results, storedAhead })
      : null;
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

/**
 * Stores the tests of an upload that has many, in short transactions before its own, so that requests to
 * the embedded database are answered in between. Until the upload is stored no list has them, and a run of
 * `prune` may delete them again. Returns `null` when nothing was stored ahead.
 */
async function storeTestsAhead(
  sql: Database["sql"],
  creation: Parameters<typeof findOrCreateRepository>[1],
  given: SubmissionContent,
): Promise<StoredAhead & { repositoryId: number } | null> {
  if (given.testHashes.length <= TESTS_PER_TRANSACTION) return null;
  const { organizationId } = creation.organization;
  const present = await findRepository(sql, { ...creation, organizationId });
  const fileMatches = present ? await findFileMatches(sql, { ...present, content: given }) : [];
  const { testHashes, listHash, identityAt } = withFileMatches(given, fileMatches).content;
  if (present && await findTestListNo(sql, { ...present, listHash }) !== null) {
    return { ...present, testNos: null, fileMatches };
  }
  const testNos = new Int32Array(testHashes.length);
  let repositoryId = present?.repositoryId;
  for (let start = 0; start < testHashes.length; start += TESTS_PER_TRANSACTION) {
    const batch = await writeTransaction(sql, async (tx) => {
      const repository = await findOrCreateRepository(tx, creation);
      // Deleted meanwhile: the transaction of the upload stores all tests again.
      if (repository.repositoryId !== (repositoryId ??= repository.repositoryId)) return null;
      if (!await lockRepository(tx, repositoryId)) return null;
      const content = {
        testHashes: testHashes.subarray(start, start + TESTS_PER_TRANSACTION),
        identityAt: (index: number) => identityAt(start + index),
      };
      return await storeTests(tx, { repositoryId, content });
    });
    if (batch === null) return null;
    testNos.set(batch, start);
  }
  return { repositoryId: repositoryId!, testNos, fileMatches };
}
