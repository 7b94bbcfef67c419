/**
 * The road from files to a stored submission, shared by everything that takes reports in.
 */
import { insertCoverage } from "../../../db/write/coverage_reports.ts";
import { findOrganization } from "../../../db/admin/organizations.ts";
import { processSubmission, RepositoryGoneError } from "../../../db/write/store_submission.ts";
import { findOrCreateRepository, lockRepository } from "../../../db/admin/repositories.ts";
import type { Database } from "../../../db/connection/connect.ts";
import { writeTransaction } from "../../../db/schema/migrate.ts";
import type { Queryable } from "../../../db/connection/sql.ts";
import { removeUnprocessed } from "../../../db/write/unprocessed_submissions.ts";
import { ownerTags, type TestTags } from "../../analysis/test_tags.ts";
import { SubmissionBuilder, type SubmissionContent } from "../../analysis/submission_content.ts";
import {
  CoverageCollector,
  type CoverageTotals,
  NotCoverageError,
} from "../../report/coverage/mod.ts";
import { parseCodeowners } from "../../report/codeowners.ts";
import { readReports, type StreamedReport } from "../../report/read_reports.ts";
import { findReports, type ReportFile } from "../../report/report_files.ts";
import { formatRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import { formatTimestamp } from "../../base/time.ts";
import { Failure } from "../errors.ts";

// Real repositories need some seconds. Nothing else happens meanwhile, so it stays well below the time
// for which a watcher claims an archive.
const OWNERS_MS = 15_000;

/** What is known of an upload beside its files. */
export interface UploadFacts {
  /** Name of the organization, which must exist. */
  organization: string;
  /** Created when it is new. */
  repository: RepositoryName;
  commitOid: string;
  treeOid: string | null;
  branch: string | null;
  /** `""` when there is none. */
  buildUrl: string;
  tags: string[];
  /** Seconds since 1970. */
  recordedAt: number;
}

/** The files of an upload, read. */
export interface UploadFiles {
  /** `null` when there was no report, but only coverage. */
  results: {
    content: SubmissionContent;
    reportDigest: string;
    /** Owners of the tests' files; `null` when nobody owns one. */
    testTags: TestTags | null;
  } | null;
  /** `null` when there was no coverage report. */
  coverage: CoverageTotals | null;
}

/** Who hears what happens meanwhile. */
export interface Listener {
  note(text: string): void;
  /** Called often while reports are read. */
  progress?(read: { results: number; file: string }): void;
}

/** What became of an upload, in the words of `ingest --json`. */
export interface IntakeOutcome {
  /** `null` when only coverage was taken. */
  key: string | null;
  repository: string;
  commit_oid: string;
  build_url: string;
  recorded_at: string;
  status: "processed";
  test_result_count: number;
  disruption_count: number;
  duplicate: boolean;
}

/** A file of owners' patterns. */
export interface OwnersFile {
  text: string;
  /** Folder that the patterns start from, `""` when it is not known. */
  root: string;
}

/** What is known of the place that reports come from. */
export interface ReportContext {
  /** `null` when there is none. */
  codeowners: OwnersFile | null;
  /** Where the repository was checked out, `""` when it is not known. */
  checkoutFolder: string;
}

/** A coverage report that can be read once. */
export interface CoverageFile {
  path: string;
  bytes: AsyncIterable<Uint8Array>;
}

/**
 * Reads the reports and coverage reports of an upload; touches no database.
 *
 * @throws {ReportError} when one of them cannot be read
 */
export async function readUploadFiles(
  { reports, coverage, ...context }: {
    reports: string[];
    coverage: string[];
  } & Partial<ReportContext>,
  listener: Listener,
): Promise<UploadFiles> {
  return {
    results: reports.length > 0
      ? await readResults(await findReports(reports), context, listener)
      : null,
    coverage: coverage.length > 0 ? await readCoverage(openAll(coverage), listener) : null,
  };
}

/** Reads reports, and who owns the tests' files. */
export async function readResults(
  reports: readonly ReportFile[] | AsyncIterable<StreamedReport>,
  { codeowners = null, checkoutFolder = "" }: Partial<ReportContext>,
  listener: Listener,
): Promise<NonNullable<UploadFiles["results"]>> {
  const builder = new SubmissionBuilder();
  let results = 0;
  let file = "";
  const { digest } = await readReports(reports, {
    checkoutFolder,
    onFile({ path }) {
      file = path;
    },
    onResult(result) {
      builder.add(result);
      if (++results % 1_000 === 0) listener.progress?.({ results, file });
    },
    onNote: (note) => listener.note(note),
  });
  const content = builder.finish();
  return {
    content,
    reportDigest: digest,
    testTags: codeowners && ownersOf(content, codeowners, listener),
  };
}

/** The owners of the tests' files, as far as they are found in time. */
function ownersOf(
  content: SubmissionContent,
  { text, root }: OwnersFile,
  listener: Listener,
): TestTags | null {
  const end = performance.now() + OWNERS_MS;
  return ownerTags(content, parseCodeowners(text, listener.note), root, {
    isTimeLeft: () => performance.now() < end,
    onUnasked: (count) =>
      listener.note(
        `CODEOWNERS: ${count} ${
          count === 1 ? "file has" : "files have"
        } no owners: there are too ` +
          `many patterns to be compared within ${OWNERS_MS / 1000} s`,
      ),
  });
}

/**
 * Reads coverage reports.
 *
 * @param options.onOther called with what is no coverage report, which is an error without it
 */
export async function readCoverage(
  files: AsyncIterable<CoverageFile>,
  listener: Listener,
  { onOther }: { onOther?: (error: NotCoverageError) => void } = {},
): Promise<CoverageTotals> {
  const collector = new CoverageCollector();
  for await (const { path, bytes } of files) {
    try {
      await collector.add(bytes, { file: path });
    } catch (error) {
      if (!(error instanceof NotCoverageError) || !onOther) throw error;
      onOther(error);
    }
  }
  const totals = collector.totals();
  if (totals.lineCount === 0) {
    listener.note("the coverage reports hold no line that can be covered: as if there were none");
  }
  return totals;
}

async function* openAll(paths: string[]): AsyncGenerator<CoverageFile, void> {
  for (const path of paths) {
    const file = await Deno.open(path).catch((error) => {
      throw new Failure(`${path}: ${error.message}`);
    });
    yield { path, bytes: file.readable };
  }
}

/** How an upload is stored. */
export interface StoreOptions {
  /** Seconds since 1970. */
  now: number;
  /** Key of the archive that it came in, in its folder or bucket. */
  key?: string | undefined;
  /** Runs in the transaction that stores the upload, at its end. */
  alongside?: ((tx: Queryable) => Promise<void>) | undefined;
}

/**
 * Stores what was read: all of it or nothing.
 *
 * @throws {Failure} when the organization is unknown
 */
export async function storeUpload(
  sql: Database["sql"],
  facts: UploadFacts,
  { results, coverage }: UploadFiles,
  { now, key, alongside }: StoreOptions,
): Promise<IntakeOutcome> {
  const organization = await findOrganization(sql, facts.organization);
  if (!organization) throw new Failure(`organization "${facts.organization}" is unknown`);
  const { repository } = await findOrCreateRepository(sql, {
    ...facts.repository,
    organization,
    createdAt: now,
    isVisible: false,
  });
  const outcome: IntakeOutcome = {
    key: null,
    repository: formatRepositoryName(repository),
    commit_oid: facts.commitOid,
    build_url: facts.buildUrl,
    recorded_at: formatTimestamp(facts.recordedAt),
    status: "processed",
    test_result_count: 0,
    disruption_count: 0,
    duplicate: false,
  };
  if (!results) {
    const { repositoryId } = repository;
    await writeTransaction(sql, async (tx) => {
      if (!await lockRepository(tx, repositoryId)) {
        throw new Failure("the repository was deleted meanwhile");
      }
      if (key !== undefined) await removeUnprocessed(tx, { repositoryId, key });
      if (coverage) await insertCoverage(tx, { repositoryId, ...facts, coverage });
      await alongside?.(tx);
    });
    return outcome;
  }
  const submission = await processSubmission(sql, {
    ...facts,
    ...results,
    coverage,
    repositoryId: repository.repositoryId,
    uploadedAt: now,
    ...key === undefined ? {} : { key },
    ...alongside === undefined ? {} : { alongside },
  }).catch((error) => {
    if (error instanceof RepositoryGoneError) throw new Failure(error.message);
    throw error;
  });
  return {
    ...outcome,
    key: submission.key,
    recorded_at: formatTimestamp(submission.recordedAt),
    test_result_count: submission.testResultCount,
    disruption_count: submission.disruptionCount,
    duplicate: submission.duplicate,
  };
}
