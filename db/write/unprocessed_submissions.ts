/** Submissions whose archive is being processed or could not be: listed, without results. */
import { keyedSubmissionId } from "../../lib/base/identity.ts";
import { type Queryable, textArray } from "../connection/sql.ts";
import { bumpForAddition, lockRepository } from "./repository_row.ts";

/** The facts that are known of an archive before its reports were read. */
export interface UnprocessedSubmission {
  repositoryId: number;
  key: string;
  /** Seconds since 1970: the time of every result. */
  recordedAt: number;
  /** Seconds since 1970. */
  uploadedAt: number;
  /** `""` when there is none. */
  buildUrl: string;
  commitOid: string;
  treeOid: string | null;
  branch: string | null;
  /** Tags of every test. */
  tags: string[];
}

/** Shows an archive as `processing`. One that was processed before stays as it is. */
export async function showProcessing(tx: Queryable, upload: UnprocessedSubmission): Promise<void> {
  const { repositoryId, key, recordedAt } = upload;
  const repository = await lockRepository(tx, repositoryId);
  if (!repository) return;
  await removeUnprocessed(tx, { repositoryId, key });
  const id = keyedSubmissionId({ recordedAt, idPrefix: repository.idPrefix, key });
  const dataVersion = await bumpForAddition(tx, repositoryId);
  await tx`
    insert into submission (repository_id, submission_id, recorded_at, uploaded_at, status, key,
      build_url, commit_oid, tree_oid, branch, tags, data_version)
    values (${repositoryId}, decode(${id}, 'hex'), to_timestamp(${recordedAt}),
      to_timestamp(${upload.uploadedAt}), 'processing', ${key}, ${upload.buildUrl},
      ${upload.commitOid}, ${upload.treeOid}, ${upload.branch},
      ${textArray(upload.tags)}::text[], ${dataVersion})
    on conflict do nothing`;
}

/** Shows an archive that was `processing` as `failed`. */
export async function showFailed(
  tx: Queryable,
  { repositoryId, key }: { repositoryId: number; key: string },
): Promise<void> {
  const dataVersion = await bumpForAddition(tx, repositoryId);
  await tx`
    update submission set status = 'failed', data_version = ${dataVersion}
    where repository_id = ${repositoryId} and key = ${key} and status = 'processing'`;
}

/** Removes the submission of an archive that has not been processed. */
export async function removeUnprocessed(
  tx: Queryable,
  { repositoryId, key }: { repositoryId: number; key: string },
): Promise<void> {
  const removed = await tx`
    delete from submission
    where repository_id = ${repositoryId} and key = ${key} and status <> 'processed'
    returning 1`;
  if (removed.length > 0) await bumpForAddition(tx, repositoryId);
}
