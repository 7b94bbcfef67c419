import {
  type DisruptiveTest,
  findDisruptions,
  mergeDisruptive,
  mergePrunedFields,
  type NegativeResult,
  type PrunedFields,
} from "../../lib/analysis/disruptions.ts";
import type { Database } from "../connection/connect.ts";
import { arrayOf, integersIn, type Queryable } from "../connection/sql.ts";
import { messageOf } from "../read/failure_texts.ts";
import {
  deleteDisruptiveTests,
  loadProcessedSubmissions,
  loadPrunedFields,
  markDisruptions,
  storeDisruptiveTests,
} from "./code_versions.ts";
import { deleteUnusedTexts } from "./failure_texts.ts";
import { bumpDataVersion, lockRepository } from "./repository_row.ts";
import { removeTestList } from "./test_lists.ts";
import { removeTags } from "./test_tags.ts";
import { writeTransaction } from "./transaction.ts";

/**
 * Deletes a submission of an organization with its results and coverage, the disruptions that only
 * it proved, and the tests and tags that only it added. Returns false when there is none with this
 * key.
 * @throws {RangeError} when several repositories have one
 */
export async function deleteSubmission(
  sql: Database["sql"],
  { organizationId, key, alongside }: {
    organizationId: number;
    key: string;
    /** Runs at the end of the transaction. */
    alongside?(tx: Queryable): Promise<void>;
  },
): Promise<boolean> {
  return await writeTransaction(sql, async (tx) => {
    const submission = await lockSubmission(tx, { organizationId, key });
    if (!submission) return false;
    const { repositoryId, codeVersion, submissionId, testListNo } = submission;
    const disruptive = await tx<{ testNo: number }[]>`
      select distinct n.test_no as "testNo"
      from submission s
      join negative_result n using (repository_id, submission_id)
      where s.repository_id = ${repositoryId} and s.code_version = ${codeVersion}
        and n.is_disruption`;
    const testNos = new Set(disruptive.map(({ testNo }) => testNo));
    const prunedFields = testNos.size === 0
      ? []
      : await loadPrunedFields(tx, { repositoryId, testNos });

    await tx`
      delete from coverage_report
      where repository_id = ${repositoryId} and submission_id = decode(${submissionId}, 'hex')`;
    const texts = await tx<{ textId: string }[]>`
      with deleted as (
        delete from negative_result
        where repository_id = ${repositoryId} and submission_id = decode(${submissionId}, 'hex')
        returning text_id
      )
      select distinct encode(text_id, 'hex') as "textId" from deleted`;
    await deleteUnusedTexts(tx, { repositoryId, textIds: texts.map(({ textId }) => textId) });
    await tx`
      delete from submission
      where repository_id = ${repositoryId} and submission_id = decode(${submissionId}, 'hex')`;
    await bumpDataVersion(tx, repositoryId);
    if (testNos.size > 0) await redetectDisruptions(tx, { repositoryId, testNos, prunedFields });
    if (testListNo !== null) {
      const list = { repositoryId, testListNo };
      const { tags, testTagSetNo } = submission;
      if (tags.length > 0 || testTagSetNo !== null) await removeTags(tx, list, submission);
      await removeTestList(tx, list);
    }
    await alongside?.(tx);
    return true;
  });
}

interface LockedSubmission {
  repositoryId: number;
  submissionId: string;
  codeVersion: string;
  testListNo: number | null;
  tags: string[];
  testTagSetNo: number | null;
}

async function lockSubmission(
  tx: Queryable,
  { organizationId, key }: { organizationId: number; key: string },
): Promise<LockedSubmission | null> {
  const repositories = await tx<{ repositoryId: number }[]>`
    select repository_id::float8 as "repositoryId" from repository
    where organization_id = ${organizationId} and repository_number is not null`;
  const repositoryIds = arrayOf(repositories.map(({ repositoryId }) => repositoryId));
  const found = await tx<{ repositoryId: number }[]>`
    select repository_id::float8 as "repositoryId" from submission
    where repository_id = any(${repositoryIds}::bigint[]) and key = ${key}`;
  const [only] = found;
  if (!only) return null;
  if (found.length > 1) {
    throw new RangeError(
      `${found.length} repositories have a submission with the key "${key}": ` +
        "expected a key that only one has",
    );
  }
  // With the repository locked, no other process can delete it.
  await lockRepository(tx, only.repositoryId);
  const [row] = await tx<LockedSubmission[]>`
    select repository_id::float8 as "repositoryId",
      encode(submission_id, 'hex') as "submissionId", code_version as "codeVersion",
      test_list_no as "testListNo",
      array_to_json(tags) as tags, test_tag_set_no as "testTagSetNo"
    from submission
    where repository_id = ${only.repositoryId} and key = ${key}`;
  return row ?? null;
}

// Lists of tests and exceptions of all their submissions are held in memory at once.
const CODE_VERSIONS_PER_STATEMENT = 200;

/** Unmarks disruptions of tests that are not nondeterministic any more; recomputes the others. */
async function redetectDisruptions(
  tx: Queryable,
  { repositoryId, testNos, prunedFields }: {
    repositoryId: number;
    testNos: Set<number>;
    prunedFields: PrunedFields[];
  },
): Promise<void> {
  const disruptions = await tx<(NegativeResult & { codeVersion: string })[]>`
    select s.code_version as "codeVersion", encode(n.submission_id, 'hex') as "submissionId",
      n.result_no as "resultNo", n.test_no as "testNo", ${messageOf(tx, repositoryId)} as message,
      n.is_disruption as "isDisruption"
    from negative_result n
    join submission s using (repository_id, submission_id)
    where n.repository_id = ${repositoryId} and n.is_disruption
      and n.test_no = any(${integersIn(tx, testNos)})`;
  const known = new Map<number, DisruptiveTest>();
  const cleared = new Set<NegativeResult>(disruptions);
  const byVersion = [...Map.groupBy(disruptions, (disruption) => disruption.codeVersion)];
  for (let start = 0; start < byVersion.length; start += CODE_VERSIONS_PER_STATEMENT) {
    const batch = byVersion.slice(start, start + CODE_VERSIONS_PER_STATEMENT);
    const codeVersions = batch.map(([codeVersion]) => codeVersion);
    const submissions = await loadProcessedSubmissions(tx, { repositoryId, codeVersions, testNos });
    const submissionsOf = Map.groupBy(submissions, (submission) => submission.codeVersion);
    for (const [codeVersion, negatives] of batch) {
      const found = findDisruptions(submissionsOf.get(codeVersion) ?? [], negatives);
      for (const { test, disruptions } of found) {
        for (const disruption of disruptions) cleared.delete(disruption);
        known.set(test.testNo, mergeDisruptive(known.get(test.testNo), test));
      }
    }
  }
  await markDisruptions(tx, { repositoryId, negatives: [...cleared], isDisruption: false });
  for (const fields of prunedFields) {
    const merged = mergePrunedFields(known.get(fields.testNo), fields);
    if (merged) known.set(fields.testNo, merged);
  }
  await deleteDisruptiveTests(tx, {
    repositoryId,
    testNos: [...testNos].filter((testNo) => !known.has(testNo)),
  });
  await storeDisruptiveTests(tx, { repositoryId, tests: [...known.values()] });
}
