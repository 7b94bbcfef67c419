// Tests: tests/routes/build_outcome_test.ts
import { redUploads } from "../../lib/analysis/build_outcome.ts";
import { BLAMES } from "../../lib/evidence/shares.ts";
import { basePatterns } from "../../lib/evidence/base_branch.ts";
import type { Queryable } from "../connection/sql.ts";
import { type BuildFailure, loadBuildFailures } from "./build_failures.ts";
import { type ConclusionsOfTests, loadBuildConclusions } from "./conclusions.ts";
import { type BuildPart, loadBuild } from "./submissions.ts";
import { loadWholeness } from "./wholeness.ts";

/** What a build ended with: its page, the API and the tools say this. */
interface BuildOutcome extends Awaited<ReturnType<typeof loadWholeness>> {
  /** Its submissions, newest first. */
  parts: BuildPart[];
  /** Tests that failed at last: of several failures of one the one that is most probably due to the change. */
  failed: BuildFailure[];
  /** Tests that failed, and not at last. */
  retried: BuildFailure[];
  /** Tests that passed or failed in any of them. */
  ranTestCount: number;
  /** Tests whose outcome is unknown at last. */
  unclearTestCount: number;
  /** Submissions that ended red without a failed test, and were not run again since. */
  red: BuildPart[];
  /** `""` where no upload names its branch. */
  baseBranch: string;
  /** By submission. */
  conclusions: ReadonlyMap<string, ConclusionsOfTests>;
}

/** What the build of a submission ended with. */
export async function loadBuildOutcome(
  tx: Queryable,
  build: { repositoryId: number; idPrefix: number; submissionId: string; now: number },
): Promise<BuildOutcome> {
  const parts = await loadBuild(tx, build);
  const submissionIds = parts.map(({ submissionId }) => submissionId);
  const [{ failures, unclear, ranTestCount }, { base, isBaseNamed, conclusions }] = await Promise
    .all([
      loadBuildFailures(tx, { ...build, submissionIds }),
      loadBuildConclusions(tx, { ...build, submissionIds }),
    ]);
  const { repositoryId } = build;
  const whole = await loadWholeness(tx, {
    repositoryId,
    parts,
    unclear,
    base: basePatterns(base),
  });
  const rankOf = (testNo: number, submissionId: string) => {
    const blame = conclusions.get(submissionId)?.get(testNo)?.blame;
    return blame ? BLAMES.indexOf(blame) : -1;
  };
  const mostYours = (failure: BuildFailure) => {
    const ranks = new Map(
      failure.failedIn.map((one) => [one, rankOf(failure.testNo, one.submissionId)]),
    );
    const [first] = failure.failedIn.toSorted((a, b) => ranks.get(b)! - ranks.get(a)!);
    return { ...failure, ...first };
  };
  return {
    parts,
    failed: failures.filter(({ failedIn }) => failedIn.length > 0).map(mostYours),
    retried: failures.filter(({ failedIn }) => failedIn.length === 0),
    ranTestCount,
    unclearTestCount: unclear.length,
    red: redUploads(parts),
    baseBranch: isBaseNamed ? base : "",
    conclusions,
    ...whole,
  };
}
