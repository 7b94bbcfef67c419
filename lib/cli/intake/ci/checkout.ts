import { type Git, pageOfGitUrl, repositoryOfGitUrl, treeOf } from "./git.ts";
import type { CiFacts } from "./mod.ts";

/**
 * The facts of the git checkout around the current folder, for a run outside of CI: the repository of
 * the remote `origin`, commit and branch of `HEAD`. `""` means unknown.
 *
 * With uncommitted changes the tree is that of the changed files (`git stash create` writes it without
 * touching the checkout): with the tree of `HEAD`, a test that was just repaired would look flaky.
 *
 * @param note called when there are uncommitted changes
 */
export async function checkoutFacts(
  git: Git,
  note: (text: string) => void = () => {},
): Promise<CiFacts> {
  const origin = await git(["config", "--get", "remote.origin.url"]);
  const commit = await git(["rev-parse", "--verify", "--quiet", "HEAD"]);
  const tree = await treeOf(await git(["stash", "create"]), git);
  if (tree !== "") note(`the checkout has uncommitted changes: tree ${tree} includes them`);
  return {
    repository: repositoryOfGitUrl(origin),
    commit,
    tree: tree || await treeOf(commit, git),
    // A detached HEAD has no branch.
    branch: await git(["symbolic-ref", "--short", "--quiet", "HEAD"]),
    buildUrl: "",
    repositoryUrl: pageOfGitUrl(origin),
  };
}
