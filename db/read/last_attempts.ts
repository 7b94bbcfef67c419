// Tests: tests/routes/builds_page_test.ts
/** What the last attempts of builds decided, for lists that read failures without their order. */
import { BUILD_COLUMNS, failedTests, redUploads } from "../../lib/analysis/build_outcome.ts";
import { buildKey } from "../../lib/analysis/build_costs.ts";
import type { Run } from "../../lib/analysis/run.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { idsIn, type Queryable } from "../connection/sql.ts";
import { isFailedWithoutTest, isOfBuild } from "./fragments.ts";
import { loadRuns } from "./runs.ts";
import { loadTestFacts } from "./test_facts.ts";

/** Builds by `buildKey`. */
export interface LastAttempts {
  /** Tests with failures that are no disruption, none of which stands at last. */
  cleared: ReadonlyMap<string, ReadonlySet<number>>;
  /** Tests with a disruption that failed at last: when they or the job were run again. */
  standing: ReadonlyMap<string, ReadonlySet<number>>;
  /** Builds in which no failure that is no disruption stands at last. */
  withoutFailure: readonly string[];
  /** Builds of which an earlier attempt ended red without a failed test. */
  withoutRed: readonly string[];
}

const NOTHING: LastAttempts = {
  cleared: new Map(),
  standing: new Map(),
  withoutFailure: [],
  withoutRed: [],
};

/**
 * What the last attempts of the builds since a moment decided. A test that failed and passes when it is run again is
 * disruptive, except in a job with unnamed legs, between which nothing is proved. One that passed and fails when it is
 * run again is disruptive too, but stands.
 */
export async function loadLastAttempts(
  tx: Queryable,
  { repositoryId, since }: { repositoryId: number; since: number },
): Promise<LastAttempts> {
  const isRed = isFailedWithoutTest(tx);
  const selectedBuilds = tx<{ buildUrl: string; isRed: boolean; needsResults: boolean }[]>`
    select j.build_url as "buildUrl", bool_or(j.is_red) as "isRed",
      bool_or(j.has_legs or j.failed_again) as "needsResults"
    from (
      select s.build_url, count(*) > 1 and bool_or(${isRed}) as is_red,
        s.job <> '' and bool_or(s.failed_test_count > 0)
          and count(*) > count(distinct s.attempt) and count(distinct s.attempt) > 1
          and (count(*) > count(distinct (s.attempt, s.shard)) or bool_or(s.shard = '')) as has_legs,
        bool_or(s.is_latest and s.attempt_count > 1 and s.failed_test_count > 0 and exists (
          select 1 from negative_result n
          where n.repository_id = ${repositoryId} and n.submission_id = s.submission_id
            and n.is_disruption)) as failed_again
      from (
        select s.submission_id, s.build_url, s.environment, s.job, s.workflow, s.shard, s.attempt, s.status,
          s.exit_code, s.failed_test_count, count(*) over attempts as attempt_count,
          row_number() over (attempts order by length(s.attempt) desc, s.attempt desc,
            s.submission_id desc) = 1 as is_latest
        from submission s
        where s.repository_id = ${repositoryId} and s.build_url <> '' and s.status = 'processed'
          and s.submission_id >= decode(${firstSubmissionId(since)}, 'hex')
        window attempts as (
          partition by s.build_url, s.environment, s.job, s.workflow, s.shard, s.code_version)
      ) s
      group by s.build_url, s.environment, s.job, s.workflow
      having count(*) > 1
    ) j
    where j.is_red or j.has_legs or j.failed_again
    group by j.build_url`;
  const [builds, failedAfterPass] = await Promise.all([
    selectedBuilds,
    tx<{ submissionId: string; buildUrl: string }[]>`
      select encode(submission_id, 'hex') as "submissionId", build_url as "buildUrl"
      from submission
      where repository_id = ${repositoryId} and failed_after_pass
        and submission_id >= decode(${firstSubmissionId(since)}, 'hex')`,
  ]);
  if (builds.length === 0 && failedAfterPass.length === 0) return NOTHING;
  const doubtful = new Set(builds.flatMap((one) => one.needsResults ? one.buildUrl : []));
  for (const { buildUrl } of failedAfterPass) if (buildUrl !== "") doubtful.add(buildUrl);
  const alone = failedAfterPass.filter(({ buildUrl }) => buildUrl === "");
  const red = builds.filter(({ isRed }) => isRed).map(({ buildUrl }) => buildUrl);
  const columns = [...BUILD_COLUMNS, "results"] as const;
  const [ofBuilds, single, uploads] = await Promise.all([
    doubtful.size === 0
      ? []
      : loadRuns(tx, { repositoryId, columns, where: isOfBuild(tx, [...doubtful]) }),
    alone.length === 0 ? [] : loadRuns(tx, {
      repositoryId,
      columns,
      submissionIds: alone.map(({ submissionId }) => submissionId),
    }),
    red.length === 0 ? [] : loadRuns(tx, {
      repositoryId,
      columns: [...BUILD_COLUMNS, "failedWithoutTest"],
      where: isOfBuild(tx, red),
    }),
  ]);
  const standingRed = new Set(
    [...Map.groupBy(uploads, buildKey).values()].flatMap(redUploads).map(buildKey),
  );
  return {
    ...await testsAtLast(tx, repositoryId, [...ofBuilds, ...single]),
    withoutRed: red.filter((url) => !standingRed.has(url)),
  };
}

async function testsAtLast(
  tx: Queryable,
  repositoryId: number,
  runs: readonly Run<typeof BUILD_COLUMNS[number] | "results">[],
): Promise<Omit<LastAttempts, "withoutRed">> {
  const submissionIds = runs.map(({ submissionId }) => submissionId);
  if (submissionIds.length === 0) return NOTHING;
  const failures = await tx<
    { submissionId: string; testNo: number; isDisruption: boolean }[]
  >`
    select distinct encode(n.submission_id, 'hex') as "submissionId", n.test_no as "testNo",
      n.is_disruption as "isDisruption"
    from negative_result n
    where n.repository_id = ${repositoryId} and n.submission_id = any(${idsIn(tx, submissionIds)})`;
  const testNos = new Set(failures.map(({ testNo }) => testNo));
  const facts = await loadTestFacts(tx, { repositoryId, testNos });
  const runsOf = Map.groupBy(runs, buildKey);
  const buildOf = new Map(runs.map((run) => [run.submissionId, buildKey(run)]));
  const cleared = new Map<string, Set<number>>();
  const standing = new Map<string, Set<number>>();
  const withoutFailure: string[] = [];
  const byBuild = Map.groupBy(failures, ({ submissionId }) => buildOf.get(submissionId)!);
  for (const [build, ofBuild] of byBuild) {
    const ofTests = new Set(ofBuild.map(({ testNo }) => testNo));
    const failed = failedTests(runsOf.get(build)!, ofTests, facts);
    const [disrupted, others] = [true, false].map((isDisruption) =>
      new Set(
        ofBuild.filter((one) => one.isDisruption === isDisruption).map(({ testNo }) => testNo),
      )
    ) as [Set<number>, Set<number>];
    cleared.set(build, others.difference(failed));
    standing.set(build, disrupted.intersection(failed));
    if (others.isDisjointFrom(failed)) withoutFailure.push(build);
  }
  return { cleared, standing, withoutFailure };
}
