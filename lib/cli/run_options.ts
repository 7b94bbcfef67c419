/** The options of `ingest` and `upload` that describe a run, with defaults from CI or the checkout. */
import { valueOr } from "../base/error.ts";
import * as v from "valibot";
import { commitOf, runGit, treeOf } from "../intake/checkout/git.ts";
import { branchGiven, branchNamed } from "../ci/git_ref.ts";
import { detectedFacts, type DetectedRun } from "../ci/mod.ts";
import { describeCheckout, detectCiJob } from "../intake/checkout/mod.ts";
import { type JobStart, readJobStart } from "../intake/stale_reports.ts";
import { isGitId, WHOLE_ID_LENGTH } from "../base/commit.ts";
import { readWith } from "../base/read_with.ts";
import { isSameRepository, parseRepositoryName } from "../base/repository_name.ts";
import { readPathPrefix } from "../report/path_prefix.ts";
import { presentReports } from "../report/report_files.ts";
import type { ArchiveFacts } from "../report/archive/mod.ts";
import type { CommandContext } from "./command.ts";
import { ATTEMPTS, option, REPO_OF_JOB } from "./parameters.ts";
import { timestamp } from "../base/value_schemas.ts";
import { parseBases } from "../evidence/base_branch.ts";
import { UsageError } from "../base/failure.ts";
import {
  readBuildUrl,
  readCommit,
  readExitCode,
  readGitId,
  readGivenBuildUrl,
  readName,
  readRecordedAt,
  readTags,
  readText,
  type RunValues,
} from "../intake/upload_values.ts";

const PATH_PREFIX = option(
  "<folder>",
  "folder of the checkout that relative paths in reports begin at (default: found, if the reports lie below it)",
  v.optional(readWith(readPathPrefix)),
);

export const RUN_OPTIONS = {
  repo: REPO_OF_JOB,
  commit: option(
    "<oid>",
    "commit of the tests (default: from the CI job or checkout)",
    v.optional(v.string()),
  ),
  tree: option(
    "<oid>",
    "git tree of the commit; equal trees are the same code version",
    v.optional(readWith((text) => readGitId(text, "tree"))),
  ),
  branch: option("<name>", "branch of the tests", v.optional(readWith(readText))),
  environment: option(
    "<name>",
    "operating system, runtime or browser of the tests; a test is flaky within one of them (default: from the CI job)",
    v.optional(readWith(readName)),
  ),
  job: option(
    "<name>",
    "job that ran the tests (default: from the CI job)",
    v.optional(readWith(readName)),
  ),
  shard: option(
    "<name>",
    "part of the job, such as 2/8 (default: from the CI job)",
    v.optional(readWith(readName)),
  ),
  attempt: option(
    "<name>",
    "attempt of the job in its build, counted from 1 (default: from the CI job)",
    v.optional(readWith(readName)),
  ),
  exitCode: option(
    "<n>",
    "how the command that ran the tests ended: other than 0 without a failed test is shown",
    // A step that did not end has an empty value.
    v.optional(readWith((text) => text === "" ? undefined : readExitCode(text))),
  ),
  attempts: ATTEMPTS,
  buildUrl: option(
    "<url>",
    "URL of the CI run, shared by its shards",
    v.optional(readWith(readGivenBuildUrl)),
  ),
  pathPrefix: PATH_PREFIX,
  recordedAt: option(
    "<timestamp>",
    "when the tests ran: RFC 3339 with a time zone (default: now)",
    v.optional(timestamp),
  ),
  tags: option(
    "<a,b...>",
    "tags of the tests, separated by commas; repeatable",
    v.optional(v.pipe(
      v.array(v.string()),
      v.transform((lists) => lists.join(",")),
      readWith((text) => readTags(text.split(","))),
    )),
  ),
  coverage: option("<file...>", "coverage report; repeatable", v.optional(v.array(v.string()), [])),
  codeowners: option(
    "<file>",
    "CODEOWNERS file (default in a CI job: the checkout's)",
    v.optional(v.string()),
  ),
};

/** The options of `gate` and `comment` that describe the run as it is uploaded. */
export const ASKED_RUN_OPTIONS = {
  commit: RUN_OPTIONS.commit,
  tree: RUN_OPTIONS.tree,
  branch: RUN_OPTIONS.branch,
  environment: option(
    "<name>",
    "environment of the run, as it is uploaded (default: from the CI job)",
    v.optional(readWith(readName)),
  ),
  shard: RUN_OPTIONS.shard,
  attempt: RUN_OPTIONS.attempt,
  buildUrl: RUN_OPTIONS.buildUrl,
  pathPrefix: PATH_PREFIX,
  base: option(
    "<branches>",
    "branches that count as the base branch (default: that of the repository)",
    v.optional(readWith((text) => (parseBases(text) ?? []).join()), ""),
  ),
};

export function givenRun(
  given: {
    [Name in Exclude<keyof typeof ASKED_RUN_OPTIONS, "base" | "pathPrefix"> | "job"]?:
      | string
      | undefined;
  },
  { note }: Pick<CommandContext, "note">,
) {
  const branch = branchGiven(given.branch, note) || undefined;
  const { commit, tree, environment, job, shard, attempt, buildUrl } = given;
  const run = { commit, tree, branch, environment, job, shard, attempt, buildUrl };
  return Object.fromEntries(
    Object.entries(run).filter(([, value]) => value !== undefined),
  ) as Partial<Record<keyof typeof run, string>>;
}

/** Notes what is assumed about the code of the checkout, unless options name the code. */
export function noteOnCode(
  { commit, tree }: Pick<RunValues, "commit" | "tree">,
  { note }: Pick<CommandContext, "note">,
): { note?: (text: string) => void } {
  return commit === undefined && tree === undefined ? { note } : {};
}

/** When the job began whose reports are uploaded; `null` outside of CI, and for reports of another time. */
export async function jobStartOf(
  { commitOid }: Pick<ArchiveFacts, "commitOid">,
  { recordedAt }: Pick<RunValues, "recordedAt">,
  { io }: Pick<CommandContext, "io">,
): Promise<JobStart | null> {
  if (recordedAt !== undefined) return null;
  const git = io.git ?? runGit;
  return await readJobStart(await detectCiJob(io.environment, git), { commit: commitOid, git });
}

/** @throws {UsageError} when there is nothing to read */
export function requireFiles({ reports, coverage }: { reports: string[]; coverage: string[] }) {
  if (reports.length + coverage.length === 0) {
    throw new UsageError("missing REPORTS: expected a report, or --coverage FILE");
  }
}

/**
 * Merges the options with the facts of the CI job, or of the checkout outside of CI; options take precedence.
 *
 * @throws {UsageError} when the repository or the commit is unknown
 */
export async function factsOfRun(
  given: RunValues & { reports: readonly string[]; coverage: readonly string[] },
  context: CommandContext,
): Promise<ArchiveFacts> {
  const { environment } = context.io;
  const git = context.io.git ?? runGit;
  const job = await detectCiJob(environment, git);
  const isDescribed = given.repo !== undefined && given.commit !== undefined;
  const found = job ?? (isDescribed ? null : await describeCheckout(git, {
    environment,
    results: [...await presentReports(given.reports), ...given.coverage],
    ...noteOnCode(given, context),
  }));
  const repository = given.repo ?? readFact(found, "repository", parseRepositoryName);
  const commitOid = await givenCommit(given, context) ?? readFact(found, "commit", readCommit);
  if (repository === undefined || commitOid === undefined) {
    const missing = [
      repository === undefined ? "--repo OWNER/NAME" : "",
      commitOid === undefined ? "--commit OID" : "",
    ];
    throw new UsageError(
      `missing ${
        missing.filter(Boolean).join(", ")
      }: found neither in the environment of a CI job ` +
        'nor in the git checkout (the remote "origin", HEAD)',
    );
  }
  // The branch and tree of a checkout belong to its commit.
  const ofCommit = job || given.commit === undefined ? found : null;
  for (const text of job?.notes ?? []) context.note(text);
  const branch = branchGiven(given.branch, context.note) ||
    branchNamed(readFact(ofCommit, "branch", readText) ?? "");
  const facts: ArchiveFacts = {
    repository,
    commitOid,
    treeOid: given.tree ?? null,
    branch: branch || null,
    environment: given.environment ?? readFact(found, "environment", readName) ?? "",
    job: given.job ?? readFact(found, "job", readName) ?? "",
    workflow: readFact(found, "workflow", readName) ?? "",
    shard: given.shard ?? readFact(found, "shard", readName) ?? "",
    attempt: given.attempt ?? readFact(found, "attempt", readName) ?? "",
    runner: readFact(found, "runner", readName) ?? "",
    exitCode: given.exitCode ?? null,
    buildUrl: given.buildUrl ?? readFact(found, "buildUrl", readBuildUrl) ?? "",
    // A job may upload results of another repository.
    repositoryUrl: given.repo === undefined ? found?.repositoryUrl ?? "" : "",
    ...detectedFacts(job, {
      branch,
      commit: commitOid,
      isOwnRepository: job !== null && isSameRepository(repository, job.repository),
    }),
    tags: given.tags ?? [],
    recordedAt: checkedTime(given.recordedAt ?? context.now, context.now),
    provider: job?.title.toLowerCase().replaceAll(" ", "-") ?? "",
    checkoutFolder: found ? await git(["rev-parse", "--show-toplevel"]) : "",
  };
  facts.treeOid ??=
    (commitOid === ofCommit?.commit ? ofCommit.tree : await treeOf(commitOid, git)) || null;
  if (facts.treeOid === null && commitOid.length < WHOLE_ID_LENGTH && isGitId(commitOid)) {
    context.note(
      `commit ${commitOid} is abbreviated and not in the checkout: results with the whole id count as ` +
        "another code version, so use one or the other everywhere",
    );
  }
  if (!job) return facts;
  if (facts.treeOid === null) {
    context.note(
      `unknown tree of commit ${commitOid}, which is not in the checkout: use --tree OID to join ` +
        "runs of the same code",
    );
  }
  if (facts.buildUrl === "") {
    context.note(
      `this ${job.title} job has no build URL: use --build-url URL to join the shards of one run`,
    );
  }
  return facts;
}

/**
 * The commit of `--commit`. A name such as `HEAD` or `main` is resolved in the checkout: as text it
 * would join the results of different code. An abbreviated id is resolved, too: it would separate results
 * of the same code.
 *
 * @throws {UsageError} when it is neither an id nor known in the checkout
 */
export async function givenCommit(
  { commit }: Pick<RunValues, "commit">,
  { io }: Pick<CommandContext, "io">,
): Promise<string | undefined> {
  if (commit === undefined) return undefined;
  if (commit.length >= WHOLE_ID_LENGTH && isGitId(commit)) return readGitId(commit, "commit");
  const resolved = await commitOf(commit, io.git ?? runGit);
  if (!isGitId(commit)) {
    if (resolved !== "") return resolved;
  } else {
    const id = readGitId(commit, "commit");
    // Not a branch that is called like an id.
    return resolved.startsWith(id) ? resolved : id;
  }
  throw new UsageError(
    `--commit: unknown commit "${commit}": expected 7 to 64 hex digits, or a revision of the ` +
      "current checkout",
  );
}

/** A fact of the CI job or checkout, `undefined` when it is missing or invalid. */
function readFact<T>(
  found: DetectedRun | null,
  name: Exclude<keyof DetectedRun, "startedAt" | "isOfPull">,
  read: (text: string) => T,
): T | undefined {
  const text = found?.[name] ?? "";
  return text === "" ? undefined : valueOr(() => read(text), undefined);
}

function checkedTime(seconds: number, now: number): number {
  try {
    return readRecordedAt(seconds, now);
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`--recorded-at: ${error.message}`);
    throw error;
  }
}
