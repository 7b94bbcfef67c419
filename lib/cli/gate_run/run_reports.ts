// Tests: tests/lib/cli/commands/comment_test.ts tests/lib/cli/commands/gate_test.ts
import { stat } from "node:fs/promises";
import { UsageError } from "../../base/failure.ts";
import { quote } from "../../base/quote.ts";
import { SubmissionBuilder } from "../../analysis/submission_content.ts";
import { finalAttempts } from "../../gate/final_attempts.ts";
import { placesOf } from "../../gate/whole_run.ts";
import type { GateReport } from "../../gate/rule.ts";
import { type JobStart, sayOlder } from "../../intake/stale_reports.ts";
import { readFileChunks } from "../../report/file_chunks.ts";
import { findPathPrefix } from "../../report/path_prefix.ts";
import { isNegative } from "../../report/result.ts";
import { readReport } from "../../report/read_report.ts";
import { ReportError } from "../../report/report_error.ts";
import { findReports, type ReportFile, type SkippedEntry } from "../../report/report_files.ts";

// Some file systems store times with a resolution of two seconds.
const TIME_RESOLUTION_MS = 2_000;

/** The report files that existed before the tests started. */
type ReportSnapshot = Awaited<ReturnType<typeof snapshotReports>>;

/**
 * The inode, size and modification time of the files that REPORT arguments name, by path.
 *
 * @throws {UsageError} when one of them is a pipe: the tests would wait for its reader
 */
export async function snapshotReports(reportArguments: readonly string[]) {
  const startedAtMs = Date.now();
  const { files } = await findAll(reportArguments, {});
  const versions = new Map<string, string>();
  for (const { path } of files) {
    if (!await isRegularFile(path)) {
      throw new UsageError(
        `${quote(path)} is a pipe or a device: expected files, as COMMAND writes`,
      );
    }
    versions.set(path, (await versionOf(path)).version);
  }
  return { startedAtMs, versions };
}

/**
 * Reads reports, including those that are stale or broken. A file that is not read, such as a link or
 * XML of another kind, is a report with a problem: it may hold failures.
 *
 * @param options.before `null` when the gate did not start the tests
 * @returns `isPassed`: a report is fresh, all are complete and no attempt failed, not even a retried one
 */
export async function readRunReports(
  reportArguments: readonly string[],
  { before, jobStart = null, checkoutFolder, pathPrefix, attempts: areAttempts = false }: {
    before: ReportSnapshot | null;
    /** Reports from before are stale; `null` when unknown. */
    jobStart?: JobStart | null;
    checkoutFolder: string;
    /** The folder of the checkout that relative paths begin at; found for each report unless given. */
    pathPrefix?: string | undefined;
    /** Whether the arguments are given in the order of attempts. */
    attempts?: boolean | undefined;
  },
) {
  const skipped: SkippedEntry[] = [];
  const onSkipped = (entry: SkippedEntry) => void skipped.push(entry);
  const { files, missing } = await findAll(reportArguments, { areAttempts, onSkipped });
  const ageOf = async (path: string) => {
    const older = before ? null : jobStart && await sayOlder(path, jobStart);
    return { older, isFresh: before ? await isNewer(path, before) : older === null };
  };
  const reports: GateReport[] = [...missing];
  for (const entry of skipped) {
    if (!entry.isReport || (await ageOf(entry.path)).isFresh) reports.push(unread(entry));
  }
  const builder = new SubmissionBuilder();
  let hasOldFailure = false;
  for (const { path, isNamed, attempt } of files) {
    const failuresOutsideTests: string[] = [];
    const unlistedTests: string[] = [];
    let problem: string | null = null;
    let isCutOff = false;
    const { older, isFresh } = await ageOf(path);
    // Something writes to `<(command)` of a shell and standard input, not to a pipe with a name.
    if (!await isRegularFile(path) && !(before === null && /^\/(?:dev|proc)\//.test(path))) {
      reports.push(unread({ path, reason: "is a named pipe, which is not read", isLink: false }));
      continue;
    }
    try {
      const { tool } = await readReport(readFileChunks(path), {
        file: path,
        checkoutFolder,
        pathPrefix: pathPrefix ?? await findPathPrefix(path, checkoutFolder),
        onFailureOutside: (failure) => failuresOutsideTests.push(failure),
        onUnlisted: (suite) => unlistedTests.push(suite),
        onResult(result, reported) {
          if (isFresh) builder.add(result, reported);
          else hasOldFailure ||= isNegative(result.conclusion);
        },
      });
      builder.endReport({ ...tool, attempt });
    } catch (error) {
      if (!(error instanceof ReportError)) throw error;
      // Coverage often lies in the same folder, and holds no failures.
      if (error.kind === "not-junit" && !isNamed && await isCoverage(path)) continue;
      problem = error.message;
      isCutOff = error.kind === "incomplete";
    }
    reports.push({
      path,
      isFresh,
      ...older !== null && { older },
      problem,
      ...isCutOff && { isCutOff },
      failuresOutsideTests,
      unlistedTests,
    });
  }
  const isClean = reports.every(({ problem, failuresOutsideTests }) =>
    problem === null && failuresOutsideTests.length === 0
  );
  const content = builder.finish();
  return {
    reports,
    attempts: finalAttempts(content),
    places: placesOf(content.testHashes.keys().map(content.identityAt)),
    // An old one may be of a module that a build cache has; without any other nothing may have run.
    isPassed: isClean && !hasOldFailure && reports.some(({ isFresh }) => isFresh) &&
      content.negatives.length === 0,
  };
}

async function isCoverage(path: string): Promise<boolean> {
  const { CoverageCollector } = await import("../../report/coverage/mod.ts");
  try {
    await new CoverageCollector().add(readFileChunks(path), { file: path });
    return true;
  } catch (error) {
    if (error instanceof ReportError) return false;
    throw error;
  }
}

/** The files that arguments name; an argument without files becomes a report that cannot be read. */
async function findAll(
  reportArguments: readonly string[],
  { areAttempts, onSkipped }: {
    areAttempts?: boolean;
    onSkipped?: (entry: SkippedEntry) => void;
  },
): Promise<{ files: ReportFile[]; missing: GateReport[] }> {
  const present: string[] = [];
  const missing: GateReport[] = [];
  for (const argument of reportArguments) {
    try {
      await findReports([argument]);
      present.push(argument);
    } catch (error) {
      if (!(error instanceof ReportError)) throw error;
      missing.push({
        path: argument,
        isFresh: true,
        problem: error.message,
        failuresOutsideTests: [],
        unlistedTests: [],
      });
    }
  }
  const files = await findReports(present, onSkipped, { areAttempts });
  return { files, missing };
}

/** A file that is not read, as a report with a problem. */
function unread({ path, reason, isLink, isReport }: SkippedEntry): GateReport {
  const next = isReport ? "" : isLink ? ": name it as an argument" : ": expected a file";
  return {
    path,
    isFresh: true,
    problem: `${path} ${reason}${next}`,
    failuresOutsideTests: [],
    unlistedTests: [],
  };
}

async function isRegularFile(path: string): Promise<boolean> {
  return (await stat(path)).isFile();
}

async function isNewer(path: string, { startedAtMs, versions }: ReportSnapshot): Promise<boolean> {
  const { version, modifiedAtMs } = await versionOf(path);
  return version !== versions.get(path) && modifiedAtMs > startedAtMs - TIME_RESOLUTION_MS;
}

async function versionOf(path: string): Promise<{ version: string; modifiedAtMs: number }> {
  const { ino, size, mtimeNs, mtimeMs } = await stat(path, { bigint: true });
  return { version: `${ino} ${size} ${mtimeNs}`, modifiedAtMs: Number(mtimeMs) };
}
