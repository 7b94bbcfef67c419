import { createHash } from "node:crypto";
import { FILE_CHUNK_BYTES, hashed, readFileChunks } from "./file_chunks.ts";
import type { ReportOptions } from "./report_reader.ts";
import { readReport } from "./read_report.ts";
import type { ReportedTool } from "./report_tool.ts";
import { REPORT_LIMITS } from "./limits.ts";
import { ReportError, type ReportErrorKind } from "./report_error.ts";
import type { ReportFile } from "./report_files.ts";

/** A report that is not on disk; it is read before the next one is requested. */
export interface StreamedReport extends ReportFile {
  bytes: AsyncIterable<Uint8Array>;
}

export interface ReadReportFilesOptions extends Omit<ReportOptions, "file"> {
  /** Whether the run is known to have ended red: then it counts even if all its reports are left out. */
  hasEndedRed?: boolean | undefined;
  onFile?(file: ReportFile): void;
  /** Called at the end of each report. */
  onReport?(report: ReportedTool): void;
  /** Called at the end of a report without a result. */
  onEmpty?(): void;
  /** Called when the results since the end of the last report do not count: theirs is cut off. */
  onLeftOut?(): void;
  /** Called with the number of bytes of each chunk that is read. */
  onBytes?(count: number): void;
}

// A test process that died, or a picture in a message, costs one report and not the upload.
const LEFT_OUT: readonly string[] = ["incomplete", "too-long"] satisfies ReportErrorKind[];

/**
 * Reads files as reports. A file that was not named and is XML of another kind is skipped with a
 * note; one that is empty or cut off, because the process that wrote it died, is left out with a
 * note. @throws {ReportError}, after `onResult` was called for the results before it
 */
export async function readReportFiles(
  files: readonly ReportFile[] | AsyncIterable<StreamedReport>,
  options: ReadReportFilesOptions,
): Promise<{ resultCount: number; digest: string }> {
  const { maxResultCount = REPORT_LIMITS.resultCount } = options;
  let buffer: Uint8Array | undefined;
  const digests: string[] = [];
  const leftOutDigests: string[] = [];
  let resultCount = 0;
  let firstFile: ReportFile | undefined;
  let firstIncomplete: ReportError | undefined;
  for await (const file of files) {
    options.onFile?.(file);
    firstFile ??= file;
    const hash = createHash("sha256");
    try {
      const bytes = "bytes" in file
        ? file.bytes
        : readFileChunks(file.path, buffer ??= new Uint8Array(FILE_CHUNK_BYTES));
      const read = await readReport(hashed(bytes, hash, options.onBytes), {
        ...options,
        file: file.path,
        pathPrefix: file.pathPrefix ?? options.pathPrefix,
        maxResultCount: maxResultCount - resultCount,
      });
      options.onReport?.({ ...read.tool, attempt: file.attempt });
      if (read.resultCount === 0) options.onEmpty?.();
      resultCount += read.resultCount;
      digests.push(hash.digest("hex"));
    } catch (error) {
      if (!(error instanceof ReportError)) throw error;
      if (LEFT_OUT.includes(error.kind) && (file.mayBeIncomplete ?? !file.isNamed)) {
        firstIncomplete ??= error;
        leftOutDigests.push(hash.digest("hex"));
        options.onLeftOut?.();
        options.onNote?.(`${error.message}: left out`);
      } else if (error.kind === "not-junit" && !file.isNamed) {
        options.onNote?.(`${error.message}: skipped`);
      } else throw error;
    }
  }
  if (digests.length === 0 && firstIncomplete) {
    if (!options.hasEndedRed) throw firstIncomplete;
    digests.push(...leftOutDigests);
  }
  if (digests.length === 0 && firstFile) {
    throw new ReportError({
      file: firstFile.path,
      kind: "not-junit",
      problem: "found no JUnit report here or in the other XML files, expected at least one",
    });
  }
  // The same for the same contents, whatever the files are called.
  const digest = createHash("sha256").update(digests.sort().join("\n")).digest("hex");
  return { resultCount, digest };
}
