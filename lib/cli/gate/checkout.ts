import { parseRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import type { CliIo } from "../command.ts";
import { askGit, repositoryOfGitUrl } from "../intake/ci/git.ts";
import { detectCiJob } from "../intake/ci/mod.ts";

/** Where the tests run. */
export interface Checkout {
  /** `null` when it is not known. */
  repository: RepositoryName | null;
  /** To make paths in reports relative as `upload` does; `""` when it is not known. */
  folder: string;
}

/** The checkout around the current folder; options and the CI job win. Changes nothing in it. */
export async function findCheckout(
  { environment, git = askGit }: CliIo,
  given: RepositoryName | undefined,
): Promise<Checkout> {
  const job = await detectCiJob(environment, git);
  const folder = await git(["rev-parse", "--show-toplevel"]);
  if (given) return { repository: given, folder };
  const name = job?.facts.repository ||
    repositoryOfGitUrl(await git(["config", "--get", "remote.origin.url"]));
  try {
    return { repository: parseRepositoryName(name), folder };
  } catch {
    return { repository: null, folder };
  }
}
