/** Detects the CI job or git checkout that the program runs in: its repository, commit, branch, build URL and so on. */
import type { Environment } from "../../base/config.ts";
import { type CiJob, type DetectedRun, readCiJob } from "../../ci/mod.ts";
import { type Git, readOrigin, treeOf } from "./git.ts";

/** The CI job of an environment, with what its checkout adds; `null` outside of CI. */
export async function detectCiJob(environment: Environment, git: Git): Promise<CiJob | null> {
  const job = readCiJob(environment);
  if (!job) return null;
  const origin = await readOrigin(git);
  const commit = job.commit || await git(["rev-parse", "--verify", "--quiet", "HEAD"]);
  return {
    ...job,
    repository: job.repository || origin.repository,
    repositoryUrl: job.repositoryUrl || origin.page,
    commit,
    tree: await treeOf(commit, git),
  };
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
