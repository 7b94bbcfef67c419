// Tests: tests/lib/intake/archive_reader_test.ts tests/lib/intake/process_archive_test.ts
/** Reads archives. Opens no database. */
import {
  type ArchiveContents,
  type ArchivedFile,
  type ArchiveMetadata,
  type ArchiveSource,
  inspectArchive,
  readArchived,
} from "../report/archive/mod.ts";
import { type FolderPrefix, prefixOf } from "../report/path_prefix.ts";
import type { StreamedReport } from "../report/read_report_files.ts";
import { excerpt, ReportError } from "../report/report_error.ts";
import { type FactSources, type FoundFacts, parseFacts, pathPrefixes } from "./archive_facts.ts";
import {
  type Listener,
  type MaxKept,
  readCoverage,
  readResults,
  type UploadFiles,
} from "./read_files.ts";
import { UploadNotes } from "./upload_notes.ts";

export interface ReadArchiveOptions extends Pick<FactSources, "given" | "now" | "recordedAt"> {
  /** Text of a CODEOWNERS file that overrides the one in the archive. */
  codeowners?: string | undefined;
  /** The caller has coverage: the archive's is not read, and may be all that it has. */
  hasOwnCoverage?: boolean;
}

/** Files of an upload that can be opened in the order in which they are read. */
export interface FilesToRead {
  /** Name of the upload, for errors. */
  name: string;
  reports: readonly ArchivedFile[];
  coverage: readonly ArchivedFile[];
  open(
    files: readonly ArchivedFile[],
  ): Iterable<Pick<StreamedReport, "path" | "bytes">> | ReturnType<typeof readArchived>;
}

interface ReadFilesOptions {
  /** How the tests ended; `null` when unknown. */
  exitCode: number | null | undefined;
  /** Text of a CODEOWNERS file; `null` when there is none. */
  codeowners: string | null;
  checkoutFolder: string;
  /** Where relative paths of reports begin, by the folders of the archive. */
  pathPrefixes: readonly FolderPrefix[];
  /** See {@link ReadArchiveOptions}. */
  hasOwnCoverage?: boolean | undefined;
  /** The uploader named every file: one of another kind is an error. */
  areNamed?: boolean;
  /** See {@linkcode readResults}. */
  maxKept?: MaxKept;
}

export interface ReadArchive {
  contents: ArchiveContents;
  facts: FoundFacts;
  files: UploadFiles;
}

/** Calls while an archive is read. */
export interface ReadCallbacks {
  listener: Listener;
  /**
   * Called once, before the reports are read, with the facts: the valid ones when the archive turns
   * out to be damaged. Not called without a repository.
   */
  onFacts?: ((facts: FoundFacts) => unknown) | undefined;
}

/**
 * Reads an archive once to its end, merges its metadata with the given options, and then streams its
 * reports and coverage reports.
 *
 * @throws {ReportError} when something cannot be read, is missing or invalid
 */
export async function readArchive(
  source: ArchiveSource,
  { listener, onFacts, ...options }: ReadArchiveOptions & ReadCallbacks,
): Promise<ReadArchive> {
  const notes = new UploadNotes(source.name);
  const noting = notes.of(listener);
  const onNote = (text: string) => noting.note(text);
  let metadata: ArchiveMetadata | null = null;
  let ci = "";
  const inspected = inspectArchive(source, {
    onNote,
    onMetadata: (found) => void (metadata = found),
    onCi: (text) => void (ci = text),
  });
  await inspected.catch(() => {});
  const { facts, problem } = parseFacts(metadata, { ...options, ci, archive: source.name, onNote });
  if (facts) onFacts?.(facts);
  const contents = await inspected;
  if (!facts || problem) throw problem;
  const { reports, coverage } = contents;
  const read = await readFiles(
    {
      name: source.name,
      reports,
      coverage,
      open: (files) => readArchived(source, files, contents),
    },
    noting,
    {
      exitCode: facts.exitCode,
      codeowners: options.codeowners ?? contents.codeowners,
      checkoutFolder: contents.metadata?.checkoutFolder ?? "",
      pathPrefixes: pathPrefixes(options.given, contents.pathPrefixes),
      hasOwnCoverage: options.hasOwnCoverage,
    },
  );
  return { contents, facts, files: { ...read, notes: notes.list } };
}

/** Reads the files of an upload. @throws {ReportError} */
export async function readFiles(
  { name, reports, open, ...files }: FilesToRead,
  listener: Listener,
  {
    exitCode,
    codeowners,
    checkoutFolder,
    pathPrefixes,
    hasOwnCoverage = false,
    areNamed = false,
    maxKept,
  }: ReadFilesOptions,
): Promise<Omit<UploadFiles, "notes">> {
  const coverage = hasOwnCoverage ? [] : files.coverage;
  const streamed = async function* (
    files: readonly ArchivedFile[],
  ): AsyncGenerator<StreamedReport, void> {
    for await (const { path, bytes } of open(files)) {
      yield {
        path: `${name}: ${path}`,
        isNamed: areNamed,
        mayBeIncomplete: true,
        pathPrefix: prefixOf(path, pathPrefixes),
        bytes,
      };
    }
  };
  const owners = codeowners === null ? null : { text: codeowners, root: "" };
  const results = reports.length === 0 ? null : await readResults(
    streamed(reports),
    { exitCode, codeowners: owners, checkoutFolder, ...maxKept && { maxKept } },
    listener,
  );
  let others = 0;
  // Reporters put other files into this folder, such as JUnit reports.
  const onOther = (error: ReportError) => {
    others++;
    listener.note(`${error.message}: skipped`);
  };
  const totals = coverage.length === 0
    ? null
    : await readCoverage(streamed(coverage), listener, areNamed ? {} : { onOther });
  const hasCoverage = totals !== null && others < coverage.length;
  if (results === null && !hasCoverage && !hasOwnCoverage) {
    throw new ReportError({
      file: name,
      kind: "not-found",
      problem: `found neither a report below ${excerpt("test-results/")} or ` +
        `${excerpt("test_results/")} nor coverage below ${excerpt("coverage/")}, expected one`,
    });
  }
  return { results, coverage: hasCoverage ? totals : null };
}
