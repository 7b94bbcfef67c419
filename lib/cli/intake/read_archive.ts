/** Reads archives. Opens no database. */
import {
  type ArchiveContents,
  type ArchiveMetadata,
  type ArchiveSource,
  inspectArchive,
  METADATA_KEYS,
  parseMetadataTimestamp,
  readArchived,
} from "../../report/archive/mod.ts";
import { quote, ReportError } from "../../report/report_error.ts";
import type { StreamedReport } from "../../report/read_reports.ts";
import { parseRepositoryName } from "../../base/repository_name.ts";
import {
  type CoverageFile,
  type Listener,
  readCoverage,
  readResults,
  type UploadFiles,
} from "./read_files.ts";
import { pageOfGitUrl } from "./ci/git.ts";
import type { RunFacts, RunValues } from "./run_options.ts";
import {
  isObjectId,
  readBuildUrl,
  readObjectId,
  readRecordedAt,
  readTags,
  readText,
  readTree,
  splitTags,
} from "./upload_values.ts";

/** The options that give what the metadata must have. */
const OPTIONS = { repository: "--repo", commit: "--commit" };

/** An archive whose metadata is valid. */
export interface OpenedArchive {
  contents: ArchiveContents;
  facts: RunFacts;
}

/**
 * Reads an archive once to its end, and merges its metadata with the given options, which win.
 * @throws {ReportError} when the archive cannot be read, or facts are missing or invalid
 */
export async function openArchive(
  source: ArchiveSource,
  { given, now, recordedAt, listener, onMetadata }: {
    given: RunValues;
    now: number;
    recordedAt: number;
    listener: Listener;
    /** Called once the metadata was read; the rest may still fail. */
    onMetadata?: (metadata: ArchiveMetadata) => void;
  },
): Promise<OpenedArchive> {
  const contents = await inspectArchive(source, {
    onNote: (note) => listener.note(note),
    ...onMetadata && { onMetadata },
  });
  const metadata = contents.metadata;
  const keys = (name: keyof typeof METADATA_KEYS.flat) =>
    `${METADATA_KEYS.flat[name]} (or ${METADATA_KEYS.nested[name]})`;
  const metadataError = (problem: string, kind: "malformed" | "not-found" = "malformed") =>
    new ReportError({ file: `${source.name}: buildpulse.yml`, kind, problem });

  const read = <T>(name: keyof typeof METADATA_KEYS.flat, parse: () => T): T => {
    try {
      return parse();
    } catch (error) {
      if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
      throw metadataError(`${keys(name)}: ${error.message}`);
    }
  };
  const required = <T>(name: "repository" | "commit", parse: (text: string) => T): T => {
    const text = metadata?.[name] ?? "";
    if (text === "" || text === "/") {
      throw metadataError(
        metadata
          ? `found no ${keys(name)}, expected one, or the option ${OPTIONS[name]}`
          : `found no such file, expected one, or the options --repo and --commit`,
        "not-found",
      );
    }
    return read(name, () => parse(text));
  };

  const commitOfArchive = () => {
    const commit = required("commit", readObjectId);
    if (!isObjectId(commit)) {
      listener.note(
        `${source.name}: kept the commit ${quote(commit)} as text: expected 7 to 64 hex digits`,
      );
    }
    return commit;
  };
  const treeOfArchive = () => {
    const tree = metadata?.tree ?? "";
    if (isObjectId(tree)) return readTree(tree);
    if (tree !== "") {
      listener.note(`${source.name}: ignored the tree ${quote(tree)}: expected 7 to 64 hex digits`);
    }
    return null;
  };
  const timeOfArchive = () =>
    metadata?.timestamp ? parseMetadataTimestamp(metadata.timestamp) : recordedAt;
  const tagsOfArchive = () => {
    const given = metadata?.tags ?? [];
    const tags = splitTags(given);
    if (tags.length !== given.length) {
      listener.note(`${source.name}: split tags at white space and commas`);
    }
    return readTags(tags);
  };

  return {
    contents,
    facts: {
      repository: given.repo ??
        required("repository", parseRepositoryName),
      commitOid: given.commit ?? commitOfArchive(),
      treeOid: given.tree ?? treeOfArchive(),
      branch: given.branch ?? (read("branch", () => readText(metadata?.branch ?? "")) || null),
      buildUrl: given.buildUrl ?? read("buildUrl", () => readBuildUrl(metadata?.buildUrl ?? "")),
      // Only a link: not worth an error.
      repositoryUrl: given.repo ? "" : pageOfGitUrl(metadata?.repositoryUrl ?? ""),
      tags: given.tags ?? read("tags", tagsOfArchive),
      recordedAt: read(
        "recordedAt",
        () => readRecordedAt(given.recordedAt ?? timeOfArchive(), now),
      ),
    },
  };
}

/** Options of {@link readArchiveFiles}, all false unless given. */
export interface ReadArchiveOptions {
  /** Neither a report nor a coverage report is no error. */
  mayBeEmpty?: boolean;
  /** The uploader named every file: one of another kind is an error. */
  areNamed?: boolean;
  /** Looks for errors only, and returns no results: little memory is enough for any report. */
  isCheck?: boolean;
}

/**
 * Streams the reports and coverage reports of an archive. @throws {ReportError} for one that cannot
 * be read, or when there is none and `mayBeEmpty` is false
 */
export async function readArchiveFiles(
  source: ArchiveSource,
  contents: ArchiveContents,
  { listener, mayBeEmpty = false, areNamed = false, isCheck = false }:
    & ReadArchiveOptions
    & { listener: Listener },
): Promise<UploadFiles> {
  const { reports, coverage, codeowners, metadata } = contents;
  const owners = codeowners === null ? null : { text: codeowners, root: "" };
  const checkoutFolder = metadata?.checkoutFolder ?? "";
  const results = reports.length === 0 ? null : await readResults(
    streamed(source, { contents, part: "reports", areNamed }),
    { codeowners: owners, checkoutFolder, isCheck },
    listener,
  );
  let others = 0;
  const totals = coverage.length === 0 ? null : await readCoverage(
    streamed(source, { contents, part: "coverage", areNamed }),
    listener,
    areNamed ? {} : {
      // Reporters put other files into this folder, such as JUnit reports.
      onOther(error) {
        others++;
        listener.note(`${error.message}: skipped`);
      },
    },
  );
  const hasCoverage = totals !== null && others < coverage.length;
  if (results === null && !hasCoverage && !mayBeEmpty) {
    throw new ReportError({
      file: source.name,
      kind: "not-found",
      problem: `found neither a report below ${quote("test-results/")} or ` +
        `${quote("test_results/")} nor coverage below ${quote("coverage/")}, expected one`,
    });
  }
  return { results, coverage: hasCoverage ? totals : null };
}

async function* streamed(
  source: ArchiveSource,
  { contents, part, areNamed }: {
    contents: ArchiveContents;
    part: "reports" | "coverage";
    areNamed: boolean;
  },
): AsyncGenerator<StreamedReport & CoverageFile, void> {
  for await (const { path, bytes } of readArchived(source, contents[part], contents)) {
    yield { path: `${source.name}: ${path}`, isNamed: areNamed, bytes };
  }
}
