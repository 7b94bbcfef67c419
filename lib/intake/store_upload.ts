/** Stores an upload that was read: all of it or nothing. */
import {
  type ArchiveClaim,
  assignArchive,
  finishArchive,
  type FoundArchive,
} from "../../db/admin/archives.ts";
import type { Organization } from "../../db/admin/organizations.ts";
import { findOrCreateRepository, type Repository } from "../../db/admin/repositories.ts";
import { endMistakenEntries } from "../../db/admin/quarantine.ts";
import type { Database } from "../../db/connection/connect.ts";
import type { Queryable } from "../../db/connection/sql.ts";
import { storeCoverageAlone, storeSubmission } from "../../db/write/store_submission.ts";
import { lockForUpload } from "../../db/write/repository_row.ts";
import { addNote } from "../../db/write/submission_rows.ts";
import { addUploadEvents } from "../../db/write/upload_events.ts";
import { loadSubscribedEvents } from "../../db/write/webhook_messages.ts";
import { writeTransaction } from "../../db/write/transaction.ts";
import { formatRepositoryName } from "../base/repository_name.ts";
import { formatTimestamp } from "../base/time.ts";
import { endedEntriesNote } from "../analysis/file_matches.ts";
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
  { now, archive, stop, isStoredOnce }: {
    now: number;
    /** Whether nothing is read of the upload's content afterwards, even if this fails: saves memory. */
    isStoredOnce?: boolean;
    stop?: AbortSignal | undefined;
    /** The archive that brought it, claimed or not; the transaction ends it. */
    archive?: ArchiveClaim | FoundArchive;
  },
) {
  const creation = { ...facts.repository, organization, createdAt: now };
  const { repository, submission, duplicate } = await writeTransaction(sql, async (tx) => {
    const repository = await findOrCreateRepository(tx, creation);
    const { repositoryId } = repository;
    const locked = await lockForUpload(tx, repositoryId);
    const key = archive && await assignArchive(tx, { ...archive, repositoryId });
    const upload = { ...facts, coverage, notes, repositoryId, uploadedAt: now, key, isStoredOnce };
    const [submission, events] = await Promise.all([
      results ? storeSubmission(tx, { ...upload, ...results }, { locked }) : null,
      loadSubscribedEvents(tx, organization.organizationId),
    ]);
    if (results && submission && !submission.duplicate) {
      const { exceptions, testHashes } = results.content;
      const counts = countTests(exceptions, testHashes.length);
      await addUploadEvents(tx, repository, { ...facts, ...submission, counts, events, now });
    }
    if (submission) await endEntries(tx, repository, submission, now);
    else await storeCoverageAlone(tx, upload);
    const duplicate = submission?.duplicate ?? false;
    const status = duplicate && submission?.key !== key ? "duplicate" : "processed";
    if (archive) await finishArchive(tx, archive, { status });
    return { repository, submission, duplicate };
  }, stop);
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

/** Ends the quarantine that tests have by mistake since the upload, and notes it. */
async function endEntries(
  tx: Queryable,
  repository: Repository,
  { submissionId, mistaken, notes }: Awaited<ReturnType<typeof storeSubmission>>,
  now: number,
): Promise<void> {
  const ended = await endMistakenEntries(tx, repository, { mistaken, now });
  if (ended.length === 0) return;
  const note = endedEntriesNote(ended);
  notes.push(note);
  await addNote(tx, { repositoryId: repository.repositoryId, submissionId, note });
}
