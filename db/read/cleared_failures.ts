// Tests: tests/routes/builds_page_test.ts
/** What later attempts of builds cleared, for lists that read failures without their order. */
import { BUILD_COLUMNS, failedTests, redUploads } from "../../lib/analysis/build_outcome.ts";
import { buildKey } from "../../lib/analysis/build_costs.ts";
import type { Run } from "../../lib/analysis/run.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { idsIn, type Queryable } from "../connection/sql.ts";
import { isFailedWithoutTest, isOfBuild } from "./fragments.ts";
import { loadRuns } from "./runs.ts";

/** Builds by their URL: one without a URL is a single upload. */
export interface ClearedFailures {
  /** Tests with failures that are no disruption, none of which stands at last. */
  tests: ReadonlyMap<string, ReadonlySet<number>>;
  /** Builds in which no other failure is without a disruption. */
  withoutFailure: readonly string[];
  /** Builds of which an earlier attempt ended red without a failed test. */
  withoutRed: readonly string[];
}

const NOTHING: ClearedFailures = { tests: new Map(), withoutFailure: [], withoutRed: [] };

/**
 * What the last attempts of the builds since a moment cleared. A test that failed and passes when it is run again is
 * disruptive, except in a job with unnamed legs, between which nothing is proved.
 */
export async function loadClearedFailures(
  tx: Queryable,
  { repositoryId, since }: { repositoryId: number; since: number },
): Promise<ClearedFailures> {
  const isRed = isFailedWithoutTest(tx);
  const builds = await tx<{ buildUrl: string; isRed: boolean; hasLegs: boolean }[]>`
    select j.build_url as "buildUrl", bool_or(j.is_red) as "isRed", bool_or(j.has_legs) as "hasLegs"
    from (
      select s.build_url, count(*) > 1 and bool_or(${isRed}) as is_red,
        s.job <> '' and bool_or(s.failed_test_count > 0)
          and count(*) > count(distinct s.attempt) and count(distinct s.attempt) > 1
          and (count(*) > count(distinct (s.attempt, s.shard)) or bool_or(s.shard = '')) as has_legs
      from submission s
      where s.repository_id = ${repositoryId} and s.build_url <> '' and s.status = 'processed'
        and s.submission_id >= decode(${firstSubmissionId(since)}, 'hex')
      group by s.build_url, s.environment, s.job
      having count(*) > 1
    ) j
    where j.is_red or j.has_legs
    group by j.build_url`;
  if (builds.length === 0) return NOTHING;
  const withLegs = builds.filter(({ hasLegs }) => hasLegs).map(({ buildUrl }) => buildUrl);
  const red = builds.filter(({ isRed }) => isRed).map(({ buildUrl }) => buildUrl);
  const [runs, uploads] = await Promise.all([
    withLegs.length === 0 ? [] : loadRuns(tx, {
      repositoryId,
      columns: [...BUILD_COLUMNS, "results"],
      where: isOfBuild(tx, withLegs),
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
    ...await clearedTests(tx, repositoryId, runs),
    withoutRed: red.filter((url) => !standingRed.has(url)),
  };
}

async function clearedTests(
  tx: Queryable,
  repositoryId: number,
  runs: readonly Run<typeof BUILD_COLUMNS[number] | "results">[],
): Promise<Pick<ClearedFailures, "tests" | "withoutFailure">> {
  const submissionIds = runs.map(({ submissionId }) => submissionId);
  if (submissionIds.length === 0) return NOTHING;
  const failures = await tx<{ buildUrl: string; testNo: number; hasFile: boolean }[]>`
    select distinct s.build_url as "buildUrl", n.test_no as "testNo", t.file <> '' as "hasFile"
    from negative_result n
    join submission s on s.repository_id = n.repository_id and s.submission_id = n.submission_id
    join test t on t.repository_id = n.repository_id and t.test_no = n.test_no
    where n.repository_id = ${repositoryId} and not n.is_disruption
      and n.submission_id = any(${idsIn(tx, submissionIds)})`;
  const runsOf = Map.groupBy(runs, buildKey);
  const tests = new Map<string, Set<number>>();
  const withoutFailure: string[] = [];
  for (const [url, ofBuild] of Map.groupBy(failures, ({ buildUrl }) => buildUrl)) {
    const files = new Map(ofBuild.map(({ testNo, hasFile }) => [testNo, hasFile]));
    const hasFile = (testNo: number) => files.get(testNo)!;
    const cleared = new Set(files.keys())
      .difference(failedTests(runsOf.get(url)!, files.keys(), { hasFile }));
    if (cleared.size === 0) continue;
    tests.set(url, cleared);
    if (cleared.size === files.size) withoutFailure.push(url);
  }
  return { tests, withoutFailure };
}
