// Tests: tests/lib/mcp/tools/get_build_verdicts_test.ts tests/routes/build_outcome_test.ts
/** Whether a build is whole: its uploads, compared with the last runs of their jobs on the base branch. */
import type { Run, RunColumns } from "../../lib/analysis/run.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { jobKeyOf } from "../../lib/evidence/stopped.ts";
import { countsForBase } from "../../lib/evidence/base_branch.ts";
import {
  COMPARED_BUILDS,
  missingJobs,
  type OtherBuild,
  shardsInAll,
  wholeBuild,
} from "../../lib/gate/whole_build.ts";
import {
  MIN_EARLIER_RUNS,
  missingPlaces,
  placesInAll,
  placesOf,
  type TestPlace,
  usualCounts,
} from "../../lib/gate/whole_run.ts";
import type { Patterns } from "../../lib/query/submission_filter.ts";
import type { Fragment, Queryable } from "../connection/sql.ts";
import { isOfBase } from "./fragments.ts";
import { COMPARED_RUNS, isRunOfJob, loadPlaces, ranTestNos } from "./job_runs.ts";
import { loadRunGroups, loadRuns } from "./runs.ts";
import type { BuildPart } from "./submissions.ts";

/** Uploads whose jobs are compared with the base branch; whether more of them are whole is not known. */
const MAX_COMPARED = 50;

interface Build {
  repositoryId: number;
  parts: readonly BuildPart[];
  /** Patterns of the branches that count as the base branch. */
  base: Patterns;
}

/** Whether everything about a build is known to be whole. */
export async function loadWholeness(
  tx: Queryable,
  { repositoryId, parts, unclear, base }: Build & {
    /** Tests whose outcome is unknown at last. */
    unclear: readonly TestIdentity[];
  },
): Promise<ReturnType<typeof wholeBuild>> {
  const compared = parts.slice(0, MAX_COMPARED)
    .filter(({ status, job }) => status === "processed" && job !== "");
  const build = { repositoryId, parts: compared, base };
  const [runs, places, expected, missing] = await Promise.all([
    loadRunsOfJobs(tx, build, {
      columns: ["ranTestCount", "skippedTestCount"],
      limit: COMPARED_RUNS,
    }),
    loadMissingPlaces(tx, build),
    loadExpectedShards(tx, { repositoryId, parts, base }),
    loadMissingJobs(tx, { repositoryId, parts, base }),
  ]);
  const uploads = parts.map((part) => {
    const { ranTestCount: ran, skippedTestCount: skipped } = part;
    return {
      ...part,
      counts: ran === null || skipped === null ? null : { ran, skipped },
      earlier: usualCounts(compared.includes(part) ? runs(part) : []),
      places: places.get(part) ?? [],
    };
  });
  return wholeBuild(uploads, { expected, missing, unclear });
}

/** The last runs of the job of each of some uploads on the base branch, newest first. */
async function loadRunsOfJobs<Column extends keyof RunColumns>(
  tx: Queryable,
  { repositoryId, parts, base }: Build,
  { columns, limit }: { columns: readonly Column[]; limit: number },
): Promise<(part: BuildPart) => Run<Column>[]> {
  const isEarlier = isBeforeBuild(tx, parts);
  const groups = Object.fromEntries(
    parts.map((part) => [jobKeyOf(part), {
      where: tx`${isRunOfJob(tx, { ...part, base })} and ${isEarlier}`,
      limit,
    }]),
  );
  const runs = await loadRunGroups(tx, { repositoryId, columns, groups });
  return (part) => runs[jobKeyOf(part)]!;
}

/** SQL: whether the row `s` of `submission` was recorded before a build: tests added later cannot be missing. */
function isBeforeBuild(tx: Queryable, parts: readonly BuildPart[]) {
  const [first = ""] = parts.map(({ submissionId }) => submissionId).sort();
  return tx`s.submission_id < decode(${first}, 'hex')`;
}

/** By upload: the places of each of the last 3 runs of its job that it lacks. */
async function loadMissingPlaces(
  tx: Queryable,
  { repositoryId, parts, base }: Build,
): Promise<Map<BuildPart, TestPlace[]>> {
  if (parts.length === 0) return new Map();
  const build = { repositoryId, parts, base };
  const [earlier, own] = await Promise.all([
    loadRunsOfJobs(tx, build, { columns: ["tests", "results"], limit: MIN_EARLIER_RUNS }),
    loadRuns(tx, {
      repositoryId,
      columns: ["tests"],
      submissionIds: parts.map(({ submissionId }) => submissionId),
    }),
  ]);
  const testsOf = new Map(own.map(({ submissionId, tests }) => [submissionId, tests.testNos]));
  const doubtful = parts.flatMap((part) => {
    const runs = earlier(part);
    const testNos = testsOf.get(part.submissionId);
    if (!testNos || runs.length < MIN_EARLIER_RUNS) return [];
    const listed = new Set(testNos);
    // Most runs have the tests of the one before.
    if (runs[0]!.tests.testNos.every((testNo) => listed.has(testNo))) return [];
    return [{ part, testNos, earlier: runs.map(ranTestNos) }];
  });
  const placeOf = await loadPlaces(tx, {
    repositoryId,
    testNos: doubtful.flatMap(({ testNos, earlier }) => [testNos, ...earlier]),
  });
  return new Map(doubtful.map(({ part, testNos, earlier }) => {
    const expected = placesInAll(earlier.map((ran) => ran.map(placeOf)));
    return [part, missingPlaces(expected, placesOf(Array.from(testNos, placeOf)))];
  }));
}

/** Enough for three builds of a hundred shards. */
const SHARD_RUNS = 300;

/** The shards that each job of a build had in each of its last builds on the base branch. */
async function loadExpectedShards(tx: Queryable, { repositoryId, parts, base }: Build) {
  const sharded = parts.filter(({ shard, job }) => shard !== "" && job !== "");
  const jobs = new Map(sharded.map((part) => [jobKeyOf({ ...part, shard: "" }), part]));
  const groups = Object.fromEntries(
    Array.from(jobs, ([key, { job, environment, buildUrl }]) => [key, {
      where: tx`s.job = ${job} and s.environment = ${environment}
        and s.shard <> '' and s.build_url not in ('', ${buildUrl}) and ${isOfBase(tx, base)}
        and ${isBeforeBuild(tx, parts)}`,
      limit: SHARD_RUNS,
    }]),
  );
  const runs = await loadRunGroups(tx, { repositoryId, columns: ["buildUrl", "shard"], groups });
  return Array.from(jobs, ([key, { job, environment }]) => {
    const builds = Map.groupBy(runs[key]!, ({ buildUrl }) => buildUrl).values();
    const shards = builds.map((ofBuild) => ofBuild.map(({ shard }) => shard)).toArray();
    return { job, environment, shards: shardsInAll(shards) };
  });
}

/** Of other branches: enough for a few with several pushes. */
const OTHER_BUILDS = 20;

/** Uploads of one build that are read, as an address may be that of all builds by mistake. */
const MAX_UPLOADS = 1_000;

/** The jobs that a build lacks, by the last builds of its workflow that have an upload like one of its own. */
async function loadMissingJobs(
  tx: Queryable,
  { repositoryId, parts, base }: Build,
): Promise<string[]> {
  const named = parts.filter(({ job }) => job !== "");
  // The one with the fewest uploads like it: its rows are the last builds.
  const [like] = Map.groupBy(named, jobKeyOf).values().toArray()
    .sort((a, b) => a.length - b.length);
  const [part] = like ?? [];
  if (!like || !part || part.buildUrl === "") return [];
  const isOnBase = countsForBase(part, base);
  const last = (where: Fragment, count: number) =>
    tx`(select s.build_url, s.branch, s.submission_id, ${isOfBase(tx, base)} as is_of_base
      from submission s
      where s.repository_id = ${repositoryId} and s.job <> '' and s.job = ${part.job}
        and s.environment = ${part.environment} and s.workflow = ${part.workflow}
        and s.shard = ${part.shard}
        and s.build_url not in ('', ${part.buildUrl}) and ${isBeforeBuild(tx, parts)} and ${where}
      order by s.submission_id desc
      limit ${Math.min(count * like.length, MAX_UPLOADS)})`;
  const ofBase = last(isOfBase(tx, base), COMPARED_BUILDS);
  const ofOthers = last(
    tx`not ${isOfBase(tx, base)} and s.branch <> ${part.branch}`,
    OTHER_BUILDS,
  );
  const builds = await tx<OtherBuild[]>`
    select coalesce(b.branch, '') as branch, b.is_of_base as "isOfBase",
      array_to_json(array(
        select distinct j.job from (
          select s.job from submission s
          where s.repository_id = ${repositoryId} and s.build_url <> ''
            and md5(s.build_url) = md5(b.build_url) and s.build_url = b.build_url
          limit ${MAX_UPLOADS}
        ) j
      )) as jobs
    from (
      select distinct on (l.build_url) l.*
      from (${isOnBase ? ofBase : tx`${ofBase} union all ${ofOthers}`}) l
      order by l.build_url, l.submission_id desc
    ) b
    order by b.submission_id desc`;
  return missingJobs(new Set(named.map(({ job }) => job)), { isOnBase, builds });
}
