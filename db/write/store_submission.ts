import { createHash } from "node:crypto";
import { hasFailedAndPassed } from "../../lib/analysis/disruptions.ts";
import {
  fileMatchNotes,
  type MistakenMatch,
  withFileMatches,
} from "../../lib/analysis/file_matches.ts";
import { mayBeEqual, type SubmissionContent } from "../../lib/analysis/submission_content.ts";
import { countTests } from "../../lib/analysis/test_counts.ts";
import type { TestList } from "../../lib/analysis/run.ts";
import type { TestTags } from "../../lib/analysis/test_tags.ts";
import { branchOfPull, knownBaseBranch } from "../../lib/evidence/base_branch.ts";
import { keyedSubmissionId, submissionId, type TestIdentity } from "../../lib/base/identity.ts";
import { repositoryUrlFrom } from "../../lib/base/repository_name.ts";
import type { CoverageTotals } from "../../lib/report/coverage/mod.ts";
import type { Queryable } from "../connection/sql.ts";
import { type NewDisruption, storeNegatives } from "./disruptions.ts";
import { type ImportedEvidence, importEvidence, storeEvidence } from "./evidence.ts";
import { resolveTruths } from "./truths.ts";
import { NewNegatives } from "../../lib/analysis/new_negatives.ts";
import { storeTexts, TEXTS_PER_BATCH } from "./store_texts.ts";
import { bumpForAddition, type LockedRepository, lockForUpload } from "./repository_row.ts";
import {
  addNote,
  insertSubmission,
  placeOfRun,
  removeUnprocessed,
  type SubmissionHead,
} from "./submission_rows.ts";
import { addTags } from "./test_tags.ts";
import { loadBase } from "../read/base_branch.ts";
import { codeOf } from "../read/fragments.ts";
import { resolveCommit } from "./abbreviated_commits.ts";
import { findFileMatches, removeMistakenMatches, storeFileMatches } from "./file_matches.ts";
import {
  changingNamesNote,
  mayChange,
  MIN_EARLIER_SUBMISSIONS,
} from "../../lib/analysis/changing_names.ts";
import { findTestListNo, storeTestList, type TestNos } from "./tests.ts";

/** One upload: a CI run, or one shard of it. */
export interface Upload extends Omit<SubmissionHead, "key"> {
  /** Page of the repository; kept as it is, or derived from the build URL, when `""` or not given. */
  repositoryUrl?: string;
  /** Whether the run was started for a pull request. */
  isOfPull?: boolean;
  /** The default branch of the repository; `""` when it is not known. */
  defaultBranch?: string;
  /** Number of the job in its CI run, another one when it runs again; 0 when unknown. */
  jobNumber?: number;
  /** Tags of single tests, in addition to the tags of all. */
  testTags?: TestTags | null;
  /** SHA-256 (hex) of the bytes of the reports. */
  reportDigest: string;
  content: SubmissionContent;
  coverage: CoverageTotals | null;
  /** Whether the content may lose its identities once the tests are stored: a fifth of a million failures. */
  isStoredOnce?: boolean | undefined;
  /** Key of the archive in its folder or bucket, if it came from one. */
  key?: string | undefined;
  /** For an imported submission: the id and the digest (hex) that it had. `reportDigest` is ignored. */
  imported?: {
    id: string;
    digest: string;
    isOutage: boolean;
    evidence: readonly ImportedEvidence[];
  };
}

/** What was stored of an upload. */
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
  /** Negative results, of earlier submissions too, that are disruptions since this upload. */
  newDisruptions: NewDisruption[];
  /** Whether its failures are an outage, which other branches had too. */
  isOutage: boolean;
  /** Tests of which it took back a file: their quarantine may be meant for another. */
  mistaken: MistakenMatch[];
  /** What is to be said about its tests, and is among the notes of the submission. */
  notes: string[];
}

/** `digest` identifies an upload, in 32 hex digits. */
type DigestedUpload = Upload & { digest: string };

/**
 * Stores an upload and detects the disruptions of its code version, in a transaction.
 *
 * The repository is locked to its end: submissions of one repository are stored one after the other,
 * so that two of the same code version cannot miss each other.
 */
export async function storeSubmission(
  tx: Queryable,
  given: Upload,
  { locked }: {
    /** The repository if the transaction has locked it already. */
    locked?: LockedRepository;
  } = {},
): Promise<StoreResult> {
  const { repositoryId, commitOid, buildUrl, reportDigest, content, coverage } = given;
  const repository = locked ?? await lockForUpload(tx, repositoryId);
  // The same report bytes with the same commit and build URL are the same submission. Two runs never write the
  // same bytes, because durations differ; those of a few tests may be equal by chance.
  const { environment = "", job = "", workflow = "", shard = "", attempt = "", jobNumber = 0 } =
    given;
  const run = [environment, job, workflow, shard, attempt, jobNumber];
  const ofRun = mayBeEqual(content) && run.some(Boolean) ? run : [];
  const digest = given.imported?.digest ??
    createHash("sha256").update(JSON.stringify([commitOid, buildUrl, reportDigest, ...ofRun]))
      .digest("hex").slice(0, 32);
  const upload = { ...given, digest };
  const [duplicate, commitAndList] = await Promise.all([
    findDuplicate(tx, upload),
    findCommitAndList(tx, upload),
  ]);
  const stored = duplicate ?? await insertUpload(tx, upload, { repository, ...commitAndList });
  if (coverage) {
    if (duplicate) await bumpForAddition(tx, repositoryId);
    await storeCoverage(tx, { repositoryId, ...stored }, coverage);
  }
  return stored;
}

/** Stores an upload without results, in a transaction that has locked its repository. */
export async function storeCoverageAlone(
  tx: Queryable,
  upload: Pick<Upload, "repositoryId" | "key" | "recordedAt" | "coverage">,
): Promise<void> {
  const { repositoryId, key } = upload;
  if (key !== undefined) await removeUnprocessed(tx, { repositoryId, key });
  if (!upload.coverage) return;
  await bumpForAddition(tx, repositoryId);
  await storeCoverage(tx, upload, upload.coverage);
}

/** The submission that the upload already is. One that only shows its archive as `processing` is deleted. */
async function findDuplicate(
  tx: Queryable,
  { repositoryId, digest, key }: DigestedUpload,
): Promise<StoreResult | null> {
  type Row =
    & Omit<StoreResult, "duplicate" | keyof typeof none>
    & { isProcessed: boolean };
  const none = {
    newlyDisruptive: [],
    newDisruptions: [],
    isOutage: false,
    mistaken: [],
    notes: [],
  };
  const rows = await tx<Row[]>`
    select encode(submission_id, 'hex') as "submissionId", key,
      extract(epoch from recorded_at)::float8 as "recordedAt",
      test_result_count as "testResultCount", array_to_json(tags) as tags,
      status = 'processed' as "isProcessed", (
        select count(*) from negative_result n
        where n.repository_id = ${repositoryId} and n.submission_id = s.submission_id
          and n.is_disruption)::int as "disruptionCount"
    from submission s
    where repository_id = ${repositoryId}
      and (upload_digest = decode(${digest}, 'hex') or key = ${key ?? null}::text)`;
  const shown = rows.find(({ isProcessed }) => !isProcessed);
  if (shown) await removeUnprocessed(tx, { repositoryId, key: shown.key });
  const stored = rows.find(({ isProcessed }) => isProcessed);
  if (!stored) return null;
  const { isProcessed: _, ...result } = stored;
  return { ...result, ...none, duplicate: true };
}

/** What identifies a new submission, and the tests that it ran. */
interface IdentifiedUpload {
  submissionId: string;
  key: string;
  commitOid: string;
  /** With the tests that the repository knows with a file, or without one, as those. */
  content: SubmissionContent;
  testTags: TestTags | null;
  /** Of the list of its tests; `null` when no submission ran these tests. */
  testListNo: number | null;
  mistaken: MistakenMatch[];
  notes: string[];
}

/** What the repository has of an upload, whether it is a duplicate or not. */
interface CommitAndList {
  commit: { commitOid: string; notes: string[] };
  /** Of the list of its tests; `null` when no submission ran these tests. */
  testListNo: number | null;
}

async function findCommitAndList(tx: Queryable, upload: DigestedUpload): Promise<CommitAndList> {
  const { repositoryId, commitOid, content: { listHash } } = upload;
  const [commit, testListNo] = await Promise.all([
    upload.imported ? { commitOid, notes: [] } : resolveCommit(tx, upload),
    findTestListNo(tx, { repositoryId, listHash }),
  ]);
  return { commit, testListNo };
}

/** The ids and tests of a new submission. Needs the lock, and nothing of the upload stored. */
async function identify(
  tx: Queryable,
  upload: DigestedUpload,
  { repository: { owner, name, idPrefix }, commit, testListNo }:
    & { repository: LockedRepository }
    & CommitAndList,
): Promise<IdentifiedUpload> {
  const { recordedAt, digest } = upload;
  const matched = await matchFiles(tx, upload, testListNo);
  // The prefix stands for the repository: renaming it changes no id.
  const id = upload.imported?.id ??
    (upload.key === undefined
      ? submissionId(recordedAt, [String(idPrefix), digest])
      : keyedSubmissionId({ recordedAt, idPrefix, key: upload.key }));
  return {
    ...matched,
    submissionId: id,
    key: upload.key ?? `${owner}/${name}/${id}`,
    commitOid: commit.commitOid,
    notes: [...commit.notes, ...matched.notes],
  };
}

/** A submission whose row is stored. */
type StoredSubmission = Omit<SubmissionHead, "key"> & {
  submissionId: string;
  codeVersion: string;
  /** Whether no other submission has its code version. */
  isOnlyRun: boolean;
  /** Whether no later one is of its branch, environment, job and workflow. */
  isLatest: boolean;
  failedTestNos: Pick<TestNos, "get">;
};

/** Stores the tests, texts, tags and the row of an upload. Needs what identifies it. */
async function storeContent(
  tx: Queryable,
  upload: DigestedUpload,
  { submissionId, key, commitOid, content, testTags, ...identified }: IdentifiedUpload,
): Promise<StoredSubmission & Pick<StoreResult, "mistaken" | "notes">> {
  const { repositoryId, digest, tags } = upload;
  const notes = [...identified.notes];
  const isOneBatch = content.texts.count <= TEXTS_PER_BATCH;
  const [
    { newTests, testListNo, failedTestNos, ambiguousTestNos, overheads, mistaken },
    dataVersion,
  ] = await Promise.all([
    storeTestList(tx, { repositoryId, content, testListNo: identified.testListNo }),
    bumpForAddition(tx, repositoryId),
    isOneBatch && storeTexts(tx, { repositoryId, texts: content.texts }),
  ]);
  // Many texts come after the identities are freed: both in memory at once raise the peak of a large upload.
  if (upload.isStoredOnce) content.forgetIdentities?.();
  if (!isOneBatch) await storeTexts(tx, { repositoryId, texts: content.texts });
  const testCount = content.testHashes.length;
  if (
    !upload.imported && mayChange(newTests, testCount) &&
    await hasEarlierSubmissions(tx, { repositoryId, job: upload.job ?? "" })
  ) notes.push(changingNamesNote(newTests, testCount));
  const testTagDigest = await addTags(tx, { repositoryId, testListNo }, { tags, testTags });

  const runner = upload.runner || content.hostname || "";
  const head = { ...upload, runner, commitOid, id: submissionId, key, dataVersion };
  const columns = { content, digest, testListNo, testTagDigest, ambiguousTestNos, overheads };
  const [codeVersion, place] = await Promise.all([
    insertSubmission(tx, { ...head, notes: [...upload.notes ?? [], ...notes] }, columns),
    placeOfRun(tx, { repositoryId, submissionId }),
  ]);
  const result = { mistaken: [...identified.mistaken, ...mistaken], notes };
  return { ...head, ...place, submissionId, codeVersion: codeVersion!, failedTestNos, ...result };
}

/**
 * Stores the negative results of a submission, which of them are disruptions, the evidence for its failures and
 * what it shows of earlier ones. Needs its row.
 */
async function judge(
  tx: Queryable,
  upload: DigestedUpload,
  { repository, submission, content }: {
    repository: LockedRepository;
    submission: StoredSubmission;
    content: SubmissionContent;
  },
): Promise<Awaited<ReturnType<typeof storeNegatives>> & { isOutage: boolean }> {
  const { repositoryId } = upload;
  const { submissionId, codeVersion, isOnlyRun, failedTestNos } = submission;
  const negatives = new NewNegatives({ submissionId, content, failedTestNos });
  const mayBeDisruptions = !isOnlyRun || hasFailedAndPassed(content.exceptions);
  const run = { submissionId, codeVersion, negatives };
  const lists = new Map<number, TestList>();
  // Neither reads what the other writes: evidence leaves out the submission itself, and the detection changes
  // `negatives` only in what evidence does not read.
  const [found, isOutage] = await Promise.all([
    storeNegatives(tx, repositoryId, { ...run, mayBeDisruptions }),
    upload.imported
      ? importEvidence(tx, { repositoryId, submissionId, ...upload.imported })
      : storeFailureEvidence(tx, submission, { repository, content, negatives, lists }),
  ]);
  if (!upload.imported) await updateTruths(tx, submission, { negatives, lists });
  return { ...found, isOutage };
}

/** Stores an upload that is not stored yet. */
async function insertUpload(
  tx: Queryable,
  upload: DigestedUpload,
  known: { repository: LockedRepository } & CommitAndList,
): Promise<StoreResult> {
  const { repository } = known;
  const { repositoryId, recordedAt, tags } = upload;
  upload = { ...upload, branch: await branchToStore(tx, upload, repository) };
  const identified = await identify(tx, upload, known);
  const { submissionId, key, content } = identified;
  const { mistaken, notes, ...submission } = await storeContent(tx, upload, identified);
  const [{ legsNote, ...found }] = await Promise.all([
    judge(tx, upload, { repository, submission, content }),
    storeRepositoryUrl(tx, repository, {
      repositoryId,
      given: upload.repositoryUrl ?? "",
      // Reports that curl uploads come without it. An import keeps what was exported.
      derived: upload.imported
        ? ""
        : repositoryUrlFrom(upload.buildUrl, `${repository.owner}/${repository.name}`),
    }),
  ]);
  // Afterwards: evidence is as of before the upload.
  await storeDefaultBranch(tx, repository, { repositoryId, branch: upload.defaultBranch ?? "" });
  if (legsNote !== null && !upload.imported) {
    notes.push(legsNote);
    await addNote(tx, { repositoryId, submissionId, note: legsNote });
  }
  const testResultCount = content.resultCount;
  const stored = { submissionId, key, duplicate: false, recordedAt, testResultCount, tags };
  return { ...stored, ...found, mistaken, notes };
}

/** The branch of an upload, but the base branch of no run that was started for a pull request. */
async function branchToStore(
  tx: Queryable,
  { repositoryId, branch, isOfPull = false, recordedAt, defaultBranch = "" }: Upload,
  repository: LockedRepository,
): Promise<string | null> {
  if (!isOfPull || !branch) return branch;
  const known = knownBaseBranch(repository);
  const found = known === null ? await loadBase(tx, { repositoryId, now: recordedAt }) : null;
  // One that is guessed may be the branch of this very pull request.
  const base = found?.isBaseGuessed ? null : found?.base ?? known;
  return branchOfPull(branch, [base, repository.defaultBranch, defaultBranch]) || null;
}

/** Whether the names of the tests of a job are known from enough submissions. */
async function hasEarlierSubmissions(
  tx: Queryable,
  { repositoryId, job }: { repositoryId: number; job: string },
): Promise<boolean> {
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from (
      select 1 from submission
      where repository_id = ${repositoryId} and job = ${job} and status = 'processed'
      limit ${MIN_EARLIER_SUBMISSIONS + 1}) s`;
  return row!.count > MIN_EARLIER_SUBMISSIONS;
}

/** Stores the evidence for the failures of an upload; returns whether it is an outage. */
async function storeFailureEvidence(
  tx: Queryable,
  submission: StoredSubmission,
  { repository, content, negatives, lists }: {
    repository: LockedRepository;
    content: SubmissionContent;
    negatives: NewNegatives;
    lists: Map<number, TestList>;
  },
): Promise<boolean> {
  const { environment = "", job = "", workflow = "", shard = "", attempt = "" } = submission;
  const massFailure = await storeEvidence(tx, {
    submission: {
      ...submission,
      environment,
      job,
      workflow,
      shard,
      attempt,
      counts: countTests(content.exceptions, content.testHashes.length),
    },
    code: codeOf(submission.codeVersion),
    baseBranch: knownBaseBranch(repository),
    isOnlyRun: submission.isOnlyRun,
    negatives,
    lists,
  });
  return massFailure === "outage";
}

/** Stores what an upload shows of its failures, and of others at its code version and around it. */
async function updateTruths(
  tx: Queryable,
  { repositoryId, submissionId, branch, codeVersion, ...submission }: StoredSubmission,
  { negatives, lists }: { negatives: NewNegatives; lists: Map<number, TestList> },
): Promise<void> {
  const { environment = "", job = "", workflow = "", isOnlyRun, isLatest } = submission;
  await resolveTruths(tx, {
    repositoryId,
    version: { code: codeOf(codeVersion), environment, job, workflow },
    submissionId,
    branch,
    isNew: true,
    isOnlyRun,
    isLatest,
    failed: negatives.testNos,
    passed: negatives.passedTestNos(),
    lists,
  });
}

/** Stores the default branch of a repository as CI says, if it does. */
async function storeDefaultBranch(
  tx: Queryable,
  { defaultBranch }: LockedRepository,
  { repositoryId, branch }: { repositoryId: number; branch: string },
): Promise<void> {
  if (branch === "" || branch === defaultBranch) return;
  await tx`
    update repository set default_branch = ${branch} where repository_id = ${repositoryId}`;
}

/** Stores the page of a repository. One that was derived never replaces another. */
async function storeRepositoryUrl(
  tx: Queryable,
  { url: stored }: LockedRepository,
  { repositoryId, given, derived }: { repositoryId: number; given: string; derived: string },
): Promise<void> {
  const url = given || (stored === "" ? derived : stored);
  if (url === stored) return;
  await tx`update repository set url = ${url} where repository_id = ${repositoryId}`;
}

/** The content with the tests that the repository knows with a file, or without one, as those. */
async function matchFiles(
  tx: Queryable,
  { repositoryId, recordedAt, content, testTags = null, imported }: DigestedUpload,
  testListNo: number | null,
): Promise<{
  content: SubmissionContent;
  /** Of its tests; `null` when no submission ran these. */
  testListNo: number | null;
  testTags: TestTags | null;
  mistaken: MistakenMatch[];
  notes: string[];
}> {
  // The tests of an import are stored, like the tests of a stored list.
  const { matches, mistaken } = imported || testListNo !== null
    ? { matches: [], mistaken: [] }
    : await findFileMatches(tx, { repositoryId, recordedAt, content });
  const notes = fileMatchNotes(matches, mistaken);
  await removeMistakenMatches(tx, repositoryId, mistaken);
  if (matches.length === 0) return { content, testListNo, testTags, mistaken, notes };
  await storeFileMatches(tx, { repositoryId, recordedAt, matches });
  const changed = withFileMatches(content, matches, testTags?.groupOf);
  return {
    content: changed.content,
    testListNo: await findTestListNo(tx, { repositoryId, listHash: changed.content.listHash }),
    testTags: testTags && { ...testTags, groupOf: changed.groupOf! },
    mistaken,
    notes,
  };
}

/**
 * Stores coverage; a submission's replaces what it brought before. The caller increments the data
 * version.
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
