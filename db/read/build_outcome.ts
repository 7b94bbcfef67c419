// Tests: tests/routes/build_outcome_test.ts
import { redUploads } from "../../lib/analysis/build_outcome.ts";
import { BLAMES } from "../../lib/evidence/shares.ts";
import { basePatterns } from "../../lib/evidence/base_branch.ts";
import { coversEnvironment } from "../../lib/analysis/quarantine.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { type BuildFailure, loadBuildFailures } from "./build_failures.ts";
import { type ConclusionsOfTests, loadBuildConclusions } from "./conclusions.ts";
import { type BuildPart, loadBuild } from "./submissions.ts";
import { isActive } from "./fragments.ts";
import { loadWholeness } from "./wholeness.ts";

/** What a build ended with: its page, the API and the tools say this. */
interface BuildOutcome extends Awaited<ReturnType<typeof loadWholeness>> {
  /** Its submissions, newest first. */
  parts: BuildPart[];
  /**
   * Tests that failed at last: of several failures of one the one that is most probably due to the change, of equal
   * ones one in an environment that its quarantine does not cover.
   */
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
  const { repositoryId, now } = build;
  const testNos = failures.filter(({ failedIn }) => failedIn.length > 1).map(({ testNo }) =>
    testNo
  );
  const [whole, isCovered] = await Promise.all([
    loadWholeness(tx, { repositoryId, parts, unclear, base: basePatterns(base) }),
    loadCovered(tx, { repositoryId, testNos, parts, now }),
  ]);
  const rankOf = (testNo: number, submissionId: string) => {
    const blame = conclusions.get(submissionId)?.get(testNo)?.blame;
    return blame ? BLAMES.indexOf(blame) : -1;
  };
  const mostYours = (failure: BuildFailure) => {
    const ranks = new Map(
      failure.failedIn.map((one) => [one, rankOf(failure.testNo, one.submissionId)]),
    );
    const coverOf = ({ submissionId }: { submissionId: string }) =>
      Number(isCovered(failure.testNo, submissionId));
    const [first] = failure.failedIn.toSorted((a, b) =>
      ranks.get(b)! - ranks.get(a)! || coverOf(a) - coverOf(b)
    );
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

/** Whether the quarantine of a test covers the environment of a submission, as far as it is limited. */
async function loadCovered(
  tx: Queryable,
  { repositoryId, testNos, parts, now }: {
    repositoryId: number;
    testNos: readonly number[];
    parts: readonly BuildPart[];
    now: number;
  },
): Promise<(testNo: number, submissionId: string) => boolean> {
  if (testNos.length === 0) return () => true;
  const entries = await tx<{ testNo: number; quarantineEnvironment: string }[]>`
    select q.test_no as "testNo", q.quarantine_environment as "quarantineEnvironment"
    from quarantine q
    where q.repository_id = ${repositoryId} and q.test_no = any(${arrayOf(testNos)}::text::int[])
      and q.quarantine_environment is not null and ${isActive(tx, now)}`;
  const limits = new Map(entries.map((entry) => [entry.testNo, entry]));
  const environments = new Map(
    parts.map(({ submissionId, environment }) => [submissionId, environment]),
  );
  return (testNo, submissionId) => {
    const limit = limits.get(testNo);
    return !limit || coversEnvironment(limit, environments.get(submissionId) ?? "");
  };
}
