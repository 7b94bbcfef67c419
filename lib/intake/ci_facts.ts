// Tests: tests/deploy/ci_ways_test.ts tests/lib/intake/pack_upload_test.ts
/** The variables of a CI job in an upload: facts where the uploader gives none. */
import { parseRepositoryName } from "../base/repository_name.ts";
import { type CiJob, readCi } from "../ci/mod.ts";
import { parseCi } from "../ci/variables.ts";
import type { ArchiveMetadata } from "../report/archive/mod.ts";

/** The run that the lines of a client describe; `null` when they describe none. */
export function readCiLines(text: string): CiJob | null {
  const run = text === "" ? null : readCi(parseCi(text));
  if (!run) return null;
  try {
    parseRepositoryName(run.repository);
    return run;
  } catch {
    return { ...run, repository: "" };
  }
}

/** The metadata of an archive, if any, with the facts of CI where it has none. */
export function withCi(
  metadata: ArchiveMetadata | null,
  run: CiJob | null,
  given: { commit?: string | undefined },
): ArchiveMetadata | null {
  if (!run) return metadata;
  const { repository, commit, tree, branch, environment, job, workflow, shard, attempt, runner } =
    run;
  const ofCi: ArchiveMetadata = {
    organization: "",
    repository,
    commit,
    tree,
    branch,
    environment,
    job,
    workflow,
    shard,
    attempt,
    runner,
    exitCode: "",
    buildUrl: run.buildUrl,
    repositoryUrl: run.repositoryUrl,
    // Of archives that the earlier reporter wrote, whose values follow rules of their own.
    provider: "",
    tags: [],
    timestamp: "",
    checkoutFolder: "",
  };
  const own = Object.entries(metadata ?? {}).filter(([, value]) => value.length > 0);
  const merged: ArchiveMetadata = { ...ofCi, ...Object.fromEntries(own) };
  // The tree belongs to its commit, and the address to its repository.
  const isSameCommit = (given.commit ?? merged.commit).toLowerCase() === commit;
  if (!isSameCommit) merged.tree = metadata?.tree ?? "";
  if (merged.repository !== repository) merged.repositoryUrl = metadata?.repositoryUrl ?? "";
  return merged;
}
