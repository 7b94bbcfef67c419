import { createHash } from "node:crypto";
import type { NegativeResult } from "../../lib/analysis/disruptions.ts";
import type { SubmissionContent } from "../../lib/analysis/submission_content.ts";
import type { TestTags } from "../../lib/analysis/test_tags.ts";
import { keyedSubmissionId, submissionId, type TestIdentity } from "../../lib/base/identity.ts";
import type { CoverageTotals } from "../../lib/report/coverage/mod.ts";
import type { Database } from "../connection/connect.ts";
import type { Queryable } from "../connection/sql.ts";
import { detectDisruptions } from "./disruptions.ts";
import { storeTexts } from "./failure_texts.ts";
import {
  bumpForAddition,
  changeCount,
  type LockedRepository,
  lockRepository,
} from "./repository_row.ts";
import { insertSubmission, removeUnprocessed, type SubmissionFacts } from "./submission_rows.ts";
import { addTags } from "./test_tags.ts";
import {
  findTestListNo,
  insertTestList,
  prepareTests,
  publishTests,
  testNosByHash,
} from "./tests.ts";
import { writeTransaction } from "./transaction.ts";

/** One upload: a CI run, or one shard of it. */
export interface Upload extends Omit<SubmissionFacts, "key"> {
  /** Page of the repository; kept as it is when `""` or not given. */
  repositoryUrl?: string;
  /** Tags of single tests, in addition to those of all. */
  testTags?: TestTags | null;
  /** SHA-256 (hex) of the bytes of the reports. */
  reportDigest: string;
  content: SubmissionContent;
  coverage: CoverageTotals | null;
  /** Key of the archive in its folder or bucket, if it came from one. */
  key?: string;
  /** Runs at the end of the transaction that stores the upload; `null`: there was only coverage. */
  beforeCommit?(tx: Queryable, stored: StoreResult | null): Promise<void>;
}

interface StoreResult {
  /** 24 hex digits. */
  submissionId: string;
  key: string;
  /** True when the upload had been stored before; the other fields describe that submission. */
  duplicate: boolean;
  /** Seconds since 1970. */
  recordedAt: number;
  testResultCount: number;
  tags: string[];
  /** Results of the submission that are disruptions now. */
  disruptionCount: number;
  /** Tests of the upload that were never disruptive before. */
  newlyDisruptive: TestIdentity[];
}

/** `digest` identifies an upload, in 32 hex digits. */
type DigestedUpload = Upload & { digest: string };

/** Tests of an upload that are stored, but not published. */
interface PreparedTests {
  testNos: Int32Array;
  /** Of the repository, before they were stored: once it differs, some may have been deleted. */
  changeCount: number;
}

/**
 * Stores an upload and detects the disruptions of its code version, atomically.
 *
 * The repository is locked for the whole transaction: submissions of one repository are
 * stored one after the other, so that two of the same code version cannot miss each other.
 */
export async function storeSubmission(sql: Database["sql"], given: Upload): Promise<StoreResult> {
  const { repositoryId, commitOid, buildUrl, reportDigest, coverage } = given;
  // The same report bytes with the same commit and build URL are the same submission. Two runs
  // never write the same bytes, because durations differ.
  const digest = createHash("sha256").update(JSON.stringify([commitOid, buildUrl, reportDigest]))
    .digest("hex").slice(0, 32);
  const upload = { ...given, digest };
  const prepared = await prepareNewList(sql, upload);
  return await storeInRepository(sql, upload, async (tx, repository) => {
    const stored = await findDuplicate(tx, upload) ??
      await insertUpload(tx, upload, { repository, prepared });
    if (coverage) await storeCoverage(tx, { repositoryId, ...stored }, coverage);
    return stored;
  });
}

/** Runs `store` in one transaction, in which the row that shows the archive is deleted. */
export async function storeInRepository<T extends StoreResult | null>(
  sql: Database["sql"],
  { repositoryId, key, beforeCommit }: Pick<Upload, "repositoryId" | "key" | "beforeCommit">,
  store: (tx: Queryable, repository: LockedRepository) => Promise<T>,
): Promise<T> {
  return await writeTransaction(sql, async (tx) => {
    const repository = await lockRepository(tx, repositoryId);
    if (!repository) throw new Error("the repository was deleted during the upload");
    if (key !== undefined) await removeUnprocessed(tx, { repositoryId, key });
    const stored = await store(tx, repository);
    await beforeCommit?.(tx, stored);
    return stored;
  });
}

/** Stores the tests of an upload ahead of its transaction; `null` when their list is known. */
async function prepareNewList(
  sql: Queryable,
  upload: DigestedUpload,
): Promise<PreparedTests | null> {
  const { repositoryId, content } = upload;
  if (await findTestListNo(sql, { repositoryId, ...content }) !== null) return null;
  if (await findDuplicate(sql, upload)) return null;
  const [repository] = await sql<{ changeCount: number }[]>`
    select ${changeCount(sql)} as "changeCount" from repository_state
    where repository_id = ${repositoryId}`;
  if (!repository) return null;
  return { ...repository, testNos: await prepareTests(sql, { repositoryId, content }) };
}

async function findDuplicate(
  sql: Queryable,
  { repositoryId, digest, key }: DigestedUpload,
): Promise<StoreResult | null> {
  const [row] = await sql<Omit<StoreResult, "duplicate" | "newlyDisruptive">[]>`
    select encode(submission_id, 'hex') as "submissionId", key,
      extract(epoch from recorded_at)::float8 as "recordedAt",
      test_result_count as "testResultCount", array_to_json(tags) as tags,
      (select count(*) from negative_result n
        where n.repository_id = ${repositoryId} and n.submission_id = s.submission_id
          and n.is_disruption)::int as "disruptionCount"
    from submission s
    where repository_id = ${repositoryId} and status = 'processed'
      and (upload_digest = decode(${digest}, 'hex') or key = ${key ?? null}::text)
    limit 1`;
  return row ? { ...row, duplicate: true, newlyDisruptive: [] } : null;
}

async function insertUpload(
  tx: Queryable,
  upload: DigestedUpload,
  { repository, prepared }: { repository: LockedRepository; prepared: PreparedTests | null },
): Promise<StoreResult> {
  const { repositoryId, digest, content, recordedAt, tags, testTags = null } = upload;
  const { owner, name, idPrefix } = repository;
  // The prefix stands for the repository: renaming it changes no id.
  const id = upload.key === undefined
    ? submissionId(recordedAt, [String(idPrefix), digest])
    : keyedSubmissionId({ recordedAt, idPrefix, key: upload.key });
  const key = upload.key ?? `${owner}/${name}/${id}`;

  const list = { repositoryId, listHash: content.listHash };
  let testListNo = await findTestListNo(tx, list);
  if (testListNo === null) {
    const testNos = prepared?.changeCount === repository.changeCount
      ? prepared.testNos
      : await prepareTests(tx, { repositoryId, content });
    await publishTests(tx, { repositoryId, testNos });
    testListNo = await insertTestList(tx, { ...list, testNos });
  }
  const testTagDigest = await addTags(tx, { repositoryId, testListNo }, { tags, testTags });

  const results = { content, digest, testListNo, testTagDigest };
  const codeVersion = await insertSubmission(tx, { ...upload, id, key }, results);
  await storeTexts(tx, { repositoryId, texts: content.texts });
  const negatives = await newNegatives(tx, upload, id);
  const { disruptions, newlyDisruptive } = await detectDisruptions(tx, {
    repositoryId,
    codeVersion: codeVersion!,
    own: negatives,
  });
  for (const negative of negatives) negative.isDisruption = disruptions.has(negative);
  await insertNegatives(tx, repositoryId, negatives);
  if (upload.repositoryUrl) {
    await tx`
      update repository set url = ${upload.repositoryUrl}
      where repository_id = ${repositoryId} and url <> ${upload.repositoryUrl}`;
  }
  return {
    submissionId: id,
    key,
    duplicate: false,
    recordedAt,
    testResultCount: content.resultCount,
    tags,
    disruptionCount: negatives.filter(({ isDisruption }) => isDisruption).length,
    newlyDisruptive,
  };
}

/** A failure or error of the submission. */
interface NewNegative extends NegativeResult {
  conclusion: "failure" | "error";
  textId: string;
  fingerprint: string;
}

async function newNegatives(
  tx: Queryable,
  { repositoryId, content }: Upload,
  submissionId: string,
): Promise<NewNegative[]> {
  if (content.negatives.length === 0) return [];
  const hashes = new Set(content.negatives.map(({ testHash }) => testHash));
  const testNos = await testNosByHash(tx, repositoryId, hashes);
  return content.negatives.map(({ testHash, textNo, ...negative }) => {
    const { textId, fingerprint, message } = content.texts[textNo]!;
    const testNo = testNos.get(testHash)!;
    const text = { textId, fingerprint, message };
    return { ...negative, ...text, submissionId, testNo, isDisruption: false };
  });
}

const NEGATIVES_PER_STATEMENT = 2_000;

async function insertNegatives(
  tx: Queryable,
  repositoryId: number,
  negatives: NewNegative[],
): Promise<void> {
  // In the order of the primary key, so that pages of its index are filled one after the other.
  const rows = negatives
    .toSorted((a, b) =>
      Number(a.isDisruption) - Number(b.isDisruption) || a.testNo - b.testNo ||
      a.resultNo - b.resultNo
    )
    .map(({ message: _, ...row }) => row);
  for (let start = 0; start < rows.length; start += NEGATIVES_PER_STATEMENT) {
    const batch = rows.slice(start, start + NEGATIVES_PER_STATEMENT);
    await tx`
      insert into negative_result (repository_id, submission_id, result_no, test_no, is_disruption,
        conclusion, text_id, fingerprint)
      select ${repositoryId}, decode("submissionId", 'hex'), "resultNo", "testNo", "isDisruption",
        conclusion, decode("textId", 'hex'), decode(fingerprint, 'hex')
      from json_to_recordset(${JSON.stringify(batch)}::text::json) as t("submissionId" text,
        "resultNo" int, "testNo" int, "isDisruption" boolean, conclusion text, "textId" text,
        fingerprint text)`;
  }
}

/**
 * Stores coverage, that of a submission in place of what it brought before. A report without a
 * line only makes the repository visible.
 */
export async function storeCoverage(
  tx: Queryable,
  { repositoryId, recordedAt, submissionId = null }: {
    repositoryId: number;
    recordedAt: number;
    submissionId?: string | null;
  },
  { coveredLineCount, lineCount }: CoverageTotals,
): Promise<void> {
  await bumpForAddition(tx, repositoryId);
  if (lineCount === 0) return;
  await tx`
    delete from coverage_report
    where repository_id = ${repositoryId} and submission_id = decode(${submissionId}::text, 'hex')`;
  await tx`
    insert into coverage_report
      (repository_id, recorded_at, submission_id, covered_line_count, line_count)
    values (${repositoryId}, to_timestamp(${recordedAt}), decode(${submissionId}::text, 'hex'),
      ${coveredLineCount}, ${lineCount})`;
}
