/**
 * What is known of the CI run that reports come from: by options, else from the environment of the
 * CI job that the program runs in. Shared by `ingest` and `upload`.
 */
import * as v from "valibot";
import { type CiJob, commitOf, detectCiJob, treeOf } from "./ci/mod.ts";
import { parseRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import type { CommandContext, Flag } from "../command.ts";
import { UsageError } from "../errors.ts";
import { askGit } from "./git.ts";
import { isObjectId, readObjectId, readRecordedAt, readTags, readText } from "./upload_values.ts";
import { readWith, repositoryName, timestamp } from "../values.ts";

/** The options, as `--help` shows them. */
export const RUN_OPTIONS: Flag[] = [
  { flags: "--repo <owner/name>", meaning: "repository (default: what the CI job tells)" },
  { flags: "--commit <oid>", meaning: "commit that the tests ran on (default: the CI job's)" },
  { flags: "--tree <oid>", meaning: "git tree of the commit: equal trees are equal code" },
  { flags: "--branch <name>", meaning: "branch that the tests ran on" },
  { flags: "--build-url <url>", meaning: "address of the CI run, shared by its shards" },
  {
    flags: "--recorded-at <timestamp>",
    meaning: "when the tests ran, RFC 3339 with a zone (default: now)",
  },
  {
    flags: "--tags <a,b...>",
    meaning: "tags of every test of the run, separated by commas; may be given several times",
  },
  { flags: "--coverage <file...>", meaning: "coverage report; may be given several times" },
  {
    flags: "--codeowners <file>",
    meaning: "who owns which files (default in a CI job: the checkout's CODEOWNERS)",
  },
];

// An unset shell variable may leave a value empty: as if the option were absent.
const ifGiven = <T>(read: (text: string) => T) =>
  v.optional(readWith((text) => text.trim() === "" ? undefined : read(text)));

/** The options, checked. */
export const runInput = {
  repo: v.optional(repositoryName),
  commit: v.optional(v.string()),
  tree: ifGiven(readObjectId),
  branch: ifGiven(readText),
  buildUrl: ifGiven(readText),
  recordedAt: v.optional(timestamp),
  tags: v.optional(v.pipe(
    v.array(readWith((text) => readTags(text.split(",")))),
    v.transform((lists) => [...new Set(lists.flat())]),
  )),
  coverage: v.optional(v.array(v.string()), []),
  codeowners: ifGiven((text) => text),
};

/** Options that were given. */
export interface RunValues {
  repo?: RepositoryName | undefined;
  commit?: string | undefined;
  tree?: string | undefined;
  branch?: string | undefined;
  buildUrl?: string | undefined;
  /** Seconds since 1970. */
  recordedAt?: number | undefined;
  tags?: string[] | undefined;
}

/** All that is known of a run. */
export interface RunFacts {
  repository: RepositoryName;
  commitOid: string;
  treeOid: string | null;
  branch: string | null;
  /** `""` when there is none. */
  buildUrl: string;
  tags: string[];
  /** Seconds since 1970. */
  recordedAt: number;
  /** Name of the CI service, `""` outside of CI. */
  provider: string;
  /**
   * Where a CI job checked the repository out, so that absolute paths in reports can be told from
   * it; `""` outside of CI, where reports are taken to the letter.
   */
  checkoutFolder: string;
}

/**
 * Puts together what options and the CI job tell; options win.
 *
 * @throws {UsageError} that names what neither tells
 */
export async function factsOfRun(given: RunValues, context: CommandContext): Promise<RunFacts> {
  const git = context.io.git ?? askGit;
  const job = await detectCiJob(context.io.environment, git);
  const repository = given.repo ?? fromJob(job, "repository", parseRepositoryName);
  const commitOid = await givenCommit(given, context) ?? fromJob(job, "commit", readObjectId);
  if (repository === undefined || commitOid === undefined) {
    throw new UsageError(missing(job, {
      "--repo OWNER/NAME": repository === undefined && "repository",
      "--commit OID": commitOid === undefined && "commit",
    }));
  }
  const facts: RunFacts = {
    repository,
    commitOid,
    treeOid: given.tree ?? null,
    branch: (given.branch ?? fromJob(job, "branch", readText)) || null,
    buildUrl: given.buildUrl ?? fromJob(job, "buildUrl", readText) ?? "",
    tags: given.tags ?? [],
    recordedAt: checkedMoment(given.recordedAt ?? context.now, context.now),
    provider: job?.provider ?? "",
    checkoutFolder: job ? await git(["rev-parse", "--show-toplevel"]) : "",
  };
  if (!job) return facts;
  facts.treeOid ??=
    (commitOid === job.facts.commit ? job.facts.tree : await treeOf(commitOid, git)) || null;
  if (facts.treeOid === null) {
    context.note(
      `the tree of commit ${commitOid} is not known, because git has no such commit here: ` +
        "--tree OID would join runs of equal code",
    );
  }
  if (facts.buildUrl === "") {
    context.note(
      `this ${job.title} job does not tell its address (${job.sources.buildUrl}): ` +
        "--build-url URL would join the shards of one run",
    );
  }
  return facts;
}

/**
 * The commit of `--commit`. A name such as `HEAD` or `main` is resolved in the checkout: as text it
 * would join the results of different code.
 *
 * @throws {UsageError} when it is neither an id nor known in the checkout
 */
export async function givenCommit(
  { commit }: Pick<RunValues, "commit">,
  { io }: Pick<CommandContext, "io">,
): Promise<string | undefined> {
  if (commit === undefined || isObjectId(commit)) return commit;
  const resolved = await commitOf(commit, io.git ?? askGit);
  if (resolved !== "") return resolved;
  throw new UsageError(
    `--commit: "${commit}" is no commit id and no revision of the current checkout: expected 7 ` +
      "to 64 hex digits",
  );
}

/** A fact of the CI job, `undefined` when it does not tell it or tells nonsense. */
function fromJob<T>(
  job: CiJob | null,
  name: keyof CiJob["sources"],
  read: (text: string) => T,
): T | undefined {
  const text = job?.facts[name] ?? "";
  if (text === "") return undefined;
  try {
    return read(text);
  } catch {
    return undefined;
  }
}

function missing(
  job: CiJob | null,
  options: Record<string, keyof CiJob["sources"] | false>,
): string {
  const wanted = Object.entries(options).filter(([, source]) => source !== false);
  if (!job) {
    const names = wanted.map(([option]) => option).join(", ");
    return `missing ${names}: expected as options, because this is no CI job that would tell`;
  }
  return wanted.map(([option, source]) =>
    `missing ${option}: expected as an option, because this ${job.title} job does not tell it ` +
    `(${job.sources[source as keyof CiJob["sources"]]})`
  ).join("; ");
}

function checkedMoment(seconds: number, now: number): number {
  try {
    return readRecordedAt(seconds, now);
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`--recorded-at: ${error.message}`);
    throw error;
  }
}
