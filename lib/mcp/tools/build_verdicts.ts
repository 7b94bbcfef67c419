// Tests: tests/lib/mcp/server_test.ts tests/lib/mcp/tools/get_build_verdicts_test.ts
/** The tool that says of one build what failed, whether its change is the cause, and what to do. */
import * as v from "valibot";
import { NO_TEXT } from "../../analysis/failure_causes.ts";
import { ownersOf } from "../../analysis/test_tags.ts";
import { type CiRun, runQuery } from "../../api_client/run_query.ts";
import { isKnownFor } from "../../gate/rule.ts";
import {
  defineTool,
  described,
  type Get,
  integer,
  pageOfRepository,
  repositoryPath,
  testEntries,
  timestamp,
  unknownRepository,
} from "./tool.ts";

/** Failed tests that are shown; the rest is counted. */
const MAX_TESTS = 10;

/** Of the output, so that ten failures are no burden to a conversation. */
const MAX_OUTPUT_BYTES = 3_990;

/** Characters of names and messages, tried until the output is small enough. */
const LONG_LIMITS = [160, 120, 100, 80, 70, 60, 50, 40];
const SHORT_LIMITS = [35, 30, 25, 20, 15];

/** Of the messages of one cause but the first. */
const MIN_TEXT_CHARACTERS = 15;

/** A shorter name may stand for many tests. */
const MIN_NAME_CHARACTERS = 40;

/** The largest page of the API, and how many of them are searched for a build. */
const PAGE_SIZE = 100;
const MAX_PAGES = 5;

/** Builds that are searched for the latest red one. */
const MAX_BUILDS = 30;

/** As the gate calls it. */
const NEW_CAUSE = "quarantined, new cause";

/** Of what says that a run is not whole. */
const MAX_REASON_CHARACTERS = 300;

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
type Submission = v.InferOutput<typeof submission>;

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
  is_disruption: v.boolean(),
  causes: v.array(v.string()),
  ...conclusion,
});
type Attempt = v.InferOutput<typeof attempt> & {
  submission: Submission;
  /** Fingerprints of all its failures in the build; some may repeat. */
  allCauses: string[];
};

const attemptsPage = v.object({ count: v.number(), tests: v.array(attempt) });

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
});
type Verdict = v.InferOutput<typeof verdict>;

const verdictsPage = v.object({ tests: v.array(verdict) });

const conclusionsPage = v.object({ base_branch: v.string() });

const testDetails = v.object({ tags: v.array(v.string()) });

/** Without empty texts and unknown facts. */
const failedTest = v.object({
  id: v.string(),
  name: v.string(),
  suite: v.optional(v.string()),
  class: v.optional(v.string()),
  file: v.optional(v.string()),
  owners: v.array(v.string()),
  verdict: described(v.string(), "new, known, flaky, quarantined, new cause"),
  evidence: v.optional(v.string()),
  blame: described(v.optional(v.string()), "not_yours, unclear or yours"),
  cause: described(v.string(), "Fingerprint"),
  message: v.string(),
  last_seen: described(v.nullable(v.string()), "Last in another build"),
  web_url: v.string(),
});
type FailedTest = v.InferOutput<typeof failedTest>;

export const getBuildVerdicts = defineTool({
  name: "get_build_verdicts",
  description:
    "Which failures made a build red, whether its change caused them, and what to do. Give build_url, commit, " +
    "pull or branch; none: the latest red build of the base branch. Next: get_test_details",
  input: {
    repository: repositoryPath,
    build_url: v.optional(v.string()),
    commit: described(v.optional(v.string()), "At least 7 digits"),
    pull: described(v.optional(v.pipe(v.number(), v.integer())), ""),
    branch: v.optional(v.string()),
  },
  output: {
    build: v.nullable(v.object({
      submission_id: v.string(),
      build_url: v.string(),
      commit_oid: v.string(),
      branch: v.string(),
      recorded_at: timestamp,
      failed_count: integer("Failed tests"),
    })),
    failed_without_test: v.boolean(),
    failed: described(v.array(failedTest), `${MAX_TESTS} at most, new ones first`),
    flaky: described(
      v.array(v.object({ id: v.string(), name: v.string() })),
      "Passed on a retry",
    ),
    whole: described(
      v.nullable(v.boolean()),
      "All usual tests ran; null: unknown",
    ),
    next_step: v.string(),
  },
  page: ({ repository: { owner, name } }) => pageOfRepository(`${owner}/${name}`),
  async run({ repository, ...given }, get, { webUrl }) {
    const wanted = withoutEmpty(given);
    const repo = { ...repository, get };
    const found = await findBuild(repo, wanted);
    if (found === null) return { ...NOTHING, next_step: nothingFound(wanted) };
    const { failed, flaky, failed_without_test } = found;
    const [latest] = found.submissions as [Submission];
    const byTest = await loadVerdicts(repo, failed);
    const shown = failed.map((one) => ({
      one,
      verdict: verdictIn(latest, one, byTest.get(one.test_case_id)),
    }))
      .sort((a, b) => rankOf(a) - rankOf(b));
    const tests = await Promise.all(
      shown.slice(0, MAX_TESTS).map(async ({ one, verdict }) =>
        view(one, { verdict, owners: await ownersOfTest(repo, one, verdict), webUrl })
      ),
    );
    const web = ["repos", repository.owner, repository.name, "builds", latest.id]
      .map(encodeURIComponent).join("/");
    return shortened({
      build: {
        submission_id: latest.id,
        build_url: latest.build_url,
        commit_oid: latest.commit_oid,
        branch: latest.branch,
        recorded_at: latest.recorded_at,
        failed_count: found.failed_test_ids.length,
      },
      failed_without_test,
      failed: tests,
      flaky: flaky.slice(0, MAX_TESTS).map(({ test_case_id: id, name }) => ({
        id,
        name: cut(name, MIN_NAME_CHARACTERS),
      })),
      whole: found.whole,
      next_step: nextStep(tests, found),
      web_url: `${webUrl}/${web}`,
    });
  },
});

interface Repo {
  owner: string;
  name: string;
  get: Get;
}

interface Wanted {
  build_url?: string | undefined;
  commit?: string | undefined;
  pull?: number | undefined;
  branch?: string | undefined;
}

/** Agents fill in optional values with `""` and 0: they are ignored, as the API ignores empty parameters. */
function withoutEmpty({ build_url, commit, pull, branch }: Wanted): Wanted {
  return {
    build_url: build_url?.trim() || undefined,
    commit: commit?.trim() || undefined,
    pull: pull || undefined,
    branch: branch?.trim() || undefined,
  };
}

/** A build, with an attempt of each test that failed at last, or before. */
interface Build extends BuildOutcome {
  failed: Attempt[];
  flaky: Attempt[];
}

const NOTHING = { build: null, failed_without_test: false, failed: [], flaky: [], whole: null };

const pathOf = ({ owner, name }: Repo, ...rest: string[]) => ["api", "repos", owner, name, ...rest];

/** The latest red build of those that are wanted; otherwise, where one is named, the latest. */
async function findBuild(repo: Repo, wanted: Wanted): Promise<Build | null> {
  const found = await findSubmissions(repo, wanted);
  const builds = [...Map.groupBy(found, ({ id, build_url }) => build_url || id).values()];
  let latest: BuildOutcome | null = null;
  for (const [{ id }] of builds.slice(0, MAX_BUILDS) as [Submission][]) {
    const outcome = await repo.get({
      path: pathOf(repo, "submissions", id, "build"),
      notFound: DELETED,
    }, buildOutcome);
    latest ??= outcome;
    const isRed = outcome.failed_test_ids.length > 0 || outcome.failed_without_test;
    if (isRed) return await withAttempts(repo, outcome);
  }
  return latest && await withAttempts(repo, latest);
}

const DELETED = "A CI run was deleted while it was read. Call again.";

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
    failed: failed_test_ids.flatMap((id, index) =>
      latestIn.get(keyOf(id, failed_in[index]!)) ?? latest.get(id) ?? []
    ),
    flaky: retried_test_ids.flatMap((id) => latest.get(id) ?? []),
  };
}

async function findSubmissions(repo: Repo, wanted: Wanted): Promise<Submission[]> {
  const { build_url, commit, pull, branch } = wanted;
  const isNamed = [build_url, commit, pull].some((one) => one !== undefined);
  const branches = branch ?? (isNamed ? undefined : await baseBranchOf(repo));
  const found: Submission[] = [];
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { submissions, metadata } = await repo.get({
      path: pathOf(repo, "submissions"),
      query: { limit: PAGE_SIZE, branch: branches, after },
      notFound: unknownRepository(`${repo.owner}/${repo.name}`),
    }, submissionsPage);
    found.push(...submissions.filter((one) => isWanted(one, wanted)));
    // The submissions of a build, and of a commit mostly, arrive together.
    const isEnough = found.length > 0 && !isWanted(submissions.at(-1)!, wanted) || !isNamed;
    if (isEnough || metadata.after === null) break;
    after = metadata.after;
  }
  return found;
}

async function baseBranchOf(repo: Repo): Promise<string> {
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
      notFound: DELETED,
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
async function loadVerdicts(
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

/** The verdict as the page of the build has it, and the latest failures in other builds. */
function verdictIn(
  { build_url }: Submission,
  { allCauses }: Attempt,
  found: Verdict | undefined,
): Verdict | undefined {
  if (!found) return undefined;
  const isOther = (result: Verdict["recent_base_negative_result"]) =>
    result === null || build_url !== "" && result.build_url === build_url ? null : result;
  // An attempt without a text has no cause: another attempt has it.
  const known = allCauses.filter((cause) => cause !== NO_TEXT);
  const [fingerprint = NO_TEXT, ...otherFingerprints] = known;
  const isNewCause = found.verdict === "quarantined" &&
    !isKnownFor({ fingerprint, otherFingerprints }, found.causes);
  return {
    ...found,
    verdict: isNewCause ? NEW_CAUSE : found.verdict,
    recent_base_negative_result: isOther(found.recent_base_negative_result),
    recent_nondeterministic_negative_result: isOther(found.recent_nondeterministic_negative_result),
  };
}

const BLAMES = ["yours", "unclear", undefined, "not_yours"];
const RANKED_VERDICTS: readonly string[] = ["new", NEW_CAUSE, "known", "flaky", "quarantined"];

/** What most probably needs work comes first. */
function rankOf({ one, verdict }: { one: Attempt; verdict: Verdict | undefined }): number {
  const blame = one.blame ?? verdict?.blame ?? undefined;
  return BLAMES.indexOf(blame) * RANKED_VERDICTS.length +
    RANKED_VERDICTS.indexOf(verdict?.verdict ?? "new");
}

async function ownersOfTest(
  repo: Repo,
  { test_case_id }: Attempt,
  verdict: Verdict | undefined,
): Promise<string[]> {
  if (verdict?.owners) return verdict.owners;
  return ownersOf((await repo.get({ path: ["api", "tests", test_case_id] }, testDetails)).tags);
}

function view(
  { test_case_id: id, name, suite, class: className, file, message, causes, ...found }: Attempt,
  { verdict, owners, webUrl }: {
    verdict: Verdict | undefined;
    owners: string[];
    webUrl: string;
  },
): FailedTest {
  const evidence = found.evidence ?? verdict?.evidence;
  const blame = found.blame ?? verdict?.blame;
  const last = [
    verdict?.recent_nondeterministic_negative_result,
    verdict?.recent_base_negative_result,
  ].flatMap((result) => result?.recorded_at ?? []).sort().at(-1);
  return {
    id,
    name,
    ...suite && { suite },
    ...className && className !== suite && { class: className },
    ...file && { file },
    owners,
    verdict: verdict?.verdict ?? "new",
    ...evidence && { evidence },
    ...blame && { blame },
    cause: causes[0] ?? NO_TEXT,
    message: message ?? "",
    last_seen: last ?? null,
    web_url: `${webUrl}/tests/${id}`,
  };
}

/** What to do, in one or two sentences. */
function nextStep(
  tests: readonly FailedTest[],
  { failed_test_ids, failed_without_test: isRed, whole, not_whole }: BuildOutcome,
): string {
  const count = failed_test_ids.length;
  const why = cut(not_whole.join("; "), MAX_REASON_CHARACTERS);
  const partly = whole === false
    ? ` The run is not whole (${why}): look at the log of the job, too.`
    : "";
  const red = isRed ? "A job ended red without a failed test: look at its log. " : "";
  const [first] = tests;
  if (!first) {
    if (isRed) return red.trim() + partly;
    return whole === false
      ? `No test failed, but the run is not whole (${why}): look at the log of the job.`
      : "No test failed. If the job is red, look at its log.";
  }
  const isYours = ({ verdict, blame }: FailedTest) =>
    blame === undefined ? verdict === "new" : blame !== "not_yours";
  const yours = tests.filter(isYours).length;
  if (yours === 0) {
    return `${red}None of the ${count} is probably due to the change: run the job again.${partly}`;
  }
  const owners = first.owners.length > 0 ? `; ask ${first.owners.join(", ")}` : "";
  return `${red}Begin with the first test: get_test_details has its stack traces and passes${owners}. ` +
    `Tests with one cause have one reason.${partly}`;
}

function nothingFound({ build_url, commit, pull, branch }: Wanted): string {
  const what = build_url ?? commit ?? (pull === undefined ? branch : `pull request ${pull}`);
  return what === undefined
    ? "No build of the base branch in 14 days: give a branch. " +
      "list_recent_submissions has those that there are."
    : `No build of ${what} in 14 days: list_recent_submissions has those that there are.`;
}

/**
 * Makes an output small enough: first by what another field says as well, then by the ends of long texts, and
 * the beginnings of long paths.
 */
function shortened<Output extends { failed: FailedTest[] }>(output: Output): Output {
  const cutTo = (limit: number) => (tests: FailedTest[]) =>
    tests.map((test) => cutTexts(test, limit));
  const steps = [
    withShortRepeats,
    // get_test_details has them.
    (tests: FailedTest[]) =>
      tests.map(({ suite, ...test }) => test.class || !suite ? test : { ...test, suite }),
    (tests: FailedTest[]) =>
      tests.map(({ class: name, ...test }) => test.file || !name ? test : { ...test, class: name }),
    ...LONG_LIMITS.map(cutTo),
    (tests: FailedTest[]) => tests.map(({ file: _, ...test }) => test),
    ...SHORT_LIMITS.map(cutTo),
  ];
  let { failed } = output;
  for (const step of steps) {
    const text = JSON.stringify({ ...output, failed });
    if (new TextEncoder().encode(text).length <= MAX_OUTPUT_BYTES) break;
    failed = step(failed);
  }
  return { ...output, failed };
}

/** Leaves the whole message to the first test of each cause. */
function withShortRepeats(tests: FailedTest[]): FailedTest[] {
  const seen = new Set<string>();
  return tests.map((test) => {
    const isRepeat = seen.has(test.cause);
    seen.add(test.cause);
    return isRepeat ? { ...test, message: cut(test.message, MIN_TEXT_CHARACTERS) } : test;
  });
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()}...` : text;
}

function cutTexts(test: FailedTest, limit: number): FailedTest {
  const { name, suite, class: className, file, message } = test;
  return {
    ...test,
    name: cut(name, Math.max(limit, MIN_NAME_CHARACTERS)),
    message: cut(message, limit),
    ...suite && { suite: cut(suite, limit) },
    ...className && { class: cut(className, limit) },
    ...file && { file: file.length > limit ? `...${file.slice(-limit).toWellFormed()}` : file },
  };
}
