// Tests: tests/routes/build_outcome_test.ts
import { redUploads } from "../../lib/analysis/build_outcome.ts";
import type { Queryable } from "../connection/sql.ts";
import { type BuildFailure, loadBuildFailures } from "./build_failures.ts";
import { type BuildPart, loadBuild } from "./submissions.ts";

/** What a build ended with: its page, the API and the tools say this. */
interface BuildOutcome {
  /** Its submissions, newest first. */
  parts: BuildPart[];
  /** Tests that failed at last. */
  failed: BuildFailure[];
  /** Tests that failed, and not at last. */
  retried: BuildFailure[];
  /** Submissions that ended red without a failed test, and were not run again since. */
  red: BuildPart[];
}

/** What the build of a submission ended with. */
export async function loadBuildOutcome(
  tx: Queryable,
  build: { repositoryId: number; idPrefix: number; submissionId: string },
): Promise<BuildOutcome> {
  const parts = await loadBuild(tx, build);
  const submissionIds = parts.map(({ submissionId }) => submissionId);
  const failures = await loadBuildFailures(tx, { ...build, submissionIds });
  return {
    parts,
    failed: failures.filter(({ isFailed }) => isFailed),
    retried: failures.filter(({ isFailed }) => !isFailed),
    red: redUploads(parts),
  };
}
