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
  failed_without_test: v.optional(v.boolean(), false),
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

const verdictsPage = v.object({ tests: v.array(verdict), base_branch: v.string() });

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
  /** All attempts that failed. */
  attempts: Attempt[];
  failed: Attempt[];
  flaky: Attempt[];
  /** Newer builds of other commits that passed, of those that were searched. */
  newerPassed: number;
  /** Of the latest upload, where that is not the commit of the build. */
  latestCommit: string | null;
}

const pathOf = ({ owner, name }: Repo, ...rest: string[]) => ["api", "repos", owner, name, ...rest];

/** What is said of the builds that are wanted. */
interface FoundBuilds {
  /** The red one that most probably needs work; without one, a build that is not whole, else the latest. */
  build: Build;
  otherRed: Build[];
  /** Older builds of the newest commits that were not read: they are too many. */
  unreadCount: number;
}

/**
 * The red builds of those that are wanted. Of a branch, a pull request or the base branch those of the newest commit of
 * each job are wanted; of the base branch that of the latest red one as well, if none of them is red.
 */
export async function findBuilds(repo: Repo, wanted: Wanted): Promise<FoundBuilds | null> {
  const found = await findSubmissions(repo, wanted);
  const builds = [...Map.groupBy(found, ({ id, build_url }) => build_url || id).values()];
  const orderOf = orderOfCommits(found);
  const isOneCommit = wanted.build_url !== undefined || wanted.commit !== undefined;
  const superseded = isOneCommit ? new Set<string>() : supersededIn(found, orderOf);
  const isCurrent = ({ id }: Pick<Submission, "id">) => !superseded.has(id);
  const outcomes = new Map<Submission[], BuildOutcome>();
  const read = async (build: Submission[]) => {
    const outcome = outcomes.get(build) ?? await loadOutcome(repo, build[0]!);
    outcomes.set(build, outcome);
    return outcome;
  };
  const current = builds.filter((one) => one.some(isCurrent));
  const unreadCount = Math.max(0, current.length - MAX_BUILDS);
  const passed: BuildOutcome[] = [];
  const red: Build[] = [];
  for (const one of current.slice(0, MAX_BUILDS)) {
    const outcome = await read(one);
    const build = isRed(outcome) ? await withAttempts(repo, outcome) : null;
    if (build && isRedIn(build, isCurrent)) red.push(build);
    else passed.push(outcome);
  }
  const newer: BuildOutcome[] = [];
  if (red.length === 0 && isOfBase(wanted)) {
    let redCode: string | undefined;
    for (const one of builds.slice(0, MAX_BUILDS)) {
      // After the latest red build, only others of its commit matter.
      if (redCode !== undefined && codeOf(one[0]!) !== redCode) continue;
      const outcome = await read(one);
      if (isRed(outcome)) {
        redCode = codeOf(one[0]!);
        red.push(await withAttempts(repo, outcome));
      } else if (redCode === undefined) newer.push(outcome);
    }
  }
  const [build, ...otherRed] = worstFirst(red);
  if (!build) {
    const shown = passed.find(({ whole }) => whole === false) ?? passed[0];
    return shown ? { build: await withAttempts(repo, shown), otherRed, unreadCount } : null;
  }
  const newerPassed = countPassed(newer, build, orderOf);
  const latest = found[0]!.commit_oid || null;
  const isLatest = newerPassed > 0 ||
    build.submissions.some(({ commit_oid }) => commit_oid === latest);
  const latestCommit = isLatest ? null : latest;
  return { build: { ...build, newerPassed, latestCommit }, otherRed, unreadCount };
}

/** The builds that most probably need work first, otherwise as given. */
function worstFirst(red: readonly Build[]): Build[] {
  const rankOf = (build: Build) => BLAMES.indexOf(blameOf(build));
  return red.toSorted((a, b) => rankOf(a) - rankOf(b));
}

/** What is said of failures, the most probable to need work first; `undefined` when unknown. */
export const BLAMES = ["yours", "unclear", undefined, "not_yours"];

/** What is said of the failure of a build that most probably needs work; `undefined` when it may be another one. */
function blameOf(
  { failed, failed_test_ids, failed_without_test, whole }: Build,
): string | undefined {
  const isPart = failed_without_test || whole === false || failed.length < failed_test_ids.length;
  const blames = [...failed.map(({ blame }) => blame ?? undefined), ...isPart ? [undefined] : []];
  return BLAMES.find((one) => blames.includes(one));
}

function loadOutcome(repo: Repo, { id }: Submission): Promise<BuildOutcome> {
  return repo.get({
    path: pathOf(repo, "submissions", id, "build"),
    notFound: DELETED_RUN,
  }, buildOutcome);
}

const isRed = ({ failed_test_ids, failed_without_test }: BuildOutcome) =>
  failed_test_ids.length > 0 || failed_without_test;

/** Whether something failed at last in one of the uploads of a build that count, or may have. */
function isRedIn(
  { submissions, failed_test_ids, failed_in, failed_without_test, attempts }: Build,
  counts: (upload: Pick<Submission, "id">) => boolean,
): boolean {
  const byTest = Map.groupBy(attempts, (one) => one.test_case_id);
  const isCounted = (testId: string, index: number) =>
    counts({ id: failed_in[index]! }) ||
    // Of many failures not all are read.
    (byTest.get(testId)?.some(({ submission }) => counts(submission)) ?? true);
  return failed_test_ids.some(isCounted) ||
    failed_without_test && submissions.some((one) => one.failed_without_test && counts(one));
}

/** How many builds of newer commits passed; one that is not whole proves nothing. */
function countPassed(
  newer: readonly BuildOutcome[],
  red: BuildOutcome,
  orderOf: (upload: Submission) => number,
): number {
  const isNewer = ({ submissions: [one] }: BuildOutcome) =>
    orderOf(one!) > orderOf(red.submissions[0]!);
  return newer.filter((one) => one.whole !== false && isNewer(one)).length;
}

/** A build with the latest attempt of each of its failed tests that are read. */
async function withAttempts(repo: Repo, outcome: BuildOutcome): Promise<Build> {
  const { submissions, failed_test_ids, failed_in, retried_test_ids } = outcome;
  const attempts = await failedAttempts(repo, submissions);
  const latest = new Map(attempts.map((one) => [one.test_case_id, one]));
  const keyOf = (testId: string, submissionId: string) => `${testId} ${submissionId}`;
  const latestIn = new Map(
    attempts.map((one) => [keyOf(one.test_case_id, one.submission.id), one]),
  );
  return {
    ...outcome,
    attempts,
    failed: failed_test_ids.flatMap((id, index) =>
      latestIn.get(keyOf(id, failed_in[index]!)) ?? latest.get(id) ?? []
    ),
    flaky: retried_test_ids.flatMap((id) => latest.get(id) ?? []),
    newerPassed: 0,
    latestCommit: null,
  };
}

/** What an upload tests; without a commit its build is one of its own. */
const codeOf = ({ commit_oid, build_url, id }: Submission) => commit_oid || build_url || id;

/**
 * The commits of uploads, the newest first, by number: the later its first upload came, the newer is a commit. An old
 * one may be run again.
 */
function orderOfCommits(newestFirst: readonly Submission[]): (upload: Submission) => number {
  const order = new Map<string, number>();
  for (const one of newestFirst.toReversed()) {
    const code = codeOf(one);
    if (!order.has(code)) order.set(code, order.size);
  }
  return (upload) => order.get(codeOf(upload)) ?? -1;
}

/**
 * The uploads whose job ran at a newer commit since. A job that did not is as it was: a push and its merge with the
 * base branch are two commits, whose jobs may differ, and some jobs run for some changes only.
 */
function supersededIn(
  uploads: readonly Submission[],
  orderOf: (upload: Submission) => number,
): Set<string> {
  const jobOf = ({ job, environment }: Submission) => JSON.stringify([job, environment]);
  const newest = new Map<string, number>();
  for (const one of uploads) {
    newest.set(jobOf(one), Math.max(newest.get(jobOf(one)) ?? 0, orderOf(one)));
  }
  const superseded = uploads.filter((one) => orderOf(one) < newest.get(jobOf(one))!);
  return new Set(superseded.map(({ id }) => id));
}

async function findSubmissions(repo: Repo, wanted: Wanted): Promise<Submission[]> {
  const { build_url, pull, branch } = wanted;
  if (isOfBase(wanted)) {
    const base = await baseBranchOf(repo);
    return base === "" ? [] : await search(repo, { branch: base, maxPages: 1 });
  }
  const isFound = (one: Submission) => isWanted(one, wanted);
  // The submissions of a build arrive together. Of a pull request they tell the branch.
  const isFirst = build_url !== undefined || pull !== undefined;
  const found = await search(repo, { branch, isFound, isFirst });
  const branches = new Set(found.map((one) => one.branch).filter((name) => name !== ""));
  if (pull === undefined || branches.size === 0) return found;
  // Pushes to the branch of a pull request do not name it.
  const isOfPull = (one: Submission) =>
    isFound(one) || one.pull_number === null && branches.has(one.branch);
  const ofBranch = await search(repo, { branch: [...branches].join(), isFound: isOfPull });
  const byId = new Map([...found, ...ofBranch].map((one) => [one.id, one]));
  return [...byId.values()].sort((a, b) => a.id < b.id ? 1 : -1);
}

const isOfBase = (wanted: Wanted) => Object.values(wanted).every((one) => one === undefined);

/** Submissions of a branch or of all, newest first. */
async function search(
  repo: Repo,
  { branch, isFound = () => true, isFirst = false, maxPages = MAX_PAGES }: {
    branch: string | undefined;
    isFound?(one: Submission): boolean;
    /** Only until one is found, and what follows it at once. */
    isFirst?: boolean;
    maxPages?: number;
  },
): Promise<Submission[]> {
  const found: Submission[] = [];
  let after: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const { submissions, metadata } = await repo.get({
      path: pathOf(repo, "submissions"),
      query: { limit: PAGE_SIZE, branch, after },
      notFound: unknownRepository(`${repo.owner}/${repo.name}`),
    }, submissionsPage);
    found.push(...submissions.filter(isFound));
    const isEnough = isFirst && found.length > 0 && !isFound(submissions.at(-1)!);
    if (isEnough || metadata.after === null) break;
    after = metadata.after;
  }
  return found;
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

/** The verdicts on failed tests by id, as of the uploads in which they failed, and the base branch (`""`: unknown). */
export async function loadVerdicts(
  repo: Repo,
  failed: readonly Attempt[],
): Promise<{ byTest: Map<string, Verdict>; base: string }> {
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
  const byTest = new Map(found.flatMap(({ tests }) => tests).map((one) => [one.id, one]));
  return { byTest, base: found[0]?.base_branch ?? "" };
}

/** A submission as the gate describes its run. */
function runOf(part: Submission): CiRun {
  const { job, environment, shard, attempt, branch } = part;
  return {
    ...{ job, environment, shard, attempt, branch },
    buildUrl: part.build_url,
    commit: part.commit_oid,
    tree: part.tree_oid,
    // The evidence is that of the upload, which knew them.
    workflow: "",
    queueBase: "",
    pullNumber: String(part.pull_number ?? ""),
  };
}
