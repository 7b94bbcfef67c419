// Tests: tests/lib/intake/pack_upload_test.ts tests/lib/intake/process_archive_test.ts
/** Reads the files of an upload: reports, coverage, CODEOWNERS. Opens no database. */
import { stat } from "node:fs/promises";
import {
  type ContentData,
  SubmissionBuilder,
  type SubmissionContent,
} from "../analysis/submission_content.ts";
import { ownerTags, type TestTags } from "../analysis/test_tags.ts";
import { parseCodeowners } from "../report/codeowners.ts";
import { CoverageCollector, type CoverageTotals } from "../report/coverage/mod.ts";
import { readReportFiles, type StreamedReport } from "../report/read_report_files.ts";
import { type Advice, ReportExaminer } from "../report/report_advice.ts";
import { findPathPrefix } from "../report/path_prefix.ts";
import { ReportError } from "../report/report_error.ts";
import { NO_GAPS, type ReportGaps } from "../report/report_gaps.ts";
import { findReports, type ReportFile, type SkippedEntry } from "../report/report_files.ts";
import { isNegative } from "../report/result.ts";
import { quote } from "../base/quote.ts";
import { Failure } from "../base/failure.ts";
import { errorCode, errorMessage } from "../base/error.ts";
import { type JobStart, sayOlder, withoutStale } from "./stale_reports.ts";
import { UploadNotes } from "./upload_notes.ts";

const RESULTS_PER_PROGRESS = 1_000;

export interface UploadFiles {
  /** `null` when there was no report, only coverage. */
  results: {
    content: ContentData & SubmissionContent;
    reportDigest: string;
    /** What the reports hide; absent when unknown. */
    gaps?: ReportGaps;
    /** Owners of the tests' files; `null` when no file has one. */
    testTags: TestTags | null;
    /** What the reports hide; absent where it is not needed. */
    advice?: Advice[];
  } | null;
  /** `null` when there was no coverage report. */
  coverage: CoverageTotals | null;
  /** What was repaired, ignored or left out, for the submission. */
  notes: string[];
}

/** Receives notes and progress while files are read. */
export interface Listener {
  note(text: string): void;
  /** Called every 1,000 results. */
  progress?(read: ReadProgress): void;
}

/** Counts of what was read so far. */
export interface ReadProgress {
  results: number;
  /** The current file. */
  file: string;
  bytes: number;
  /** Bytes of all reports together, 0 when unknown. */
  totalBytes: number;
}

/** A CODEOWNERS file. */
export interface OwnersFile {
  text: string;
  /** Folder that its patterns are relative to, `""` when unknown. */
  root: string;
}

interface GivenReportOptions {
  /** How the tests ended; `null` when unknown. */
  exitCode?: number | null | undefined;
  /** `null` when there is none. */
  codeowners?: OwnersFile | null;
  /** Where the repository was checked out, `""` when unknown. */
  checkoutFolder?: string;
  /** Above it, results are read to find errors, and none is kept: `content` is empty. */
  maxKept?: MaxKept;
}

/** Bounds the memory for what was read. */
export interface MaxKept {
  results: number;
  /** Failures among the results; each has a text. */
  failures: number;
  /** Bytes of names and texts. */
  textBytes: number;
}

/** A coverage report that can be read once. */
type CoverageFile = Pick<StreamedReport, "path" | "bytes">;

/** Reads the reports and coverage reports of an upload. @throws {ReportError} */
export async function readUploadFiles(
  { reports, attempts, coverage, pathPrefix, jobStart = null, onFound, ...context }: {
    reports: string[];
    /** The folder of the checkout that relative paths begin at; found for each report unless given. */
    pathPrefix?: string | undefined;
    /** Whether the reports are given in the order of attempts. */
    attempts?: boolean | undefined;
    /** Reports from before are left out; `null` when unknown. */
    jobStart?: JobStart | null | undefined;
    onFound?(reports: readonly ReportFile[]): void;
    coverage: string[];
  } & GivenReportOptions,
  listener: Listener,
): Promise<UploadFiles> {
  const notes = new UploadNotes();
  const noting = notes.of(listener);
  const skipped: SkippedEntry[] = [];
  const all = reports.length > 0
    ? await findReports(reports, (entry) => void skipped.push(entry), { areAttempts: attempts })
    : [];
  for (const entry of skipped) {
    const isOld = entry.isReport && jobStart && await sayOlder(entry.path, jobStart) !== null;
    if (!isOld) noteSkipped(noting)(entry);
  }
  const fresh = jobStart ? await withoutStale(all, jobStart, noting.note) : all;
  if (fresh.length < all.length && fresh.length === 0) {
    throw new Failure("all reports are from before the job began: have it write them again");
  }
  const { checkoutFolder = "" } = context;
  const found = await withPathPrefixes(fresh, { pathPrefix, checkoutFolder });
  onFound?.(found);
  const sizes = await Promise.all(
    found.map(({ path }) => stat(path).then(({ size }) => size, () => 0)),
  );
  const totalBytes = sizes.reduce((sum, size) => sum + size, 0);
  const examiner = new ReportExaminer();
  const results = reports.length > 0
    ? await readResults(found, { ...context, totalBytes, examiner }, noting)
    : null;
  const totals = coverage.length > 0 ? await readCoverage(openAll(coverage), noting) : null;
  return {
    results: results && { ...results, advice: examiner.advice },
    coverage: totals,
    notes: notes.list,
  };
}

/** Reports with the folders of the checkout that their relative paths begin at. */
async function withPathPrefixes(
  reports: readonly ReportFile[],
  { pathPrefix, checkoutFolder }: { pathPrefix: string | undefined; checkoutFolder: string },
): Promise<ReportFile[]> {
  const found: ReportFile[] = [];
  for (const report of reports) {
    const prefix = pathPrefix ?? await findPathPrefix(report.path, checkoutFolder);
    found.push({ ...report, pathPrefix: prefix });
  }
  return found;
}

/** Notes what is not read although it has the name of a report. Links are left out on purpose. */
export function noteSkipped(listener: Pick<Listener, "note">): (entry: SkippedEntry) => void {
  return ({ path, reason, isLink }) => {
    if (!isLink) listener.note(`${path}: ${reason}`);
  };
}

/** Reads reports, and finds the owners of the tests' files. */
export async function readResults(
  reports: readonly ReportFile[] | AsyncIterable<StreamedReport>,
  { exitCode = null, codeowners = null, checkoutFolder = "", maxKept, totalBytes = 0, examiner }:
    & GivenReportOptions
    & {
      totalBytes?: number;
      /** Only where its advice is shown: it takes a tenth of the time. */
      examiner?: ReportExaminer;
    },
  listener: Listener,
): Promise<NonNullable<UploadFiles["results"]>> {
  let builder: SubmissionBuilder | null = new SubmissionBuilder();
  let failureCount = 0;
  const read: ReadProgress = { results: 0, file: "", bytes: 0, totalBytes };
  const gaps = { ...NO_GAPS };
  /** Of the report that is read. One that is left out counts once. */
  let own = { unlisted: 0, outside: 0 };
  const { digest } = await readReportFiles(reports, {
    checkoutFolder,
    hasEndedRed: exitCode !== null && exitCode !== 0,
    onFile({ path }) {
      read.file = path;
    },
    onBytes: (count) => void (read.bytes += count),
    onResult(result, reported) {
      if (isNegative(result.conclusion)) failureCount++;
      read.results++;
      builder?.add(result, reported);
      if (
        maxKept && builder && (read.results > maxKept.results ||
          failureCount > maxKept.failures || builder.textBytes > maxKept.textBytes)
      ) builder = null;
      examiner?.add(result, reported);
      if (read.results % RESULTS_PER_PROGRESS === 0) listener.progress?.({ ...read });
    },
    onOverhead: (test, overhead) => builder?.addOverhead(test, overhead),
    onUnlisted: () => void own.unlisted++,
    onFailureOutside: () => void own.outside++,
    onEmpty: () => void gaps.emptyReportCount++,
    onReport(report) {
      gaps.unlistedSuiteCount += own.unlisted;
      gaps.outsideFailureCount += own.outside;
      own = { unlisted: 0, outside: 0 };
      builder?.endReport(report);
      examiner?.endReport(report);
    },
    onLeftOut() {
      gaps.cutOffReportCount++;
      own = { unlisted: 0, outside: 0 };
      builder?.discardReport();
      examiner?.discardReport();
    },
    onNote: (note) => listener.note(note),
  });
  const content = (builder ?? new SubmissionBuilder()).finish({
    onNote: (note) => listener.note(note),
  });
  return {
    content,
    reportDigest: digest,
    gaps,
    testTags: codeowners && ownerTags(
      content,
      parseCodeowners(codeowners.text, listener.note),
      codeowners.root,
    ),
  };
}

/** Reads coverage reports. A file of another kind is an error, unless `onOther` takes it. */
export async function readCoverage(
  files: AsyncIterable<CoverageFile>,
  listener: Listener,
  { onOther }: { onOther?: (error: ReportError) => void } = {},
): Promise<CoverageTotals> {
  const collector = new CoverageCollector();
  for await (const { path, bytes } of files) {
    try {
      await collector.add(bytes, { file: path });
    } catch (error) {
      const isOther = error instanceof ReportError && error.kind === "not-coverage";
      if (!isOther || !onOther) throw error;
      onOther(error);
    }
  }
  const totals = collector.totals();
  if (totals.lineCount === 0) {
    listener.note("the coverage reports contain no coverable line: ignored");
  }
  return totals;
}

/** The error for a file or folder that cannot be opened, with what to do when it is missing. */
export function cannotRead(
  error: unknown,
  { what, path, hint }: { what: "file" | "folder"; path: string; hint: string },
): Failure {
  return new Failure(
    errorCode(error) === "ENOENT"
      ? `${what} ${quote(path)} not found: ${hint}`
      : `${what} ${quote(path)} cannot be read: ${errorMessage(error)}`,
  );
}

async function* openAll(paths: string[]): AsyncGenerator<CoverageFile, void> {
  for (const path of paths) {
    const file = await Deno.open(path).catch((error) => {
      throw cannotRead(error, { what: "file", path, hint: "check --coverage" });
    });
    yield { path, bytes: file.readable };
  }
}
