// Tests: tests/lib/intake/checkout/checkout_test.ts
/** Detects the CI job or git checkout that the program runs in: its repository, commit, branch, build URL and so on. */
import { readFile } from "node:fs/promises";
import type { Environment } from "../../base/config.ts";
import { type CiJob, type DetectedRun, isCiJob, readCi, UNKNOWN_RUN } from "../../ci/mod.ts";
import { USUAL_BASE_BRANCHES } from "../../evidence/base_branch.ts";
import { eventVariables, formatCi, knownVariables } from "../../ci/variables.ts";
import { type Git, readOrigin, treeOf } from "./git.ts";
import { readWorkingTree } from "./working_tree.ts";

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
 * the remote `origin`, commit and branch of `HEAD`, and the tree of the files in it.
 *
 * @param options.results reports and the like: while untracked, they are not code
 * @param options.note called when the files are not those of `HEAD`
 */
export async function describeCheckout(
  git: Git,
  { environment = {}, results = [], note = () => {} }: {
    environment?: Environment;
    results?: readonly string[];
    note?: (text: string) => void;
  } = {},
): Promise<DetectedRun> {
  const { repository, page } = await readOrigin(git);
  const commit = await git(["rev-parse", "--verify", "--quiet", "HEAD"]);
  // A detached HEAD has no branch.
  const branch = await git(["symbolic-ref", "--short", "--quiet", "HEAD"]);
  const checkout = { ...UNKNOWN_RUN, repository, repositoryUrl: page, commit, branch };
  if (commit === "") return checkout;
  // In a job of an unknown service, untracked files are results and caches.
  const hasUntracked = ["", "false", "0"].includes(environment.CI?.trim().toLowerCase() ?? "");
  const { tree, changed } = await readWorkingTree(git, { commit, hasUntracked, results });
  if (changed?.length === 0) return { ...checkout, tree };
  // The base branch does not have the changes: its failures would be theirs.
  const isDefault = branch !== "" && await isDefaultBranch(branch, git);
  const ofNoBranch = isDefault ? `; the run is not one of the branch ${branch}` : "";
  note(sayChanges(tree, changed) + ofNoBranch);
  return { ...checkout, tree, branch: isDefault ? "" : branch };
}

function sayChanges(tree: string, changed: readonly string[] | null): string {
  if (!changed) {
    return "git cannot tell what the checkout contains, as with changes in a submodule: this run is compared " +
      "with no other run of its code (--tree OID names the code)";
  }
  const [first, second] = changed;
  const more = changed.length - 2;
  const paths = more > 0 ? `${first}, ${second} and ${more} more` : changed.join(", ");
  return `the checkout has uncommitted changes (${paths}): tree ${tree} includes them`;
}

/** Whether a branch is the default branch of the remote, or has the name of one. */
async function isDefaultBranch(branch: string, git: Git): Promise<boolean> {
  const ofRemote = await git(["symbolic-ref", "--short", "--quiet", "refs/remotes/origin/HEAD"]);
  return ofRemote === `origin/${branch}` || USUAL_BASE_BRANCHES.some((name) => name === branch);
}
