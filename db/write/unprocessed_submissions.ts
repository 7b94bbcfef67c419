/** Submissions whose archive is being processed or could not be: listed, without results. */
import { keyedSubmissionId } from "../../lib/base/identity.ts";
import { bumpForAddition, lockRepository } from "../admin/repositories.ts";
import { type Queryable, textsIn } from "../connection/sql.ts";

/** What is known of an archive before its reports were read. */
export interface UnprocessedSubmission {
  repositoryId: number;
  key: string;
  /** Seconds since 1970. */
  recordedAt: number;
  /** Seconds since 1970. */
  uploadedAt: number;
  buildUrl: string;
  commitOid: string;
  treeOid: string | null;
  branch: string | null;
  tags: string[];
}

/** Shows an archive as `processing`. One that was processed before stays as it is. */
export async function showProcessing(tx: Queryable, upload: UnprocessedSubmission): Promise<void> {
  const { repositoryId, key, recordedAt } = upload;
  const repository = await lockRepository(tx, repositoryId);
  if (!repository) return;
  await removeUnprocessed(tx, { repositoryId, key });
  const id = keyedSubmissionId({ recordedAt, idPrefix: repository.idPrefix, key });
  await tx`
    with version as (
      update repository set data_version = data_version + 1, addition_count = addition_count + 1,
        is_visible = true
      where repository_id = ${repositoryId}
      returning data_version
    )
    insert into submission (repository_id, submission_id, recorded_at, uploaded_at, status, key,
      build_url, commit_oid, tree_oid, branch, tags, data_version)
    select ${repositoryId}, decode(${id}, 'hex'), to_timestamp(${recordedAt}),
      to_timestamp(${upload.uploadedAt}), 'processing', ${key}, ${upload.buildUrl},
      ${upload.commitOid}, ${upload.treeOid}, ${upload.branch},
      ${textsIn(tx, upload.tags)}, version.data_version
    from version
    where not exists (select from submission s
      where s.repository_id = ${repositoryId} and s.key = ${key})
    on conflict do nothing`;
}

/** Shows an archive that was `processing` as `failed`. */
export async function showFailed(
  tx: Queryable,
  { repositoryId, key }: { repositoryId: number; key: string },
): Promise<void> {
  await tx`
    with version as (
      update repository set data_version = data_version + 1, addition_count = addition_count + 1
      where repository_id = ${repositoryId}
      returning data_version
    )
    update submission s set status = 'failed', data_version = version.data_version
    from version
    where s.repository_id = ${repositoryId} and s.key = ${key} and s.status = 'processing'`;
}

/** Takes an archive that was not processed yet off the list. */
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
