// Tests: tests/lib/intake/archive_reader_test.ts tests/lib/intake/process_archive_test.ts
/** The facts of an archive: of its metadata, the options of its uploader and the variables of CI. */
import { isGitId } from "../base/commit.ts";
import { errorMessage, valueOr } from "../base/error.ts";
import {
  isSameRepository,
  parseRepositoryName,
  type RepositoryName,
} from "../base/repository_name.ts";
import { branchGiven } from "../ci/git_ref.ts";
import { readGitUrl } from "../ci/git_url.ts";
import { type CiJob, detectedFacts } from "../ci/mod.ts";
import {
  type ArchiveMetadata,
  METADATA_KEYS,
  parseMetadataTimestamp,
  type RunFacts,
} from "../report/archive/mod.ts";
import { TAG_LIMITS } from "../report/limits.ts";
import { type FolderPrefix, parsePathPrefixes } from "../report/path_prefix.ts";
import { excerpt, ReportError } from "../report/report_error.ts";
import { readCiLines, withCi } from "./ci_facts.ts";
import {
  readBuildUrl,
  readCommit,
  readExitCode,
  readGitId,
  readName,
  readRecordedAt,
  readTags,
  readText,
  type RunValues,
  splitTags,
} from "./upload_values.ts";

/** The facts in an archive; `organization` is `""` unless `receive` has written it. */
export type FoundFacts = RunFacts & { organization: string };

/** What facts are made of. */
export interface FactSources {
  /** Name of the archive, for errors and notes. */
  archive: string;
  /** Override the metadata. */
  given: RunValues;
  /** Lines of variables of the CI job. */
  ci: string;
  /** Seconds since 1970. */
  now: number;
  /** Used when the metadata has no timestamp. */
  recordedAt: number;
  onNote(text: string): void;
}

type Key = keyof typeof METADATA_KEYS.flat;

/** Reads values of the metadata of an archive, and keeps the first problem. */
class MetadataReader {
  problem: ReportError | null = null;
  readonly #archive: string;
  readonly #metadata: ArchiveMetadata | null;
  readonly #note: (text: string) => void;

  constructor(metadata: ArchiveMetadata | null, archive: string, note: (text: string) => void) {
    this.#metadata = metadata;
    this.#archive = archive;
    this.#note = note;
  }

  /** Text that the archive cannot be stored without; `null` when it is missing or invalid. */
  required<T>(key: "repository" | "commit", parse: (text: string) => T): T | null {
    const text = this.#metadata?.[key] ?? "";
    if (text !== "" && text !== "/") return this.read(key, () => parse(text), null);
    const option = key === "commit" ? "--commit" : "--repo";
    this.#fail(
      "not-found",
      this.#metadata
        ? `found no ${keysOf(key)}, expected one, or the option ${option}`
        : "found no such file, expected one, or the options --repo and --commit",
    );
    return null;
  }

  /** A value that must be valid if it is there. */
  read<T>(key: Key, parse: () => T, otherwise: T): T {
    try {
      return parse();
    } catch (error) {
      if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
      this.#fail("malformed", `${keysOf(key)}: ${error.message}`);
      return otherwise;
    }
  }

  name(key: "environment" | "job" | "workflow" | "shard" | "attempt" | "runner"): string {
    return this.read(key, () => readName(this.#metadata?.[key] ?? ""), "");
  }

  /** A value that is not worth an error: an invalid one is ignored with a note. */
  optional<T>(what: string, parse: () => T, otherwise: T): T {
    try {
      return parse();
    } catch (error) {
      this.#note(`ignored the ${what}: ${errorMessage(error)}`);
      return otherwise;
    }
  }

  #fail(kind: "malformed" | "not-found", problem: string): void {
    this.problem ??= new ReportError({ file: `${this.#archive}: buildpulse.yml`, kind, problem });
  }
}

function keysOf(key: Key): string {
  return `${METADATA_KEYS.flat[key]} (or ${METADATA_KEYS.nested[key]})`;
}

/**
 * Merges metadata with options and the variables of CI: the valid facts (`null` without a repository), the
 * first problem. Options take precedence, then metadata.
 */
export function parseFacts(
  ownMetadata: ArchiveMetadata | null,
  { archive, given, ci, now, recordedAt, onNote }: FactSources,
): { facts: FoundFacts | null; problem: ReportError | null } {
  const run = readCiLines(ci);
  const metadata = withCi(ownMetadata, run, given);
  const note = (text: string) => onNote(`${archive}: ${text}`);
  const reader = new MetadataReader(metadata, archive, note);
  const { tree = "", buildUrl = "", exitCode = "", timestamp } = metadata ?? {};
  const repository = given.repo ??
    reader.required("repository", (text) => parseRepositoryName(repositoryIn(text, metadata!)));
  const commitOid = given.commit ?? reader.required("commit", readCommit) ?? "";
  noteGitIds({ commitOid, tree, given, run, note });
  const tags = given.tags ?? readableTags(metadata?.tags ?? [], note);
  const ofMetadata = reader.read("branch", () => readText(metadata?.branch ?? ""), "");
  const branch = branchGiven(given.branch, note) || branchGiven(ofMetadata, note);
  const facts = repository && {
    organization: metadata?.organization ?? "",
    repository,
    commitOid,
    treeOid: given.tree ?? (isGitId(tree) ? readGitId(tree, "tree") : null),
    branch: branch || null,
    environment: given.environment ?? reader.name("environment"),
    job: given.job ?? reader.name("job"),
    workflow: reader.name("workflow"),
    shard: given.shard ?? reader.name("shard"),
    attempt: given.attempt ?? reader.name("attempt"),
    runner: reader.name("runner"),
    exitCode: given.exitCode ??
      (exitCode === "" ? null : reader.optional("exit code", () => readExitCode(exitCode), null)),
    buildUrl: given.buildUrl ?? reader.optional("build URL", () => readBuildUrl(buildUrl), ""),
    ...factsOfRepository({ repository, commitOid, branch, metadata, run }),
    tags: given.tags ?? reader.read("tags", () => usableTags(tags, note), []),
    recordedAt: reader.read("recordedAt", () => {
      const ownTime = () => timestamp ? parseMetadataTimestamp(timestamp) : recordedAt;
      return readRecordedAt(given.recordedAt ?? ownTime(), now);
    }, recordedAt),
  };
  return { facts, problem: reader.problem };
}

/** Notes on a commit and a tree of the archive that are no git ids, and CI's notes on its commit. */
function noteGitIds(
  { commitOid, tree, given, run, note }: {
    commitOid: string;
    tree: string;
    given: RunValues;
    run: CiJob | null;
    note(text: string): void;
  },
): void {
  const expected = "expected 7 to 64 hex digits";
  if (given.commit === undefined && commitOid !== "" && !isGitId(commitOid)) {
    note(`kept the commit ${excerpt(commitOid)} as text: ${expected}`);
  }
  if (commitOid === run?.commit) run.notes.forEach(note);
  if (given.tree === undefined && tree !== "" && !isGitId(tree)) {
    note(`ignored the tree ${excerpt(tree)}: ${expected}`);
  }
}

/** Facts that are stored only if metadata and CI speak of the repository that the upload is for. */
function factsOfRepository(
  { repository, commitOid, branch, metadata, run }: {
    repository: RepositoryName;
    commitOid: string;
    branch: string;
    metadata: ArchiveMetadata | null;
    run: CiJob | null;
  },
): Pick<FoundFacts, "repositoryUrl"> & ReturnType<typeof detectedFacts> {
  const named = metadata ? repositoryIn(metadata.repository, metadata) : "";
  return {
    // Only a link: not worth an error.
    repositoryUrl: named !== "" && !isSameRepository(repository, named)
      ? ""
      : readGitUrl(metadata?.repositoryUrl ?? "").page,
    ...detectedFacts(run, {
      branch,
      commit: commitOid,
      isOwnRepository: run !== null && isSameRepository(repository, run.repository || named),
    }),
  };
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
    .map((segment) => valueOr(() => decodeURIComponent(segment!), segment)).join("/");
}

function readableTags(tags: readonly string[], note: (text: string) => void): string[] {
  const split = splitTags(tags);
  if (split.length !== tags.length) note("split tags at white space and commas");
  return split;
}

/** The tags that may be stored. Others are dropped with a note: they are not worth the archive. */
function usableTags(tags: readonly string[], note: (text: string) => void): string[] {
  const { characters, perUpload } = TAG_LIMITS;
  const short = [...new Set(tags)].filter((tag) => tag.length <= characters);
  const kept = short.slice(0, perUpload);
  if (short.length < new Set(tags).size) {
    note(`dropped tags of more than ${characters} characters`);
  }
  if (kept.length < short.length) {
    note(`dropped ${short.length - kept.length} tags: expected at most ${perUpload}`);
  }
  return readTags(kept);
}
