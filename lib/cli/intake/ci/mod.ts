/** Detects the CI job that the program runs in: its repository, commit, branch and build URL. */
import { repositoryOfGitUrl } from "./git_url.ts";
import { isObjectId } from "../upload_values.ts";
import { type Environment, type Get, type Provider, PROVIDERS } from "./providers.ts";

export { type Environment, PROVIDERS } from "./providers.ts";

/** Facts of a CI run; `""` means unknown. */
export interface CiFacts {
  /** `OWNER/NAME`. */
  repository: string;
  commit: string;
  /** The git tree of the commit. */
  tree: string;
  branch: string;
  /** URL of the whole run. */
  buildUrl: string;
}

/** A CI job. */
export interface CiJob {
  /** Name of the service in archives, such as `github-actions`. */
  provider: string;
  /** Name of the service in messages. */
  title: string;
  facts: CiFacts;
  /** The environment variables of each fact. */
  sources: Provider["sources"];
}

/** Runs git in the checkout and returns its output, trimmed; `""` when it fails. */
export type Git = (args: string[]) => Promise<string>;

/** The CI job of an environment; `null` outside of CI. */
export async function detectCiJob(environment: Environment, git: Git): Promise<CiJob | null> {
  const get: Get = (name) => environment[name]?.trim() ?? "";
  const provider = PROVIDERS.find((provider) => provider.isPresent(get));
  if (!provider) return null;
  const { name, title, sources } = provider;
  const facts = provider.facts(get);
  const repository = facts.repository ||
    repositoryOfGitUrl(await git(["config", "--get", "remote.origin.url"]));
  // A build that was started manually may say "HEAD".
  const commit = isObjectId(facts.commit)
    ? facts.commit
    : await git(["rev-parse", "--verify", "--quiet", "HEAD"]);
  return {
    provider: name,
    title,
    sources,
    facts: { ...facts, repository, commit, tree: await treeOf(commit, git) },
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
