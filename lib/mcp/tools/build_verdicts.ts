// Tests: tests/lib/mcp/server_test.ts tests/lib/mcp/tools/get_build_verdicts_test.ts
/** The tool that says of one build what failed, whether its change is the cause, and what to do. */
import * as v from "valibot";
import { shortCommit } from "../../base/commit.ts";
import { plural } from "../../base/text.ts";
import { UNKNOWN_CAUSE } from "../../analysis/failure_groups.ts";
import { compareVerdicts, NEW_CAUSE } from "../../analysis/verdict.ts";
import { isKnownForAll } from "../../gate/rule.ts";
import {
  type Attempt,
  baseBranchOf,
  BLAMES,
  type Build,
  findBuilds,
  loadVerdicts,
  type Repo,
  type Submission,
  type Verdict,
  type Wanted,
} from "./find_build.ts";
import {
  defineTool,
  described,
  integer,
  loadOwners,
  narrowingArgument,
  pageOfRepository,
  repositoryPath,
  timestamp,
} from "./tool.ts";

/** Failed tests that are shown; the rest is counted. */
const MAX_TESTS = 10;

/** Other red builds that are shown, and named in a sentence. */
const MAX_BUILDS = 3;
const MAX_NAMED_BUILDS = 2;

/** Of the address of another build. */
const MAX_ADDRESS_CHARACTERS = 100;

/** Of the output, so that ten failures are no burden to a conversation. */
const MAX_OUTPUT_BYTES = 3_990;

/** Characters of names and messages, tried until the output is small enough. */
const LONG_LIMITS = [160, 120, 100, 80, 70, 60, 50, 40];
const SHORT_LIMITS = [35, 30, 25, 20, 15];

/** Of the messages of one cause but the first. */
const MIN_TEXT_CHARACTERS = 15;

/** A shorter name may stand for many tests. */
const MIN_NAME_CHARACTERS = 40;

/** Of what says that a run is not whole. */
const MAX_REASON_CHARACTERS = 300;

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
  last_seen: described(v.nullable(v.string()), "In another build"),
  web_url: v.string(),
});
type FailedTest = v.InferOutput<typeof failedTest>;

export const getBuildVerdicts = defineTool({
  name: "get_build_verdicts",
  description:
    "Which failures made a build red, whether its change caused them, what to do. Give build_url, commit, " +
    "pull or branch; none: the base branch's latest red build. Next: get_test_details",
  input: {
    repository: repositoryPath,
    build_url: narrowingArgument("build_url"),
    commit: narrowingArgument("commit", "At least 7 digits"),
    pull: v.optional(
      v.pipe(
        integer(""),
        v.minValue(1, ({ received }) => `invalid pull ${received}: give a number or leave it out`),
      ),
    ),
    branch: narrowingArgument("branch"),
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
    failed: described(v.array(failedTest), `${MAX_TESTS} at most`),
    flaky: described(
      v.array(v.object({ id: v.string(), name: v.string() })),
      "Passed on a retry",
    ),
    whole: described(
      v.nullable(v.boolean()),
      "All tests ran; null: unknown",
    ),
    other_red_builds: v.array(v.string()),
    next_step: v.string(),
  },
  page: ({ repository: { owner, name } }) => pageOfRepository(`${owner}/${name}`),
  async run({ repository, ...wanted }, get, { webUrl }) {
    const repo = { ...repository, get };
    const builds = await findBuilds(repo, wanted);
    if (builds === null) {
      const nothing = { failed_without_test: false, failed: [], flaky: [], whole: null };
      const others = { other_red_builds: [] };
      return { build: null, ...nothing, ...others, next_step: await nothingFound(repo, wanted) };
    }
    const { build: found, otherRed, unreadCount } = builds;
    const { failed, flaky, failed_without_test } = found;
    const [latest] = found.submissions as [Submission];
    const { byTest, base } = await loadVerdicts(repo, failed);
    const shown = failed.map((one) => {
      const verdict = verdictIn(latest, one, byTest.get(one.test_case_id));
      return viewOf(one, { verdict, webUrl });
    }).sort(compareFailures).slice(0, MAX_TESTS);
    const tests = await Promise.all(shown.map(async (test) => {
      const owners = byTest.get(test.id)?.owners ?? await loadOwners(get, test.id);
      return { ...test, owners };
    }));
    // A flaky test may pass when it runs again, even if it failed last on the base branch.
    const isFlaky = ({ id }: FailedTest) =>
      Boolean(byTest.get(id)?.recent_nondeterministic_negative_result);
    const brokenOnBase = tests.filter((one) => one.evidence === "fails_on_base" && !isFlaky(one));
    const broken = { base, count: brokenOnBase.length };
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
      other_red_builds: otherRed.slice(0, MAX_BUILDS).map(nameOfBuild),
      // Long texts are cut at the end.
      next_step: sayNewer(found) + sayOthers(otherRed) + nextStep(tests, found, broken) +
        sayUnread(unreadCount),
      web_url: `${webUrl}/${web}`,
    });
  },
});

/** The verdict as the page of the build has it, and the latest failures in other builds. */
function verdictIn(
  { build_url }: Submission,
  { allCauses }: Attempt,
  found: Verdict | undefined,
): Verdict | undefined {
  if (!found) return undefined;
  const isOther = (result: Verdict["recent_base_negative_result"]) =>
    result === null || build_url !== "" && result.build_url === build_url ? null : result;
  const isNewCause = found.verdict === "quarantined" && !isKnownForAll(allCauses, found.causes);
  return {
    ...found,
    verdict: isNewCause ? NEW_CAUSE : found.verdict,
    recent_base_negative_result: isOther(found.recent_base_negative_result),
    recent_nondeterministic_negative_result: isOther(found.recent_nondeterministic_negative_result),
  };
}

/** What most probably needs work comes first. */
function compareFailures(a: FailedTest, b: FailedTest): number {
  return BLAMES.indexOf(a.blame) - BLAMES.indexOf(b.blame) || compareVerdicts(a.verdict, b.verdict);
}

/** A failed test, whose owners are added later. */
function viewOf(
  { test_case_id: id, name, suite, class: className, file, message, causes, ...found }: Attempt,
  { verdict, webUrl }: { verdict: Verdict | undefined; webUrl: string },
): FailedTest {
  const evidence = found.evidence ?? verdict?.evidence;
  const blame = found.blame ?? verdict?.blame;
  const last = [
    verdict?.recent_nondeterministic_negative_result?.recorded_at,
    verdict?.recent_base_negative_result?.recorded_at,
    // Older than these may be: the evidence is that of a year.
    verdict?.evidence === "passed_here" ? null : verdict?.evidence_recorded_at,
  ].flatMap((recordedAt) => recordedAt ?? []).sort().at(-1);
  return {
    id,
    name,
    ...suite && { suite },
    ...className && className !== suite && { class: className },
    ...file && { file },
    owners: [],
    verdict: verdict?.verdict ?? "new",
    ...evidence && { evidence },
    ...blame && { blame },
    cause: causes[0] ?? UNKNOWN_CAUSE,
    message: message ?? "",
    last_seen: last ?? null,
    web_url: `${webUrl}/tests/${id}`,
  };
}

/** So that what is repaired already is not repaired again, and what is not repaired is not taken for it. */
function sayNewer({ newerPassed: count, latestCommit, submissions: [latest] }: Build): string {
  const { branch, commit_oid: commit } = latest!;
  if (latestCommit !== null && commit !== "") {
    return `This is commit ${shortCommit(commit)}, the latest upload is of ` +
      `${shortCommit(latestCommit)}. `;
  }
  if (count === 0) return "";
  const builds = count === 1 ? "A newer build" : `${count} newer builds`;
  return `${builds} of ${cut(branch, MIN_NAME_CHARACTERS)} passed. `;
}

/** Its address; of one without, or with a long one, what the other tools take. */
function nameOfBuild({ submissions: [latest] }: Build): string {
  const { id, build_url } = latest!;
  return build_url === "" || build_url.length > MAX_ADDRESS_CHARACTERS
    ? `submission ${id}`
    : build_url;
}

/** So that one build is not taken for all that is red. */
function sayOthers(otherRed: readonly Build[]): string {
  if (otherRed.length === 0) return "";
  const named = otherRed.slice(0, MAX_NAMED_BUILDS).map(nameOfBuild);
  const more = otherRed.length - named.length;
  const rest = more === 0 ? "" : ` and ${more} more`;
  return `${plural(otherRed.length, "other build")} ${otherRed.length === 1 ? "is" : "are"} red: ` +
    `${named.join(", ")}${rest}. `;
}

function sayUnread(count: number): string {
  return count === 0 ? "" : ` ${plural(count, "older build")} of other jobs were not read.`;
}

/** What to do, in one or two sentences. */
function nextStep(
  tests: readonly FailedTest[],
  build: Build,
  broken: { base: string; count: number },
): string {
  const { failed_without_test: isRed, whole, not_whole, submissions } = build;
  const why = cut(not_whole.join("; "), MAX_REASON_CHARACTERS);
  const partly = whole === false
    ? ` The run is not whole (${why}): look at the log of the job, too.`
    : "";
  const red = isRed ? "A job ended red without a failed test: look at its log. " : "";
  const [first] = tests;
  if (!first) {
    if (isRed) return red.trim() + partly;
    if (submissions.every(({ status }) => status !== "processed")) {
      return `Its tests are not known (${why}): look at the log of the job.`;
    }
    return whole === false
      ? `No test failed, but the run is not whole (${why}): look at the log of the job.`
      : "No test failed. If the job is red, look at its log.";
  }
  const isYours = ({ verdict, blame }: FailedTest) =>
    blame === undefined ? verdict === "new" : blame !== "not_yours";
  const yours = tests.filter(isYours).length;
  if (yours === 0) {
    return red + sayNotYours(tests, build, broken) + partly;
  }
  const owners = first.owners.length > 0 ? `; ask ${first.owners.join(", ")}` : "";
  return `${red}Begin with the first test: get_test_details has its stack traces and passes${owners}. ` +
    `Tests with one cause have one reason.${partly}`;
}

/** What to do about failures that are not due to the change: what is broken fails again. */
function sayNotYours(
  tests: readonly FailedTest[],
  { failed_test_ids: { length: count }, submissions: [latest], newerPassed }: Build,
  { base, count: broken }: { base: string; count: number },
): string {
  const isOutage = tests.every(({ evidence }) => evidence === "outage");
  const again = `run the job again${isOutage ? " when the outage is over" : ""}.`;
  const none = `None of the ${count} is probably due to the change`;
  if (broken === 0) return `${none}: ${again}`;
  const isOnBase = latest!.branch === base;
  const place = base || "the base branch";
  const subject = count === 1 ? "It" : `${broken} of ${isOnBase ? `the ${count}` : "them"}`;
  const said = isOnBase
    ? `${subject} failed the same way in the run before on ${place}: probably broken there. ` +
      `${newerPassed > 0 ? "See whether that is repaired" : "Fix or revert that"}; ` +
      "running again does not help."
    : `${none}. ${subject} failed last on ${place}, too: running again does not help until that is ` +
      "repaired there.";
  const others = broken < tests.length ? ` For the others, ${again}` : "";
  return `${said} get_test_evidence says since which commit.${others}`;
}

async function nothingFound(
  repo: Repo,
  { build_url, commit, pull, branch }: Wanted,
): Promise<string> {
  const what = build_url ?? commit ?? (pull === undefined ? branch : `pull request ${pull}`);
  const others = "list_recent_submissions has those that there are.";
  if (what !== undefined) return `No build of ${what} in 14 days: ${others}`;
  return await baseBranchOf(repo) === ""
    ? `No upload names its branch: add branch= to the upload, and give a commit here. ${others}`
    : `No build of the base branch in 14 days: give a branch. ${others}`;
}

/**
 * Makes an output small enough: first by what another field says as well, then by the ends of long texts and
 * the beginnings of long paths, at last by the tests that matter least.
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
  const isLong = () =>
    new TextEncoder().encode(JSON.stringify({ ...output, failed })).length > MAX_OUTPUT_BYTES;
  for (const step of steps) {
    if (!isLong()) break;
    failed = step(failed);
  }
  while (failed.length > 1 && isLong()) failed = failed.slice(0, -1);
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
