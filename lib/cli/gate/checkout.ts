import { parseRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import type { CliIo } from "../command.ts";
import { askGit, repositoryOfGitUrl } from "../intake/ci/git.ts";
import { detectCiJob } from "../intake/ci/mod.ts";

/** Where the tests run. */
export interface Checkout {
  /** `null` when unknown. */
  repository: RepositoryName | null;
  /** Root folder, to make paths in reports relative as `upload` does; `""` when unknown. */
  folder: string;
}

/** The checkout around the current folder; `--repo` and the CI job override its repository. */
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
