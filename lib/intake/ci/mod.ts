/** Detects the CI job or git checkout that the program runs in: its repository, commit, branch, build URL and so on. */
import type { Environment } from "../../base/config.ts";
import { isGitId } from "../../base/commit.ts";
import { MAX_NAME_CHARACTERS } from "../upload_values.ts";
import { type Git, readGitUrl, readOrigin, treeOf } from "./git.ts";
import { type Fact, type Get, PROVIDERS } from "./providers.ts";

/** What is known of a run from its CI service or checkout; `""` means unknown. */
export interface DetectedRun {
  repository: string;
  /** Page of the repository, without credentials. */
  repositoryUrl: string;
  commit: string;
  /** Git tree of the commit. */
  tree: string;
  branch: string;
  /** Where the job runs, such as `Linux-X64`: what the results depend on in addition to the code. */
  environment: string;
  /** Name of the job, the same for all its shards. */
  job: string;
  /** Which of the job's shards, as the service counts them: `2/4`. */
  shard: string;
  buildUrl: string;
}

interface CiJob extends DetectedRun {
  /** Such as `GitHub Actions`. */
  title: string;
}

/** The CI job of an environment; `null` outside of CI. */
export async function detectCiJob(environment: Environment, git: Git): Promise<CiJob | null> {
  const get = (name: string) => environment[name]?.trim() ?? "";
  const isSet = (name: string) => !["", "false"].includes(get(name).toLowerCase());
  const provider = PROVIDERS.find(({ presence }) => presence.some(isSet));
  if (!provider) return null;
  const read = (fact: Fact = []) => typeof fact === "function" ? fact(get) : fill(fact, get);
  const fromUrl = readGitUrl(read(provider.repositoryUrl));
  const origin = await readOrigin(git);
  // A build that was started manually may say "HEAD".
  const named = read(provider.commit);
  const commit = isGitId(named) ? named : await git(["rev-parse", "--verify", "--quiet", "HEAD"]);
  return {
    title: provider.title,
    repository: read(provider.repository) || fromUrl.repository || origin.repository,
    repositoryUrl: fromUrl.page || origin.page,
    commit,
    tree: await treeOf(commit, git),
    branch: read(provider.branch),
    environment: shorten(read(provider.environment)),
    job: shorten(withoutShard(read(provider.job))),
    shard: shorten(read(provider.shard)),
    buildUrl: read(provider.buildUrl),
  };
}

function shorten(text: string): string {
  return [...text].slice(0, MAX_NAME_CHARACTERS).join("");
}

/** The name of a job without the number of a shard and the values of a matrix: `test 2/4`, `test: [20]`. */
function withoutShard(name: string): string {
  return name.replace(/[\s:]*\[[^\]]*\]$/, "").replace(/[\s-]+\d+\/\d+$/, "");
}

const VARIABLE = /\$([A-Z][A-Z0-9_]*)/g;

/** The first text whose variables are all set, with their values. */
function fill(texts: readonly string[], get: Get): string {
  const isComplete = (text: string) =>
    text.matchAll(VARIABLE).every(([, name = ""]) => get(name) !== "");
  return texts.find(isComplete)?.replaceAll(VARIABLE, (_, name) => get(name)) ?? "";
}

/**
 * The facts of the git checkout around the current folder, for a run outside of CI: the repository of
 * the remote `origin`, commit and branch of `HEAD`.
 *
 * With uncommitted changes the tree contains the changed files (`git stash create` writes it without
 * touching the checkout): with the tree of `HEAD`, a test that was just repaired would look flaky.
 *
 * @param note called when there are uncommitted changes
 */
export async function describeCheckout(
  git: Git,
  note: (text: string) => void = () => {},
): Promise<DetectedRun> {
  const { repository, page } = await readOrigin(git);
  const commit = await git(["rev-parse", "--verify", "--quiet", "HEAD"]);
  const tree = await treeOf(await git(["stash", "create"]), git);
  if (tree !== "") note(`the checkout has uncommitted changes: tree ${tree} includes them`);
  return {
    repository,
    repositoryUrl: page,
    commit,
    tree: tree || await treeOf(commit, git),
    // A detached HEAD has no branch.
    branch: await git(["symbolic-ref", "--short", "--quiet", "HEAD"]),
    environment: "",
    job: "",
    shard: "",
    buildUrl: "",
  };
}
