// Tests: tests/db/write/store_submission_test.ts
import { findDisruptions } from "../../lib/analysis/disruptions.ts";
import type { Database } from "../connection/connect.ts";
import { codeVersionOf, hasCodeVersion } from "../read/fragments.ts";
import { arrayOf, idsIn, type Queryable } from "../connection/sql.ts";
import { detectDisruptions, withdraw } from "./disruptions.ts";
import { loadNegatives } from "./negative_rows.ts";
import { failedTests } from "../../lib/evidence/version_histories.ts";
import { loadRuns } from "../read/runs.ts";
import { type CodeVersion, resolveTruths } from "./truths.ts";
import { markArchivesDeleted } from "./archive_rows.ts";
import { deleteUnusedTexts } from "./store_texts.ts";
import { deleteEvidence } from "./truth_counts.ts";
import { bumpDataVersion, lockRepository } from "./repository_row.ts";
import { loadTags, removeTags, type TaggedSubmission } from "./test_tags.ts";
import { deleteTests, deleteUnusedLists, findUnlistedTests } from "./tests.ts";
import { writeTransaction } from "./transaction.ts";

/**
 * Deletes a submission of an organization with its results and coverage, the disruptions that only
 * it proved, and the tests and tags that only it added. Returns false when there is none with this
 * key.
 * @throws {RangeError} when several repositories have one
 */
export async function deleteSubmission(
  sql: Database["sql"],
  { organizationId, key, beforeCommit }: {
    organizationId: number;
    key: string;
    /** Runs at the end of the transaction. */
    beforeCommit?(tx: Queryable): Promise<void>;
  },
): Promise<boolean> {
  return await writeTransaction(sql, async (tx) => {
    const submission = await lockSubmission(tx, { organizationId, key });
    if (!submission) return false;
    const { repositoryId, submissionId } = submission;
    await withdrawDisruptions(tx, submission);
    const runs = await loadRuns(tx, {
      repositoryId,
      columns: ["results"],
      submissionIds: [submissionId],
    });
    const failed = Int32Array.from(failedTests(runs));
    await tx`
      delete from coverage_report
      where repository_id = ${repositoryId} and submission_id = decode(${submissionId}, 'hex')`;
    await tx`
      delete from negative_result
      where repository_id = ${repositoryId} and submission_id = decode(${submissionId}, 'hex')`;
    await deleteEvidence(tx, { repositoryId, ofSubmissions: idsIn(tx, [submissionId]) });
    await deleteUnusedTexts(tx, repositoryId);
    await tx`
      delete from submission
      where repository_id = ${repositoryId} and submission_id = decode(${submissionId}, 'hex')`;
    // Without it the legs of its code version may differ again.
    await detectDisruptions(tx, submission);
    await resolveTruths(tx, {
      ...submission,
      version: submission,
      isNew: false,
      isOnlyRun: false,
      isLatest: false,
      failed,
    });
    await markArchivesDeleted(tx, { repositoryId, keys: [key] });
    await bumpDataVersion(tx, repositoryId);
    const tagGroups = await loadTags(tx, submission);
    const unusedCount = await deleteUnusedLists(tx, repositoryId);
    await removeTags(tx, repositoryId, tagGroups);
    if (unusedCount > 0) {
      const { unlisted } = await findUnlistedTests(tx, repositoryId);
      await deleteTests(tx, repositoryId, unlisted);
    }
    await beforeCommit?.(tx);
    return true;
  });
}

interface LockedSubmission extends TaggedSubmission, CodeVersion {
  submissionId: string;
  codeVersion: string;
  branch: string | null;
}

async function lockSubmission(
  tx: Queryable,
  { organizationId, key }: { organizationId: number; key: string },
): Promise<LockedSubmission | undefined> {
  const repositories = await tx<{ repositoryId: number }[]>`
    select repository_id::float8 as "repositoryId" from repository
    where organization_id = ${organizationId}`;
  const find = (repositoryIds: number[]) =>
    tx<LockedSubmission[]>`
      select repository_id::float8 as "repositoryId",
        encode(submission_id, 'hex') as "submissionId", ${codeVersionOf(tx)} as "codeVersion",
        code_version as code, environment, job, workflow, branch, test_list_no as "testListNo",
        array_to_json(tags) as tags,
        encode(test_tag_digest, 'hex') as "testTagDigest"
      from submission s
      where repository_id = any(${arrayOf(repositoryIds)}::bigint[]) and key = ${key}`;
  const [found, ...others] = await find(repositories.map(({ repositoryId }) => repositoryId));
  if (others.length > 0) {
    throw new RangeError(`several repositories have a submission with the key "${key}"`);
  }
  if (!found) return undefined;
  // With the repository locked, no other process can delete it.
  await lockRepository(tx, found.repositoryId);
  const [locked] = await find([found.repositoryId]);
  return locked;
}

/** Unmarks the disruptions that only a submission proves, and takes it out of the disruptive tests. */
async function withdrawDisruptions(
  tx: Queryable,
  { repositoryId, submissionId, codeVersion }: LockedSubmission,
): Promise<void> {
  const here = tx`n.is_disruption and ${hasCodeVersion(tx, [codeVersion])}`;
  const testNos = new Set(
    (await loadNegatives(tx, repositoryId, here)).map(({ testNo }) => testNo),
  );
  if (testNos.size === 0) return;
  await withdraw(tx, {
    repositoryId,
    testNos,
    isWithdrawn: () => false,
    isDeleted: (one) => one.submissionId === submissionId,
    findLeft: findDisruptions,
  });
}
