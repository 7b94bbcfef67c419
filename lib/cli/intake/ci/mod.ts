/** Detects the CI job or git checkout that the program runs in: its repository, commit, branch and build URL. */
import type { Environment } from "../../../base/config.ts";
import { isObjectId } from "../upload_values.ts";
import { type Git, pageOfGitUrl, repositoryOfGitUrl, treeOf } from "./git.ts";
import { PROVIDERS } from "./providers.ts";

/** Facts that services have in their environment, see `Provider`. */
const FACTS = ["repository", "commit", "branch", "buildUrl", "repositoryUrl"] as const;

/**
 * Facts of a run in CI or in a checkout; `""` means unknown. `tree` is the git tree of the commit,
 * `repositoryUrl` the page of the repository, without credentials.
 */
export type CiFacts = Record<typeof FACTS[number] | "tree", string>;

export interface CiJob {
  /** Such as `GitHub Actions`. */
  title: string;
  facts: CiFacts;
  /** The environment variables that a fact could come from and that are not set, for messages. */
  sources: Record<typeof FACTS[number], string>;
}

/** The CI job of an environment; `null` outside of CI. */
export async function detectCiJob(environment: Environment, git: Git): Promise<CiJob | null> {
  const get = (name: string) => environment[name]?.trim() ?? "";
  const isSet = (name: string) => !["", "false"].includes(get(name).toLowerCase());
  const provider = PROVIDERS.find(({ presence }) => presence.some(isSet));
  if (!provider) return null;
  const facts = { tree: "" } as CiFacts;
  const sources = {} as CiJob["sources"];
  for (const fact of FACTS) {
    const missing: string[] = [];
    const read = (name: string) => {
      const value = get(name);
      if (value === "") missing.push(name);
      return value;
    };
    const source = provider[fact] ?? [];
    facts[fact] = typeof source === "function"
      ? source(read)
      : source.map(read).find((value) => value !== "") ?? "";
    sources[fact] = missing.join(", ");
  }
  facts.repository ||= repositoryOfGitUrl(facts.repositoryUrl);
  sources.repository ||= sources.repositoryUrl;
  facts.repositoryUrl = pageOfGitUrl(facts.repositoryUrl);
  if (facts.repository === "" || facts.repositoryUrl === "") {
    const origin = await git(["config", "--get", "remote.origin.url"]);
    facts.repository ||= repositoryOfGitUrl(origin);
    facts.repositoryUrl ||= pageOfGitUrl(origin);
  }
  // A build that was started manually may say "HEAD".
  if (!isObjectId(facts.commit)) {
    facts.commit = await git(["rev-parse", "--verify", "--quiet", "HEAD"]);
  }
  facts.tree = await treeOf(facts.commit, git);
  return { title: provider.title, facts, sources };
}

/**
 * The facts of the git checkout around the current folder, for a run outside of CI: the repository of
 * the remote `origin`, commit and branch of `HEAD`.
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
