/** Detects the CI job that the program runs in: its repository, commit, branch and build URL. */
import type { Environment } from "../../../base/config.ts";
import { isObjectId } from "../upload_values.ts";
import { type Git, pageOfGitUrl, repositoryOfGitUrl, treeOf } from "./git.ts";
import { type Get, PROVIDERS } from "./providers.ts";

/** Facts of a run in CI or in a checkout; `""` means unknown. */
export interface CiFacts {
  /** `OWNER/NAME`. */
  repository: string;
  commit: string;
  /** The git tree of the commit. */
  tree: string;
  branch: string;
  /** URL of the whole run. */
  buildUrl: string;
  /** Page of the repository, without credentials. */
  repositoryUrl: string;
}

/** Facts that services have in their environment. */
const FACTS = ["repository", "commit", "branch", "buildUrl"] as const;

/** A CI job. */
export interface CiJob {
  /** Name of the service in archives, such as `github-actions`. */
  provider: string;
  /** Name of the service in messages. */
  title: string;
  facts: CiFacts;
  /** The environment variables that a fact could come from and that are not set, for messages. */
  sources: Record<typeof FACTS[number], string>;
}

/** The CI job of an environment; `null` outside of CI. */
export async function detectCiJob(environment: Environment, git: Git): Promise<CiJob | null> {
  const get: Get = (name) => environment[name]?.trim() ?? "";
  const provider = PROVIDERS.find((provider) => provider.isPresent(get));
  if (!provider) return null;
  const facts = { tree: "" } as CiFacts;
  const sources = {} as CiJob["sources"];
  for (const fact of FACTS) {
    const names: string[] = [];
    facts[fact] = provider[fact]((name) => {
      const value = get(name);
      if (value === "") names.push(name);
      return value;
    });
    sources[fact] = names.join(", ");
  }
  const page = pageOfGitUrl(provider.repositoryUrl(get));
  const origin = facts.repository && page
    ? ""
    : await git(["config", "--get", "remote.origin.url"]);
  facts.repository ||= repositoryOfGitUrl(origin);
  facts.repositoryUrl = page || pageOfGitUrl(origin);
  // A build that was started manually may say "HEAD".
  if (!isObjectId(facts.commit)) {
    facts.commit = await git(["rev-parse", "--verify", "--quiet", "HEAD"]);
  }
  facts.tree = await treeOf(facts.commit, git);
  return { provider: provider.name, title: provider.title, facts, sources };
}
