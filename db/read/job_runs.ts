// Tests: tests/db/read/base_branch_test.ts
/** What a run is compared with: earlier runs of its job, and others that failed on a large scale. */
import type { Run } from "../../lib/analysis/run.ts";
import { MIN_EARLIER_RUNS, placesInAll, type TestPlace } from "../../lib/gate/whole_run.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import { integersIn, type Queryable } from "../connection/sql.ts";
import { isMassFailureRow, isOfBase } from "./fragments.ts";
import { loadRuns } from "./runs.ts";

/** A job of the CI service in an environment, and one of its shards. */
export interface Job {
  job: string;
  environment: string;
  shard: string;
}

interface ComparedJob extends Job {
  repositoryId: number;
  /** Runs of this build are left out; `""` when unknown. */
  buildUrl: string;
  /** Patterns of the branches that count as the base branch. */
  base: Patterns;
}

export const COMPARED_RUNS = 10;

/** The last runs of a job on some branches, newest first; none of a job without a name. */
export async function loadJobRuns(
  sql: Queryable,
  { repositoryId, ...job }: ComparedJob,
): Promise<Run<"ranTestCount" | "skippedTestCount">[]> {
  return await loadRuns(sql, {
    repositoryId,
    columns: ["ranTestCount", "skippedTestCount"],
    where: isRunOfJob(sql, job),
    limit: COMPARED_RUNS,
  });
}

/** SQL: whether the row `s` of `submission` is a run of a job in another build. */
export function isRunOfJob(
  sql: Queryable,
  { job, environment, shard, buildUrl, base }: Omit<ComparedJob, "repositoryId">,
) {
  return sql`s.job <> '' and s.job = ${job} and s.environment = ${environment}
    and s.shard = ${shard} and s.ran_test_count > 0 and ${isOfBase(sql, base)}
    ${buildUrl === "" ? sql`` : sql`and s.build_url <> ${buildUrl}`}`;
}

/** {@linkcode placesInAll} of the last 3 runs of a job; `null` with fewer runs. */
export async function loadExpectedPlaces(
  sql: Queryable,
  { repositoryId, ...job }: ComparedJob,
): Promise<TestPlace[] | null> {
  const runs = await loadRuns(sql, {
    repositoryId,
    columns: ["results"],
    where: isRunOfJob(sql, job),
    limit: MIN_EARLIER_RUNS,
  });
  if (runs.length < MIN_EARLIER_RUNS) return null;
  const testNos = runs.map(ranTestNos);
  const placeOf = await loadPlaces(sql, { repositoryId, testNos });
  return placesInAll(testNos.map((ran) => ran.map(placeOf)));
}

/** The tests that were not only skipped in a run. */
export function ranTestNos({ results }: Run<"results">): number[] {
  const ran: number[] = [];
  results.eachTest((testNo, { counts: { positive, negative, unknown } }) => {
    if (positive + negative + unknown > 0) ran.push(testNo);
  });
  return ran;
}

/** The files, classes and suites of the tests of some runs, by test_no. */
export async function loadPlaces(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: readonly Iterable<number>[] },
): Promise<(testNo: number) => TestPlace> {
  const wanted = new Set(testNos.flatMap((ofRun) => [...ofRun]));
  const tests = wanted.size === 0 ? [] : await sql<(TestPlace & { testNo: number })[]>`
    select test_no as "testNo", file, class, suite from test
    where repository_id = ${repositoryId} and test_no = any(${integersIn(sql, wanted)})`;
  const byTest = new Map(tests.map((test) => [test.testNo, test]));
  return (testNo) => byTest.get(testNo)!;
}

/** A run with enough failed tests that they may have one reason. */
interface MassFailureRun extends Run<"buildUrl" | "environment" | "job"> {
  /** `""` when unknown. */
  branch: string;
  ranTestCount: number;
  failedTestCount: number;
}

/** The mass failures among the runs since a moment, newest first. */
export async function loadMassFailures(
  sql: Queryable,
  { repositoryId, since, limit, notOnBranch = null, onlyOutages = false }: {
    repositoryId: number;
    since: number;
    limit: number;
    /** Runs of this branch are left out; `null` for none. */
    notOnBranch?: string | null;
    /** Leaves out runs of one change alone, which is the probable cause. */
    onlyOutages?: boolean;
  },
): Promise<MassFailureRun[]> {
  const runs = await loadRuns(sql, {
    repositoryId,
    columns: ["buildUrl", "branch", "environment", "job", "ranTestCount", "failedTestCount"],
    since,
    where: sql`${isMassFailureRow(sql)}
      ${onlyOutages ? sql`and s.is_outage` : sql``}
      ${notOnBranch ? sql`and s.branch is distinct from ${notOnBranch}` : sql``}`,
    limit,
  });
  return runs.map((run) => ({
    ...run,
    branch: run.branch ?? "",
    ranTestCount: run.ranTestCount!,
    failedTestCount: run.failedTestCount!,
  }));
}
