import { createHash } from "node:crypto";
import { type SharedMessages, shareMessages } from "../../lib/analysis/shared_messages.ts";
import type { SubmissionContent } from "../../lib/analysis/submission_content.ts";
import type { TestTags } from "../../lib/analysis/test_tags.ts";
import { keyedSubmissionId, submissionId } from "../../lib/base/identity.ts";
import type { CoverageTotals } from "../../lib/report/coverage/mod.ts";
import { replaceSubmissionCoverage } from "./coverage_reports.ts";
import type { Database } from "../connection/connect.ts";
import { writeTransaction } from "../schema/migrate.ts";
import { type JudgedNegative, judgeSubmission } from "./detect_disruptions.ts";
import { type LockedRepository, lockRepository } from "../admin/repositories.ts";
import { type Queryable, textsIn } from "../connection/sql.ts";
import { removeUnprocessed } from "./unprocessed_submissions.ts";
import { makeKnown } from "./staged_tests.ts";
import { type EnsuredTests, ensureTests, findTestListNo, insertTestList } from "./test_lists.ts";
import { addTags, addTestTags, setTags, type TaggedTest } from "./test_tags.ts";

/** What one CI run, or one shard of it, hands in. */
export interface Upload {
  repositoryId: number;
  commitOid: string;
  /** The git tree of the commit: the same tree under two commits is the same code. */
  treeOid: string | null;
  branch: string | null;
  /** URL of the CI run, `""` when there is none. */
  buildUrl: string;
  /** Tags of every test of the upload. */
  tags: string[];
  /** Tags of single tests. */
  testTags?: TestTags | null;
  /** Seconds since 1970 that every result carries. */
  recordedAt: number;
  /** Seconds since 1970 of the upload itself. */
  uploadedAt: number;
  /** SHA-256 (hex) of the bytes of the reports, whatever their order. */
  reportDigest: string;
  content: SubmissionContent;
  coverage: CoverageTotals | null;
  /** Key of the archive in its object storage; made from the names without one. */
  key?: string;
  /** Runs at the end of the transaction that stores the upload: what it does is done with it. */
  alongside?(tx: Queryable): Promise<void>;
}

/** What became of an upload. */
export interface ProcessedSubmission {
  /** 24 hex digits. */
  submissionId: string;
  key: string;
  /** True when the upload is a submission that was there before; the rest describes that one. */
  duplicate: boolean;
  /** Seconds since 1970. */
  recordedAt: number;
  testResultCount: number;
  /** Negative results of the submission that are disruptions, as of now. */
  disruptionCount: number;
}

/** The repository of an upload was deleted before the upload was stored. */
export class RepositoryGoneError extends Error {
  override name = "RepositoryGoneError";
}

/**
 * Stores an upload and judges it, and with it the earlier negatives of its code version.
 *
 * Either all of it becomes visible or nothing. The repository's row is locked from the first
 * look to the last write: submissions of one repository are processed one after the other, so
 * two of the same code version cannot miss each other.
 *
 * @throws {RepositoryGoneError} when the repository does not exist any more
 */
export async function processSubmission(
  sql: Database["sql"],
  upload: Upload,
): Promise<ProcessedSubmission> {
  const { repositoryId } = upload;
  const uploadDigest = digestOf(upload);
  const staged = await stageTests(sql, { upload, uploadDigest });

  return await writeTransaction(sql, async (tx) => {
    const repository = await lockRepository(tx, repositoryId);
    if (!repository) throw new RepositoryGoneError("the repository was deleted meanwhile");
    if (upload.key !== undefined) await removeUnprocessed(tx, { repositoryId, key: upload.key });
    const duplicate = await findDuplicate(tx, { repositoryId, uploadDigest, key: upload.key });
    if (duplicate && upload.coverage) {
      await replaceSubmissionCoverage(tx, { repositoryId, ...duplicate }, upload.coverage);
    }
    // Where tests were removed meanwhile, some of these may be among them.
    const tests = staged?.removalCount === repository.removalCount ? staged : null;
    const submission = duplicate ??
      await store(tx, { ...repository, upload, uploadDigest, tests });
    await upload.alongside?.(tx);
    return submission;
  });
}

/**
 * Stores new tests ahead of the transaction, in batches, so that nobody waits long for it; `null`
 * when all are known.
 */
async function stageTests(
  sql: Queryable,
  { upload, uploadDigest }: { upload: Upload; uploadDigest: string },
): Promise<EnsuredTests & { removalCount: number } | null> {
  const { repositoryId, content, key } = upload;
  if (await findDuplicate(sql, { repositoryId, uploadDigest, key })) return null;
  const list = { repositoryId, listHash: content.listHash };
  if (await findTestListNo(sql, list) !== null) return null;
  const [repository] = await sql<{ removalCount: number }[]>`
    select removal_count::float8 as "removalCount" from repository where repository_id = ${repositoryId}`;
  if (!repository) return null;
  const tests = await ensureTests(sql, { repositoryId, content, tagsAt: tagsOf(upload) });
  return { ...repository, ...tests };
}

/** The tags that an upload gives to the test at a place of its list. */
function tagsOf({ tags, testTags }: Upload): (index: number) => string[] {
  if (!testTags) return () => tags;
  const { groups, groupOf } = testTags;
  return (index) => [...new Set([...tags, ...groups[groupOf[index]! - 1] ?? []])];
}

/**
 * Identifies an upload, in 32 hex digits: the same report bytes with the same commit and build URL
 * are the same submission. Two runs never write the same bytes, because durations differ.
 */
function digestOf({ commitOid, buildUrl, reportDigest }: Upload): string {
  return createHash("sha256").update(JSON.stringify([commitOid, buildUrl, reportDigest]))
    .digest("hex").slice(0, 32);
}

async function store(
  tx: Queryable,
  { owner, name, idPrefix, upload, uploadDigest, tests }: LockedRepository & {
    upload: Upload;
    uploadDigest: string;
    tests: EnsuredTests | null;
  },
): Promise<ProcessedSubmission> {
  const { repositoryId, content } = upload;
  // The prefix, not the name, stands for the repository: a rename changes no id.
  const id = upload.key === undefined
    ? submissionId(upload.recordedAt, [String(idPrefix), uploadDigest])
    : keyedSubmissionId({ recordedAt: upload.recordedAt, idPrefix, key: upload.key });
  const key = upload.key ?? `${owner}/${name}/${id}`;
  const list = { repositoryId, listHash: content.listHash };
  let testListNo = await findTestListNo(tx, list);
  let isTagged = (_testNo: number) => false;
  if (testListNo === null) {
    const introduced = await introduceTests(tx, { upload, tests });
    testListNo = await insertTestList(tx, { ...list, testNos: introduced.testNos });
    isTagged = introduced.isTagged;
  }
  const testTagSetNo = upload.testTags
    ? await addTestTags(tx, { repositoryId, testListNo, tags: upload.testTags, isTagged })
    : null;
  const negatives = await judgeSubmission(tx, repositoryId, { id, ...upload });
  const { messages, placeOf } = shareMessages(negatives);
  const columns = { testListNo, testTagSetNo, messages };
  await insertSubmission(tx, { id, key, upload, uploadDigest, ...columns });
  await insertNegatives(tx, { repositoryId, negatives, messageNoOf: placeOf });
  if (upload.tags.length > 0) {
    await addTags(tx, { repositoryId, testListNo, tags: upload.tags, isTagged });
  }
  if (upload.coverage) {
    const submission = { repositoryId, submissionId: id, recordedAt: upload.recordedAt };
    await replaceSubmissionCoverage(tx, submission, upload.coverage);
  }
  return {
    submissionId: id,
    key,
    duplicate: false,
    recordedAt: upload.recordedAt,
    testResultCount: content.resultCount,
    disruptionCount: negatives.filter(({ isDisruption }) => isDisruption).length,
  };
}

/**
 * Makes the tests of a new list known. Those that nobody knew before have their tags already, and
 * exactly these.
 */
async function introduceTests(
  tx: Queryable,
  { upload, tests }: { upload: Upload; tests: EnsuredTests | null },
): Promise<{ testNos: Int32Array; isTagged(testNo: number): boolean }> {
  const { repositoryId, content } = upload;
  const tagsAt = tagsOf(upload);
  const { testNos, staged } = tests ?? await ensureTests(tx, { repositoryId, content, tagsAt });
  const known = await makeKnown(tx, { repositoryId, testNos, own: staged });
  const shared = new Set(known.shared);
  if (shared.size > 0) {
    // Others staged them, with tags of theirs.
    const tagged: TaggedTest[] = [];
    testNos.forEach((test_no, index) =>
      shared.has(test_no) && tagged.push({ test_no, tags: tagsAt(index) })
    );
    await setTags(tx, repositoryId, tagged);
  }
  const isStaged = (testNo: number) =>
    known.untouched.some(({ first, end }) => testNo >= first && testNo < end);
  return { testNos, isTagged: (testNo) => shared.has(testNo) || isStaged(testNo) };
}

async function findDuplicate(
  sql: Queryable,
  { repositoryId, uploadDigest, key }: {
    repositoryId: number;
    uploadDigest: string;
    key: string | undefined;
  },
): Promise<ProcessedSubmission | null> {
  const [row] = await sql<Omit<ProcessedSubmission, "duplicate">[]>`
    select encode(submission_id, 'hex') as "submissionId", key,
      extract(epoch from recorded_at)::float8 as "recordedAt",
      test_result_count as "testResultCount",
      (select count(*) from negative_result n
        where n.repository_id = s.repository_id and n.submission_id = s.submission_id
          and n.is_disruption)::int as "disruptionCount"
    from submission s
    where repository_id = ${repositoryId} and status = 'processed'
      and (upload_digest = decode(${uploadDigest}, 'hex') or key = ${key ?? null}::text)
    limit 1`;
  return row ? { ...row, duplicate: true } : null;
}

/** Stores the row of a submission; with it the repository's data changes. */
async function insertSubmission(
  tx: Queryable,
  { id, key, upload, uploadDigest, testListNo, testTagSetNo, messages }: {
    id: string;
    key: string;
    upload: Upload;
    uploadDigest: string;
    testListNo: number;
    testTagSetNo: number | null;
    messages: string[];
  },
): Promise<void> {
  const { content } = upload;
  await tx`
    with version as (
      update repository set data_version = data_version + 1, addition_count = addition_count + 1,
        is_visible = true
      where repository_id = ${upload.repositoryId}
      returning data_version
    )
    insert into submission (repository_id, submission_id, recorded_at, uploaded_at, status, key,
      build_url, commit_oid, tree_oid, branch, tags, upload_digest, test_result_count,
      test_list_no, test_tag_set_no, durations, duration_unit, exceptions,
      messages, data_version)
    select ${upload.repositoryId}, decode(${id}, 'hex'), to_timestamp(${upload.recordedAt}),
      to_timestamp(${upload.uploadedAt}), 'processed', ${key}, ${upload.buildUrl},
      ${upload.commitOid}, ${upload.treeOid}, ${upload.branch},
      ${textsIn(tx, upload.tags)},
      decode(${uploadDigest}, 'hex'), ${content.resultCount}, ${testListNo},
      ${testTagSetNo}::int, ${content.durations}, ${content.durationUnit},
      ${content.exceptions}, nullif(${textsIn(tx, messages)}, '{}'),
      version.data_version
    from version`;
}

/** Rows that one statement stores: one message has at most 1,000 characters. */
const NEGATIVES_PER_STATEMENT = 2_000;

async function insertNegatives(
  tx: Queryable,
  { repositoryId, negatives, messageNoOf }: {
    repositoryId: number;
    negatives: JudgedNegative[];
    messageNoOf: SharedMessages["placeOf"];
  },
): Promise<void> {
  // In the order of the primary key: its pages are filled one after the other, and stay full.
  const rows = negatives
    .toSorted((a, b) =>
      Number(a.isDisruption) - Number(b.isDisruption) || a.testNo - b.testNo ||
      a.resultNo - b.resultNo
    )
    .map((negative) => {
      const messageNo = messageNoOf(negative.message);
      return { ...negative, messageNo, message: messageNo === null ? negative.message : null };
    });
  for (let start = 0; start < rows.length; start += NEGATIVES_PER_STATEMENT) {
    const batch = rows.slice(start, start + NEGATIVES_PER_STATEMENT);
    await tx`
      insert into negative_result (repository_id, submission_id, result_no, test_no, is_disruption,
        conclusion, message, message_no)
      select ${repositoryId}, decode("submissionId", 'hex'), "resultNo", "testNo", "isDisruption",
        conclusion, message, "messageNo"
      from json_to_recordset(${JSON.stringify(batch)}::text::json) as t("submissionId" text,
        "resultNo" int, "testNo" int, "isDisruption" boolean, conclusion text, message text,
        "messageNo" int)`;
  }
}
