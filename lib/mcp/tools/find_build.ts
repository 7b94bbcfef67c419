// Tests: tests/lib/mcp/tools/get_build_verdicts_test.ts
/** Finds the build that an agent asks about, with its failures and the verdicts on them. */
import * as v from "valibot";
import { type CiRun, runQuery } from "../../api_client/run_query.ts";
import { DELETED_RUN, type Get, testEntries, unknownRepository } from "./tool.ts";

/** The largest page of the API, and how many of them are searched for a build. */
const PAGE_SIZE = 100;
const MAX_PAGES = 5;

/** Builds that are searched for the latest red one. */
const MAX_BUILDS = 30;

const submission = v.object({
  id: v.string(),
  build_url: v.string(),
  commit_oid: v.string(),
  branch: v.string(),
  recorded_at: v.string(),
  status: v.string(),
  environment: v.optional(v.string(), ""),
  job: v.optional(v.string(), ""),
  shard: v.optional(v.string(), ""),
  attempt: v.optional(v.string(), ""),
  tree_oid: v.optional(v.string(), ""),
  pull_number: v.optional(v.nullable(v.number()), null),
});
export type Submission = v.InferOutput<typeof submission>;

const submissionsPage = v.object({
  submissions: v.array(submission),
  metadata: v.object({ after: v.nullable(v.string()) }),
});

/** What the service concluded from a failure, where it has done so. */
const conclusion = {
  evidence: v.optional(v.nullable(v.string())),
  blame: v.optional(v.nullable(v.string())),
};

const attempt = v.object({
  test_case_id: v.string(),
  ...testEntries,
  message: v.nullable(v.string()),
  causes: v.array(v.string()),
  ...conclusion,
});
export type Attempt = v.InferOutput<typeof attempt> & {
  submission: Submission;
  /** Fingerprints of all its failures in the build; some may repeat. */
  allCauses: string[];
};

const attemptsPage = v.object({ tests: v.array(attempt) });

const buildOutcome = v.object({
  submissions: v.array(submission),
  failed_test_ids: v.array(v.string()),
  failed_in: v.array(v.string()),
  retried_test_ids: v.array(v.string()),
  failed_without_test: v.boolean(),
  whole: v.nullable(v.boolean()),
  not_whole: v.array(v.string()),
});
type BuildOutcome = v.InferOutput<typeof buildOutcome>;

const negativeResult = v.nullable(v.object({ recorded_at: v.string(), build_url: v.string() }));

const verdict = v.object({
  id: v.string(),
  verdict: v.string(),
  causes: v.array(v.string()),
  owners: v.optional(v.array(v.string())),
  recent_nondeterministic_negative_result: negativeResult,
  recent_base_negative_result: negativeResult,
  ...conclusion,
  /** When the run was that the evidence rests on, where there is one. */
  evidence_recorded_at: v.optional(v.nullable(v.string()), null),
});
export type Verdict = v.InferOutput<typeof verdict>;

const verdictsPage = v.object({ tests: v.array(verdict) });

const conclusionsPage = v.object({ base_branch: v.string() });

export interface Repo {
  owner: string;
  name: string;
  get: Get;
}

export interface Wanted {
  build_url?: string | undefined;
  commit?: string | undefined;
  pull?: number | undefined;
  branch?: string | undefined;
}

/** A build, with an attempt of each test that failed at last, or before. */
export interface Build extends BuildOutcome {
  failed: Attempt[];
  flaky: Attempt[];
  /** Newer builds of other commits that passed, of those that were searched. */
  newerPassed: number;
}

const pathOf = ({ owner, name }: Repo, ...rest: string[]) => ["api", "repos", owner, name, ...rest];

/**
 * The latest red build of those that are wanted; otherwise, the latest. Of a branch or a pull request those of its
 * newest commit are wanted.
 */
export async function findBuild(repo: Repo, wanted: Wanted): Promise<Build | null> {
  const found = await findSubmissions(repo, wanted);
  const builds = [...Map.groupBy(found, ({ id, build_url }) => build_url || id).values()];
  const newer: BuildOutcome[] = [];
  for (const [{ id }] of builds.slice(0, MAX_BUILDS) as [Submission][]) {
    const outcome = await repo.get({
      path: pathOf(repo, "submissions", id, "build"),
      notFound: DELETED_RUN,
    }, buildOutcome);
    const isRed = outcome.failed_test_ids.length > 0 || outcome.failed_without_test;
    if (isRed) return await withAttempts(repo, outcome, newer);
    newer.push(outcome);
  }
  return newer[0] ? await withAttempts(repo, newer[0], []) : null;
}

/** A build with the latest attempt of each of its failed tests that are read. */
async function withAttempts(
  repo: Repo,
  outcome: BuildOutcome,
  newer: readonly BuildOutcome[],
): Promise<Build> {
  const { submissions, failed_test_ids, failed_in, retried_test_ids } = outcome;
  const attempts = await failedAttempts(repo, submissions);
  const latest = new Map(attempts.map((one) => [one.test_case_id, one]));
  const keyOf = (testId: string, submissionId: string) => `${testId} ${submissionId}`;
  const latestIn = new Map(
    attempts.map((one) => [keyOf(one.test_case_id, one.submission.id), one]),
  );
  return {
    ...outcome,
    failed: failed_test_ids.flatMap((id, index) =>
      latestIn.get(keyOf(id, failed_in[index]!)) ?? latest.get(id) ?? []
    ),
    flaky: retried_test_ids.flatMap((id) => latest.get(id) ?? []),
    // Another workflow of the same commit repairs nothing, and a build that is not whole proves nothing.
    newerPassed: newer.filter((one) => one.whole !== false && commitOf(one) !== commitOf(outcome))
      .length,
  };
}

const commitOf = ({ submissions }: BuildOutcome) => submissions[0]?.commit_oid;

async function findSubmissions(repo: Repo, wanted: Wanted): Promise<Submission[]> {
  const { build_url, commit, pull, branch } = wanted;
  const isBase = [build_url, commit, pull, branch].every((one) => one === undefined);
  const isOfNewest = !isBase && build_url === undefined && commit === undefined;
  const branches = isBase ? await baseBranchOf(repo) : branch;
  if (branches === "") return [];
  const found: Submission[] = [];
  const isFound = (one: Submission) =>
    isWanted(one, wanted) && (!isOfNewest || isSameCommit(one, found[0] ?? one));
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { submissions, metadata } = await repo.get({
      path: pathOf(repo, "submissions"),
      query: { limit: PAGE_SIZE, branch: branches, after },
      notFound: unknownRepository(`${repo.owner}/${repo.name}`),
    }, submissionsPage);
    for (const one of submissions) if (isFound(one)) found.push(one);
    // The submissions of a build, and of a commit mostly, arrive together.
    const isEnough = found.length > 0 && !isFound(submissions.at(-1)!) || isBase;
    if (isEnough || metadata.after === null) break;
    after = metadata.after;
  }
  return found;
}

function isSameCommit(one: Submission, newest: Submission): boolean {
  return one === newest || newest.commit_oid !== "" && one.commit_oid === newest.commit_oid;
}

/** `""` where no upload names its branch. */
export async function baseBranchOf(repo: Repo): Promise<string> {
  const found = await repo.get({
    path: pathOf(repo, "conclusions"),
    query: { days: 1 },
    notFound: unknownRepository(`${repo.owner}/${repo.name}`),
  }, conclusionsPage);
  return found.base_branch;
}

function isWanted(one: Submission, { build_url, commit, pull }: Wanted): boolean {
  if (build_url !== undefined && trimmed(one.build_url) !== trimmed(build_url)) return false;
  if (commit !== undefined && !one.commit_oid.startsWith(commit.toLowerCase())) return false;
  return pull === undefined || one.pull_number === pull ||
    new RegExp(`^(?:refs/)?(?:pull|merge-requests)/${pull}(?:/|$)`).test(one.branch);
}

const trimmed = (url: string) => url.trim().replace(/\/+$/, "");

/** The attempts that failed, the latest of each test last. */
async function failedAttempts(repo: Repo, parts: readonly Submission[]): Promise<Attempt[]> {
  const read = await Promise.all(parts.map(async (submission) => {
    const { tests } = await repo.get({
      path: pathOf(repo, "submissions", submission.id, "tests"),
      query: { status: "failed", limit: PAGE_SIZE },
      notFound: DELETED_RUN,
    }, attemptsPage);
    return tests.map((test) => ({ ...test, submission }));
  }));
  const byTest = Map.groupBy(read.toReversed().flat(), (one) => one.test_case_id);
  return Array.from(byTest.values(), (ofTest) => {
    const allCauses = ofTest.flatMap(({ causes }) => causes);
    return ofTest.map((one) => ({ ...one, allCauses }));
  }).flat();
}

/** The verdicts on failed tests, as of the uploads in which they failed. */
export async function loadVerdicts(
  repo: Repo,
  failed: readonly Attempt[],
): Promise<Map<string, Verdict>> {
  const failedIn = Map.groupBy(failed, ({ submission }) => submission);
  const found = await Promise.all(
    Array.from(failedIn, ([part, own]) => {
      const tests = own.map((one) => one.test_case_id).join();
      return repo.get({
        path: pathOf(repo, "verdicts"),
        query: { tests, run_submission: part.id, ...runQuery(runOf(part)) },
      }, verdictsPage);
    }),
  );
  return new Map(found.flatMap(({ tests }) => tests).map((one) => [one.id, one]));
}

/** A submission as the gate describes its run. */
function runOf(part: Submission): CiRun {
  const { job, environment, shard, attempt, branch } = part;
  return {
    ...{ job, environment, shard, attempt, branch },
    buildUrl: part.build_url,
    commit: part.commit_oid,
    tree: part.tree_oid,
    // The evidence is that of the upload, which knew it.
    queueBase: "",
    pullNumber: String(part.pull_number ?? ""),
  };
}
