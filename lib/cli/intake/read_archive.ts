/** Reads archives. Opens no database. */
import {
  type ArchiveContents,
  type ArchivedFile,
  type ArchiveMetadata,
  type ArchiveSource,
  inspectArchive,
  METADATA_KEYS,
  parseMetadataTimestamp,
  readArchived,
  type RunFacts,
} from "../../report/archive/mod.ts";
import { quote, ReportError } from "../../report/report_error.ts";
import type { StreamedReport } from "../../report/read_reports.ts";
import { parseRepositoryName } from "../../base/repository_name.ts";
import { type Listener, readCoverage, readResults, type UploadFiles } from "./read_files.ts";
import { pageOfGitUrl } from "./ci/git.ts";
import type { RunValues } from "./run_options.ts";
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

/** An archive whose metadata is valid. */
export interface OpenedArchive {
  contents: ArchiveContents;
  facts: RunFacts;
}

/** Arguments of {@linkcode openArchive}; without a timestamp `recordedAt` counts. */
export interface OpenArchiveOptions {
  given: RunValues;
  now: number;
  recordedAt: number;
}

/**
 * Reads an archive once to its end, and merges its metadata with the given options, which win.
 *
 * @param options.onMetadata called once the metadata was read; the rest may still fail
 * @throws {ReportError} when the archive cannot be read, or facts are missing or invalid
 */
export async function openArchive(
  source: ArchiveSource,
  { given, now, recordedAt, listener, onMetadata }: OpenArchiveOptions & {
    listener: Listener;
    onMetadata?: (metadata: ArchiveMetadata) => void;
  },
): Promise<OpenedArchive> {
  const note = (text: string) => listener.note(text);
  const contents = await inspectArchive(source, { onNote: note, ...onMetadata && { onMetadata } });
  const { metadata } = contents;
  const fail = (kind: "malformed" | "not-found", problem: string): never => {
    throw new ReportError({ file: `${source.name}: buildpulse.yml`, kind, problem });
  };
  const keysOf = (name: keyof typeof METADATA_KEYS.flat) =>
    `${METADATA_KEYS.flat[name]} (or ${METADATA_KEYS.nested[name]})`;
  const read = <T>(name: keyof typeof METADATA_KEYS.flat, parse: () => T): T => {
    try {
      return parse();
    } catch (error) {
      if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
      return fail("malformed", `${keysOf(name)}: ${error.message}`);
    }
  };
  const required = <T>(name: "repository" | "commit", parse: (text: string) => T): T => {
    const text = metadata?.[name] ?? "";
    if (text !== "" && text !== "/") return read(name, () => parse(text));
    const option = name === "commit" ? "--commit" : "--repo";
    return fail(
      "not-found",
      metadata
        ? `found no ${keysOf(name)}, expected one, or the option ${option}`
        : "found no such file, expected one, or the options --repo and --commit",
    );
  };
  const { tree = "", branch = "", buildUrl = "", timestamp, tags = [] } = metadata ?? {};

  const repository = given.repo ?? required("repository", parseRepositoryName);
  const commitOid = given.commit ?? required("commit", readObjectId);
  if (given.commit === undefined && !isObjectId(commitOid)) {
    note(
      `${source.name}: kept the commit ${quote(commitOid)} as text: expected 7 to 64 hex digits`,
    );
  }
  if (given.tree === undefined && tree !== "" && !isObjectId(tree)) {
    note(`${source.name}: ignored the tree ${quote(tree)}: expected 7 to 64 hex digits`);
  }
  const split = splitTags(tags);
  if (given.tags === undefined && split.length !== tags.length) {
    note(`${source.name}: split tags at white space and commas`);
  }
  return {
    contents,
    facts: {
      repository,
      commitOid,
      treeOid: given.tree ?? (isObjectId(tree) ? readTree(tree) : null),
      branch: given.branch ?? (read("branch", () => readText(branch)) || null),
      buildUrl: given.buildUrl ?? read("buildUrl", () => readBuildUrl(buildUrl)),
      // Only a link: not worth an error.
      repositoryUrl: given.repo ? "" : pageOfGitUrl(metadata?.repositoryUrl ?? ""),
      tags: given.tags ?? read("tags", () => readTags(split)),
      recordedAt: read("recordedAt", () => {
        const told = () => timestamp ? parseMetadataTimestamp(timestamp) : recordedAt;
        return readRecordedAt(given.recordedAt ?? told(), now);
      }),
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
  const streamed = async function* (files: ArchivedFile[]): AsyncGenerator<StreamedReport, void> {
    for await (const { path, bytes } of readArchived(source, files, contents)) {
      yield { path: `${source.name}: ${path}`, isNamed: areNamed, bytes };
    }
  };
  const owners = codeowners === null ? null : { text: codeowners, root: "" };
  const checkoutFolder = metadata?.checkoutFolder ?? "";
  const results = reports.length === 0 ? null : await readResults(
    streamed(reports),
    { codeowners: owners, checkoutFolder, isCheck },
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
