// Tests: tests/lib/intake/archive_reader_test.ts tests/lib/intake/process_archive_test.ts
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
} from "../report/archive/mod.ts";
import { TAG_LIMITS } from "../report/limits.ts";
import { isGitId } from "../base/commit.ts";
import { errorMessage } from "../base/error.ts";
import { excerpt, ReportError } from "../report/report_error.ts";
import { type FolderPrefix, parsePathPrefixes, prefixOf } from "../report/path_prefix.ts";
import type { StreamedReport } from "../report/read_report_files.ts";
import { caseKey } from "../base/identity.ts";
import { formatRepositoryName, parseRepositoryName } from "../base/repository_name.ts";
import { readCiLines, withCi } from "./ci_facts.ts";
import {
  type Listener,
  type MaxKept,
  readCoverage,
  readResults,
  type UploadFiles,
} from "./read_files.ts";
import { readGitUrl } from "../ci/git_url.ts";
import { toldFacts } from "../ci/mod.ts";
import { UploadNotes } from "./upload_notes.ts";
import type { RunValues } from "./upload_values.ts";
import {
  readBuildUrl,
  readCommit,
  readExitCode,
  readGitId,
  readName,
  readRecordedAt,
  readTags,
  readText,
  splitTags,
} from "./upload_values.ts";

export interface ReadArchiveOptions {
  /** Override the metadata. */
  given: RunValues;
  /** Seconds since 1970. */
  now: number;
  /** Used when the metadata has no timestamp. */
  recordedAt: number;
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

/** The facts in an archive; `organization` is `""` unless `receive` has written it. */
export type FoundFacts = RunFacts & { organization: string };

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
      codeowners: options.codeowners ?? contents.codeowners,
      checkoutFolder: contents.metadata?.checkoutFolder ?? "",
      pathPrefixes: pathPrefixes(options.given, contents.pathPrefixes),
      hasOwnCoverage: options.hasOwnCoverage,
    },
  );
  return { contents, facts, files: { ...read, notes: notes.list } };
}

/**
 * Merges metadata with options and the variables of CI: the valid facts (`null` without a repository), the
 * first problem. Options take precedence, then metadata.
 */
export function parseFacts(
  ownMetadata: ArchiveMetadata | null,
  { archive, given, ci, now, recordedAt, onNote }:
    & Pick<ReadArchiveOptions, "given" | "now" | "recordedAt">
    & { archive: string; ci: string; onNote(text: string): void },
): { facts: FoundFacts | null; problem: ReportError | null } {
  const run = readCiLines(ci);
  const metadata = withCi(ownMetadata, run, given);
  let found: ReportError | null = null;
  const fail = (kind: "malformed" | "not-found", problem: string) => {
    found ??= new ReportError({ file: `${archive}: buildpulse.yml`, kind, problem });
  };
  const keysOf = (name: keyof typeof METADATA_KEYS.flat) =>
    `${METADATA_KEYS.flat[name]} (or ${METADATA_KEYS.nested[name]})`;
  const read = <T>(name: keyof typeof METADATA_KEYS.flat, parse: () => T, otherwise: T): T => {
    try {
      return parse();
    } catch (error) {
      if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
      fail("malformed", `${keysOf(name)}: ${error.message}`);
      return otherwise;
    }
  };
  const required = <T>(name: "repository" | "commit", parse: (text: string) => T): T | null => {
    const text = metadata?.[name] ?? "";
    if (text !== "" && text !== "/") return read(name, () => parse(text), null);
    const option = name === "commit" ? "--commit" : "--repo";
    fail(
      "not-found",
      metadata
        ? `found no ${keysOf(name)}, expected one, or the option ${option}`
        : "found no such file, expected one, or the options --repo and --commit",
    );
    return null;
  };
  const { tree = "", buildUrl = "", timestamp, tags = [], provider } = metadata ?? {};
  // Jenkins names the branch of the remote.
  const branch = (metadata?.branch ?? "").replace(provider === "jenkins" ? /^origin\// : /^$/, "");

  const repository = given.repo ??
    required("repository", (text) => parseRepositoryName(repositoryIn(text, metadata!)));
  const commitOid = given.commit ?? required("commit", readCommit) ?? "";
  if (given.commit === undefined && commitOid !== "" && !isGitId(commitOid)) {
    onNote(
      `${archive}: kept the commit ${excerpt(commitOid)} as text: expected 7 to 64 hex digits`,
    );
  }
  if (run && commitOid === run.commit) {
    for (const note of run.notes) onNote(`${archive}: ${note}`);
  }
  if (given.tree === undefined && tree !== "" && !isGitId(tree)) {
    onNote(`${archive}: ignored the tree ${excerpt(tree)}: expected 7 to 64 hex digits`);
  }
  // Only a link: not worth an error.
  const archiveBuildUrl = () => {
    try {
      return readBuildUrl(buildUrl);
    } catch (error) {
      onNote(`${archive}: ignored the build URL: ${errorMessage(error)}`);
      return "";
    }
  };
  const name = (key: "environment" | "job" | "shard" | "attempt" | "runner") =>
    read(key, () => readName(metadata?.[key] ?? ""), "");
  const archiveExitCode = () => {
    const text = metadata?.exitCode ?? "";
    if (text === "") return null;
    try {
      return readExitCode(text);
    } catch (error) {
      onNote(`${archive}: ignored the exit code: ${errorMessage(error)}`);
      return null;
    }
  };
  const split = splitTags(tags);
  if (given.tags === undefined && split.length !== tags.length) {
    onNote(`${archive}: split tags at white space and commas`);
  }
  const branchName = given.branch ?? read("branch", () => readText(branch), "");
  const isOther = (name: string) =>
    repository !== null && caseKey(name) !== caseKey(formatRepositoryName(repository));
  const ownRepository = metadata ? repositoryIn(metadata.repository, metadata) : "";
  const facts = repository && {
    organization: metadata?.organization ?? "",
    repository,
    commitOid,
    treeOid: given.tree ?? (isGitId(tree) ? readGitId(tree, "tree") : null),
    branch: branchName || null,
    environment: given.environment ?? name("environment"),
    job: given.job ?? name("job"),
    shard: given.shard ?? name("shard"),
    attempt: given.attempt ?? name("attempt"),
    runner: name("runner"),
    exitCode: given.exitCode ?? archiveExitCode(),
    buildUrl: given.buildUrl ?? archiveBuildUrl(),
    // Only a link: not worth an error.
    repositoryUrl: ownRepository !== "" && isOther(ownRepository)
      ? ""
      : readGitUrl(metadata?.repositoryUrl ?? "").page,
    ...toldFacts(run, {
      branch: branchName,
      isOwnCommit: commitOid.toLowerCase() === run?.commit,
      isOwnRepository: run !== null && !isOther(run.repository || ownRepository),
    }),
    tags: given.tags ?? read("tags", () => usableTags(split, archive, onNote), []),
    recordedAt: read("recordedAt", () => {
      const ownTime = () => timestamp ? parseMetadataTimestamp(timestamp) : recordedAt;
      return readRecordedAt(given.recordedAt ?? ownTime(), now);
    }, recordedAt),
  };
  return { facts, problem: found };
}

/** Where relative paths of reports begin: as the uploader says, else as the archive does. */
export function pathPrefixes(given: RunValues, text: string): FolderPrefix[] {
  const { pathPrefix } = given;
  return pathPrefix === undefined ? parsePathPrefixes(text) : [{ folder: "", prefix: pathPrefix }];
}

/** `OWNER/NAME` in what a reporter wrote as the repository, which may be an address. */
export function repositoryIn(
  text: string,
  { provider, repositoryUrl }: ArchiveMetadata,
): string {
  // For CodeBuild, the reporter takes it from the public page of the build.
  if (provider === "aws-codebuild") return readGitUrl(repositoryUrl).repository || text;
  // For Azure Repos, it is the address of the organization, two slashes and the name.
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (!url) return text;
  const segments = url.pathname.split("/").filter((segment) => segment !== "");
  return (segments.length > 1 ? segments : [url.hostname.split(".")[0], ...segments])
    .map((segment) => decoded(segment!)).join("/");
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The tags that may be stored. Others are dropped with a note: they are not worth the archive. */
function usableTags(
  tags: readonly string[],
  archive: string,
  onNote: (text: string) => void,
): string[] {
  const { characters, perUpload } = TAG_LIMITS;
  const short = [...new Set(tags)].filter((tag) => tag.length <= characters);
  const kept = short.slice(0, perUpload);
  if (short.length < new Set(tags).size) {
    onNote(`${archive}: dropped tags of more than ${characters} characters`);
  }
  if (kept.length < short.length) {
    onNote(`${archive}: dropped ${short.length - kept.length} tags: expected at most ${perUpload}`);
  }
  return readTags(kept);
}

/** Reads the files of an upload. @throws {ReportError} */
export async function readFiles(
  { name, reports, open, ...files }: FilesToRead,
  listener: Listener,
  { codeowners, checkoutFolder, pathPrefixes, hasOwnCoverage = false, areNamed = false, maxKept }:
    ReadFilesOptions,
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
    { codeowners: owners, checkoutFolder, ...maxKept && { maxKept } },
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
