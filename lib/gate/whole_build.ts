// Tests: tests/lib/gate/whole_build_test.ts tests/routes/build_outcome_test.ts
/** Whether a build is whole: each of its uploads, all shards of its jobs, and all jobs. */
import { type BuildRun, notWholeUploads } from "../analysis/build_outcome.ts";
import type { ReportGaps } from "../report/report_gaps.ts";
import { NO_GAPS } from "../report/report_gaps.ts";
import type { TestIdentity } from "../base/identity.ts";
import { compareTexts, plural } from "../base/text.ts";
import { missingAnnounced, parseShard } from "./announced_shards.ts";
import {
  compareWithEarlier,
  isWithoutTest,
  MIN_EARLIER_RUNS,
  NO_TEST_RAN,
  sayNotWhole,
  sayUnclear,
  type TestPlace,
  type UsualCounts,
} from "./whole_run.ts";

/** An upload of a build, with what it is compared with. */
export interface ComparedUpload extends BuildRun {
  status: "processing" | "processed" | "failed";
  /** `null` when unknown. */
  counts: { ran: number; skipped: number } | null;
  /** Of an upload by an earlier version of the program, `null`. */
  gaps: ReportGaps | null;
  /** Of its job on the base branch; `null` when it was not compared. */
  earlier: UsualCounts | null;
  /** The files that its job always has, and of which it has no test. */
  places: readonly TestPlace[];
}

/** The shards that a job in an environment had in each of its last builds on the base branch. */
interface ExpectedShards {
  job: string;
  environment: string;
  shards: readonly string[];
}

interface WholeBuild {
  /** `null`: not known. */
  whole: boolean | null;
  /** What says that it is not: `212 of about 482 tests ran (unit)`. */
  notWhole: string[];
}

/** Whether everything about a build is known to be whole. */
export function wholeBuild(
  uploads: readonly ComparedUpload[],
  { expected, missing = [], unclear = [] }: {
    expected: readonly ExpectedShards[];
    /** The jobs that it lacks. */
    missing?: readonly string[];
    /** The tests whose outcome is unknown at last. */
    unclear?: readonly TestIdentity[];
  },
): WholeBuild {
  const judged = uploads.map((upload) => ({ ...upload, ...judge(upload) }));
  const notWhole = [
    ...notWholeUploads(judged).map(({ notWhole, job }) => ofJob(notWhole!, job)),
    ...sayAnnounced(uploads, expected),
    ...expected.flatMap((one) => missingShards(one, uploads)),
    ...sayMissingJobs(missing),
    ...sayUnclear(unclear),
  ];
  if (notWhole.length > 0) return { whole: false, notWhole: [...new Set(notWhole)] };
  return { whole: judged.every(({ isKnown }) => isKnown) ? true : null, notWhole };
}

/** Shards or jobs, at most. */
const MAX_NAMED = 5;

const ofJob = (text: string, job: string) => job === "" ? text : `${text} (${job})`;

const UNREAD = {
  processing: "an upload is not read yet",
  failed: "the reports of an upload could not be read",
};

function judge({ status, counts, gaps, earlier, places, ...upload }: ComparedUpload) {
  if (status !== "processed") return { notWhole: UNREAD[status], isPart: false, isKnown: false };
  const { emptyReportCount, ...known } = gaps ?? NO_GAPS;
  const compared = counts && compareWithEarlier({ counts, earlier });
  // Not of an upload of coverage alone.
  const hasReport = emptyReportCount > 0 || (counts?.skipped ?? 0) > 0;
  const missing = compared && hasReport && isWithoutTest(counts, compared)
    ? NO_TEST_RAN
    : compared?.missing ?? null;
  return {
    notWhole: sayNotWhole({ missing, places, emptyReportCount, ...known }),
    isPart: sayNotWhole({ missing: null, places: [], emptyReportCount, ...known }) === null,
    isKnown: compared?.unchecked === null && emptyReportCount === 0 && !isPartOfUnknown(upload),
  };
}

/** Whether it is one of several shards, and nothing says which uploads have the others. */
function isPartOfUnknown({ buildUrl, shard }: Pick<BuildRun, "buildUrl" | "shard">): boolean {
  return buildUrl === "" && (parseShard(shard)?.total ?? 1) > 1;
}

function sayAnnounced(
  uploads: readonly ComparedUpload[],
  usual: readonly ExpectedShards[],
): string[] {
  const ofBuild = uploads.filter(({ buildUrl }) => buildUrl !== "");
  return missingAnnounced(ofBuild, usual).map(({ job, total, names }) => {
    const named = names.slice(0, MAX_NAMED).join(", ");
    const more = names.length > MAX_NAMED ? ", ..." : "";
    const verb = names.length === 1 ? "has" : "have";
    return ofJob(`${names.length} of ${total} shards ${verb} no upload: ${named}${more}`, job);
  });
}

/** What follows the number of a shard: shards of another split are not those that are expected. */
const splitOf = (shard: string) => shard.replace(/^\d+/, "");

function missingShards(
  { job, environment, shards }: ExpectedShards,
  uploads: readonly ComparedUpload[],
): string[] {
  const own = new Set(
    uploads.filter((one) => one.job === job && one.environment === environment)
      .map(({ shard }) => shard),
  );
  const splits = new Set(Array.from(own, splitOf));
  const missing = shards.filter((shard) =>
    !own.has(shard) && splits.has(splitOf(shard)) && parseShard(shard) === null
  )
    .toSorted((a, b) => a.localeCompare(b, "en", { numeric: true }) || compareTexts(a, b));
  if (missing.length === 0) return [];
  return [
    ofJob(`${plural(missing.length, "shard")} without an upload: ${missing.join(", ")}`, job),
  ];
}

/** The shards in each of the last builds of a job, newest first; none with fewer builds. */
export function shardsInAll(builds: readonly (readonly string[])[]): string[] {
  if (builds.length < MIN_EARLIER_RUNS) return [];
  const [latest, ...others] = builds.slice(0, MIN_EARLIER_RUNS) as [string[], ...string[][]];
  return [...new Set(latest)].filter((shard) =>
    shard !== "" && others.every((shards) => shards.includes(shard))
  );
}

function sayMissingJobs(jobs: readonly string[]): string[] {
  if (jobs.length === 0) return [];
  const named = jobs.slice(0, MAX_NAMED).join(", ");
  const more = jobs.length > MAX_NAMED ? ", ..." : "";
  return [`${plural(jobs.length, "job")} without an upload: ${named}${more}`];
}

/** A build with a job of another build. */
export interface OtherBuild {
  branch: string;
  isOfBase: boolean;
  jobs: readonly string[];
}

/** The last builds of the base branch that are compared, and fewer than which say nothing. */
export const COMPARED_BUILDS = 10;
const MIN_BUILDS = 5;

/**
 * The jobs that a build lacks: those of every one of the last builds of the base branch that have all of its own jobs,
 * so not a job that runs for some changes only. Some jobs run on the base branch only, or there for each change: a
 * build of another branch lacks a job only if it also ran on each other branch, in one of its builds.
 *
 * @param options.builds earlier ones, newest first; none of the branch itself unless that is the base branch
 */
export function missingJobs(
  own: ReadonlySet<string>,
  { isOnBase, builds }: { isOnBase: boolean; builds: readonly OtherBuild[] },
): string[] {
  const alike = builds.map((one) => ({ ...one, jobs: new Set(one.jobs) }))
    .filter(({ jobs }) => own.isSubsetOf(jobs));
  const compared = alike.filter(({ isOfBase }) => isOfBase).slice(0, COMPARED_BUILDS)
    .map(({ jobs }) => jobs);
  if (compared.length < MIN_BUILDS) return [];
  if (!isOnBase) {
    const others = alike.filter(({ isOfBase }) => !isOfBase);
    const branches = Map.groupBy(others, ({ branch }) => branch);
    if (branches.size < MIN_EARLIER_RUNS) return [];
    for (const ofBranch of branches.values()) {
      compared.push(new Set(ofBranch.flatMap(({ jobs }) => [...jobs])));
    }
  }
  return [...compared[0]!.difference(own)]
    .filter((job) => compared.every((jobs) => jobs.has(job)))
    .sort(compareTexts);
}
