/**
 * What a CI job knows of itself: which repository and commit it tests, and which run it belongs to.
 */
import { repositoryOfGitUrl } from "./git_url.ts";
import { isObjectId } from "../upload_values.ts";
import { type Environment, type Get, type Provider, PROVIDERS } from "./providers.ts";

export { type Environment, PROVIDERS } from "./providers.ts";

/** Facts of a CI run; `""` where nothing is known. */
export interface CiFacts {
  /** `OWNER/NAME`. */
  repository: string;
  commit: string;
  /** The git tree of the commit. */
  tree: string;
  branch: string;
  /** Address of the whole run. */
  buildUrl: string;
}

/** A CI job. */
export interface CiJob {
  /** As archives call the service, such as `github-actions`. */
  provider: string;
  /** As people call it. */
  title: string;
  facts: CiFacts;
  /** The environment variables that should have told a fact. */
  sources: Provider["sources"];
}

/**
 * Runs git in the checkout and returns what it prints, trimmed; `""` when it fails, when there is
 * no checkout or no git.
 */
export type Git = (args: string[]) => Promise<string>;

/** The CI job that an environment belongs to; `null` outside of CI. */
export async function detectCiJob(environment: Environment, git: Git): Promise<CiJob | null> {
  const get: Get = (name) => environment[name]?.trim() ?? "";
  const provider = PROVIDERS.find((provider) => provider.isPresent(get));
  if (!provider) return null;
  const { name, title, sources } = provider;
  const told = provider.facts(get);
  const repository = told.repository ||
    repositoryOfGitUrl(await git(["config", "--get", "remote.origin.url"]));
  // A build started by hand may say "HEAD": the checkout knows which commit that is.
  const commit = isObjectId(told.commit)
    ? told.commit
    : await git(["rev-parse", "--verify", "--quiet", "HEAD"]);
  return {
    provider: name,
    title,
    sources,
    facts: { ...told, repository, commit, tree: await treeOf(commit, git) },
  };
}

/** The commit that a revision such as `HEAD` or `main` names in the checkout, `""` when none. */
export async function commitOf(revision: string, git: Git): Promise<string> {
  if (revision === "" || revision.startsWith("-")) return "";
  const commit = await git(["rev-parse", "--verify", "--quiet", `${revision}^{commit}`]);
  return isObjectId(commit) ? commit : "";
}

/** The git tree of a commit, `""` when the checkout does not know it. */
export async function treeOf(commit: string, git: Git): Promise<string> {
  if (!isObjectId(commit)) return "";
  const tree = await git(["rev-parse", "--verify", "--quiet", `${commit}^{tree}`]);
  return /^[0-9a-f]{40,64}$/.test(tree) ? tree : "";
}
