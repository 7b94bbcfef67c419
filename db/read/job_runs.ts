// Tests: tests/db/read/base_branch_test.ts
/** What a run is compared with: earlier runs of its job, and others that failed on a large scale. */
import type { Run } from "../../lib/analysis/run.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { shardsInAll } from "../../lib/gate/whole_build.ts";
import {
  MIN_EARLIER_RUNS,
  missingPlaces,
  placesInAll,
  placesOf,
  type TestPlace,
} from "../../lib/gate/whole_run.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import { integersIn, type Queryable } from "../connection/sql.ts";
import { isFailedWithoutTest, isMassFailureRow, isOfBase } from "./fragments.ts";
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

/** Tests that ran, and that were only skipped, in a run. */
interface JobRun {
  ranTestCount: number;
  skippedTestCount: number;
}

const COMPARED_RUNS = 10;

/** The last runs of a job on some branches, newest first; none of a job without a name. */
export async function loadJobRuns(
  sql: Queryable,
  job: ComparedJob,
): Promise<JobRun[]> {
  const runs = await loadRuns(sql, {
    repositoryId: job.repositoryId,
    columns: ["ranTestCount", "skippedTestCount"],
    where: isRunOfJob(sql, job),
    limit: COMPARED_RUNS,
  });
  return runs.map((run) => ({
    ranTestCount: run.ranTestCount!,
    skippedTestCount: run.skippedTestCount!,
  }));
}

/** SQL: whether the row `s` of `submission` is a run of a job in another build. */
function isRunOfJob(
  sql: Queryable,
  { job, environment, shard, buildUrl, base }: Omit<ComparedJob, "repositoryId">,
) {
  return sql`s.job <> '' and s.job = ${job} and s.environment = ${environment}
    and s.shard = ${shard} and s.ran_test_count > 0 and ${isOfBase(sql, base)}
    ${buildUrl === "" ? sql`` : sql`and s.build_url <> ${buildUrl}`}`;
}

/** Enough for three builds of a hundred shards. */
const SHARD_RUNS = 300;

/** The shards that a job had in each of its last builds on some branches; none of a job without a name. */
export async function loadExpectedShards(
  sql: Queryable,
  { repositoryId, job, environment, buildUrl, base }: Omit<ComparedJob, "shard">,
): Promise<string[]> {
  const runs = await loadRuns(sql, {
    repositoryId,
    columns: ["buildUrl", "shard"],
    where: sql`s.job <> '' and s.job = ${job} and s.environment = ${environment}
      and s.shard <> '' and s.build_url not in ('', ${buildUrl}) and ${isOfBase(sql, base)}`,
    limit: SHARD_RUNS,
  });
  const builds = Map.groupBy(runs, ({ buildUrl }) => buildUrl).values();
  return shardsInAll(builds.map((ofBuild) => ofBuild.map(({ shard }) => shard)).toArray());
}

/** Whether the latest upload of a run ended red without a failed test; no run without a build is known. */
export async function loadIsFailedWithoutTest(
  sql: Queryable,
  { repositoryId, buildUrl, job, environment, shard, attempt }: Omit<ComparedJob, "base"> & {
    attempt: string;
  },
): Promise<boolean> {
  if (buildUrl === "") return false;
  const [latest] = await sql<{ isRed: boolean }[]>`
    select ${isFailedWithoutTest(sql)} as "isRed" from submission s
    where s.repository_id = ${repositoryId} and s.build_url = ${buildUrl} and s.job = ${job}
      and s.environment = ${environment} and s.shard = ${shard} and s.attempt = ${attempt}
    order by s.submission_id desc limit 1`;
  return latest?.isRed ?? false;
}

/**
 * The files that ran in each of the last 3 runs of a job, and the classes of tests without one, sorted;
 * `null` with fewer runs.
 */
export async function loadExpectedPlaces(
  sql: Queryable,
  job: ComparedJob,
): Promise<TestPlace[] | null> {
  const runs = await loadRuns(sql, {
    repositoryId: job.repositoryId,
    columns: ["results"],
    where: isRunOfJob(sql, job),
    limit: MIN_EARLIER_RUNS,
  });
  return await expectedPlaces(sql, job.repositoryId, runs);
}

async function expectedPlaces(
  sql: Queryable,
  repositoryId: number,
  runs: readonly Run<"results">[],
): Promise<TestPlace[] | null> {
  if (runs.length < MIN_EARLIER_RUNS) return null;
  const testNosOf = runs.map(({ results }) => {
    const ran: number[] = [];
    results.eachTest((testNo, { counts: { positive, negative, unknown } }) => {
      if (positive + negative + unknown > 0) ran.push(testNo);
    });
    return ran;
  });
  const tests = await sql<(TestPlace & { testNo: number })[]>`
    select test_no as "testNo", file, class from test
    where repository_id = ${repositoryId}
      and test_no = any(${integersIn(sql, new Set(testNosOf.flat()))})`;
  const byTest = new Map(tests.map((test) => [test.testNo, test]));
  return placesInAll(testNosOf.map((testNos) => testNos.map((testNo) => byTest.get(testNo)!)));
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
    /** Leaves out runs of one branch alone, whose change is the probable cause. */
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

/** The files, and the classes of tests without one, of the last 3 runs of a job that a stored run lacks. */
export async function loadMissingPlaces(
  sql: Queryable,
  { submissionId, ...job }: ComparedJob & { submissionId: string },
): Promise<TestPlace[]> {
  const { repositoryId } = job;
  const columns = ["tests", "results"] as const;
  const [[own], earlier] = await Promise.all([
    loadRuns(sql, { repositoryId, columns, submissionIds: [submissionId] }),
    loadRuns(sql, {
      repositoryId,
      columns,
      where: isRunOfJob(sql, job),
      limit: MIN_EARLIER_RUNS,
    }),
  ]);
  if (!own || earlier.length < MIN_EARLIER_RUNS) return [];
  const listed = new Set(own.tests.testNos);
  // Most runs have the tests of the one before.
  if (earlier[0]!.tests.testNos.every((testNo) => listed.has(testNo))) return [];
  const expected = await expectedPlaces(sql, repositoryId, earlier);
  const tests = await sql<TestIdentity[]>`
    select suite, class, name, file from test
    where repository_id = ${repositoryId} and test_no = any(${integersIn(sql, listed)})`;
  return missingPlaces(expected ?? [], placesOf(tests));
}
