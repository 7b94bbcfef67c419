// Tests: tests/lib/intake/checkout/checkout_test.ts
/** Detects the CI job or git checkout that the program runs in: its repository, commit, branch, build URL and so on. */
import { readFile } from "node:fs/promises";
import type { Environment } from "../../base/config.ts";
import { type CiJob, type DetectedRun, isCiJob, readCi, UNKNOWN_RUN } from "../../ci/mod.ts";
import { eventVariables, formatCi, knownVariables } from "../../ci/variables.ts";
import { type Git, readOrigin, treeOf } from "./git.ts";

/** The CI job of an environment, with its checkout; `null` outside of CI. */
export async function detectCiJob(environment: Environment, git: Git): Promise<CiJob | null> {
  if (!isCiJob(environment)) return null;
  return readCi(await ciVariables(environment, git));
}

/** What an archive says of the CI job that the program runs in, with its checkout; `""` outside of CI. */
export async function ciLines(environment: Environment, git: Git): Promise<string> {
  return isCiJob(environment) ? formatCi(await ciVariables(environment, git)) : "";
}

/** The variables of a CI job that the table of services names, of its checkout and of GitHub's event. */
async function ciVariables(
  environment: Environment,
  git: Git,
): Promise<Record<string, string>> {
  const commit = await git(["rev-parse", "--verify", "--quiet", "HEAD"]);
  return knownVariables({
    ...environment,
    ...eventVariables(await readEventFile(environment)),
    HEAD_COMMIT: commit,
    HEAD_TREE: await treeOf(commit, git),
    HEAD_ORIGIN: await git(["config", "--get", "remote.origin.url"]),
    HEAD_FOLDER: await git(["rev-parse", "--show-toplevel"]),
  });
}

/** What started a run of GitHub Actions; `null` elsewhere. */
async function readEventFile(environment: Environment): Promise<unknown> {
  const path = environment.GITHUB_EVENT_PATH?.trim() ?? "";
  if (path === "") return null;
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch {
    return null;
  }
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
    ...UNKNOWN_RUN,
    repository,
    repositoryUrl: page,
    commit,
    tree: tree || await treeOf(commit, git),
    // A detached HEAD has no branch.
    branch: await git(["symbolic-ref", "--short", "--quiet", "HEAD"]),
  };
}
