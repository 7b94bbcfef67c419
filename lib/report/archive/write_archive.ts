/** Writes a gzip'd tar in the nested form: equal facts and files give equal bytes. */
import { pipeline } from "node:stream";
import { createGzip } from "node:zlib";
import { stringify } from "yaml";
import { formatTimestamp } from "../../base/time.ts";
import type { DetectedFacts } from "../../ci/mod.ts";
import type { RepositoryName } from "../../base/repository_name.ts";
import { CI_FILE, PREFIXES_FILE } from "./contents.ts";
import { type TarFile, writeTar } from "./tar.ts";

/** When, where and on which code the tests of an upload ran. */
export interface RunFacts extends Partial<DetectedFacts> {
  repository: RepositoryName;
  commitOid: string;
  treeOid: string | null;
  branch: string | null;
  /** Where the tests ran, the CI service's job, and which shard of it; `""` when unknown. */
  environment: string;
  job: string;
  /** Workflow or pipeline that has the job, `""` when unknown. */
  workflow: string;
  shard: string;
  /** Attempt of the job in its build, and the machine that ran the tests; `""` when unknown. */
  attempt: string;
  runner: string;
  /** How the command that ran the tests ended; `null` when unknown. */
  exitCode?: number | null;
  /** `""` when there is none. */
  buildUrl: string;
  /** Page of the repository, `""` when it is not known. */
  repositoryUrl: string;
  tags: string[];
  /** Seconds since 1970. */
  recordedAt: number;
}

export interface ArchiveFacts extends RunFacts {
  /** Name of the organization that it was uploaded to, when that is known. */
  organization?: string;
  /** Name of the CI service. */
  provider?: string;
  /** Where the repository was checked out, to make paths in reports relative. */
  checkoutFolder?: string;
}

export interface FileToPack {
  /** Inside the archive, see {@link archivePath}. */
  path: string;
  size: number;
  open(): AsyncIterable<Uint8Array>;
}

/** The path of a file in an archive: relative, without `..`. */
export function archivePath(folder: "test-results" | "coverage", path: string): string {
  const segments = path.replaceAll("\\", "/").replace(/^[A-Za-z]:/, "").split("/");
  return `${folder}/${segments.filter((each) => !["", ".", ".."].includes(each)).join("/")}`;
}

export interface ArchiveContent {
  facts: ArchiveFacts;
  codeowners: string | null;
  /** The variables of the CI job, as lines; `""` when there are none. */
  ci?: string;
  /** Lines of {@linkcode formatPathPrefixes}. */
  pathPrefixes?: string;
  files: Iterable<FileToPack> | AsyncIterable<FileToPack>;
}

/** From 1 to 9. Compared with level 6, a report takes 9 kB instead of 7.6, and 0.9 ms instead of 1.5. */
const COMPRESSION_LEVEL = 3;

/** The bytes of an archive, as they are made. Reading fails when a file has another size. */
export function writeArchive(
  { facts, codeowners, ci = "", pathPrefixes = "", files }: ArchiveContent,
): AsyncIterable<Uint8Array> {
  async function* all(): AsyncGenerator<TarFile, void> {
    const modifiedAt = facts.recordedAt;
    const textFile = (name: string, text: string) => {
      const bytes = new TextEncoder().encode(text);
      return { name, size: bytes.length, modifiedAt, bytes: [bytes] };
    };
    yield textFile("buildpulse.yml", metadataText(facts));
    if (ci !== "") yield textFile(CI_FILE, ci);
    if (pathPrefixes !== "") yield textFile(PREFIXES_FILE, pathPrefixes);
    if (codeowners !== null) yield textFile("CODEOWNERS", codeowners);
    for await (const { path, size, open } of files) {
      yield { name: path, size, modifiedAt, bytes: open() };
    }
  }
  // An error destroys the stream, so that it is thrown to the reader.
  return pipeline(writeTar(all()), createGzip({ level: COMPRESSION_LEVEL }), () => {});
}

function metadataText(facts: ArchiveFacts): string {
  return stringify({
    version: "1.0",
    organization: facts.organization,
    git: {
      commit: facts.commitOid,
      branch: facts.branch ?? "",
      tree: facts.treeOid ?? "",
      checkout_folder: facts.checkoutFolder,
      repository: facts.repository,
      repository_url: facts.repositoryUrl,
    },
    ci: {
      provider: facts.provider,
      build_url: facts.buildUrl,
      environment: facts.environment || undefined,
      job: facts.job || undefined,
      workflow: facts.workflow || undefined,
      shard: facts.shard || undefined,
      attempt: facts.attempt || undefined,
      runner: facts.runner || undefined,
      exit_code: facts.exitCode ?? undefined,
    },
    tags: facts.tags,
    timestamp: formatTimestamp(facts.recordedAt),
  }, { defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "PLAIN", lineWidth: 0 });
}
