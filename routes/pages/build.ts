// Tests: tests/routes/build_page_test.ts
/** `/repos/{owner}/{name}/builds/{submission id}`: one build, with all its submissions. */
import { type BuildFailure, loadBuildFailures } from "../../db/read/build_failures.ts";
import { loadCauses } from "../../db/read/causes.ts";
import {
  type ConclusionsOfTests,
  loadBuildConclusions,
  type ShownConclusion,
  storedMassFailure,
} from "../../db/read/conclusions.ts";
import { loadJobRuns, loadMissingPlaces } from "../../db/read/job_runs.ts";
import { loadRepositoryDetails, type RepositoryDetails } from "../../db/read/repositories.ts";
import { type BuildPart, loadBuild } from "../../db/read/submissions.ts";
import { loadTexts } from "../../db/read/texts.ts";
import { NO_TEXT } from "../../lib/analysis/failure_causes.ts";
import type { FailureText } from "../../lib/analysis/failure_texts.ts";
import { medianOf } from "../../lib/analysis/test_counts.ts";
import { type Verdict, verdictOf } from "../../lib/analysis/verdict.ts";
import { parseTestId } from "../../lib/base/identity.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import { formatCount, plural } from "../../lib/base/text.ts";
import { basePatterns } from "../../lib/evidence/base_branch.ts";
import { sayBlames, sayConclusion, sayDay } from "../../lib/evidence/said.ts";
import { type Blame, BLAMES } from "../../lib/evidence/shares.ts";
import { sayNotWhole } from "../../lib/gate/missing_places.ts";
import { isKnownFor } from "../../lib/gate/rule.ts";
import { buildName } from "../../lib/html/forge_links.ts";
import { glyph } from "../../lib/html/charts.ts";
import {
  band,
  factLine,
  failureDetails,
  type KeyFigure,
  label,
  testName,
} from "../../lib/html/elements.ts";
import { externalAddress, externalLink, type Markup, markup } from "../../lib/html/markup.ts";
import { definePage, type PageRequest, placeOf, someTests } from "./page.ts";

/** Maximum number of failed tests that are shown with their texts. */
const MAX_SHOWN = 100;

export const buildPage = definePage({
  path: "/repos/:owner/:name/builds/:id",
  resource: "submission in path",
  async show(page) {
    const [[repository], parts] = await Promise.all([
      page.load(loadRepositoryDetails, {}),
      page.load(loadBuild, {}),
    ]);
    const [latest] = parts as [BuildPart];
    const failures = await page.load(loadBuildFailures, {
      submissionIds: parts.map(({ submissionId }) => submissionId),
    });
    const failed = failures.filter(({ isFailed }) => isFailed);
    const retried = failures.filter(({ isFailed }) => !isFailed);
    const { baseBranch, conclusions } = await page.load(loadBuildConclusions, {
      submissionIds: parts.map(({ submissionId }) => submissionId),
    });
    const environmentOf = new Map(
      parts.map(({ submissionId, environment }) => [submissionId, environment]),
    );
    const judged = await withVerdicts(page, failed, { conclusions, environmentOf });
    const missing = await missingTests(page, parts, baseBranch);
    const { status } = parts.find(({ status }) => status !== "processed") ?? latest;
    return {
      title: `Build ${buildName(latest)}`,
      crumbs: [
        page.link.repositories,
        page.link.repository(repository!),
        page.link.builds(repository!),
      ],
      content: markup`<h1><bdi>Build ${buildName(latest)}</bdi></h1>
${answer(parts, { failed: judged, retriedCount: retried.length, missing, status })}
${
        failed.length > 0 &&
        await failedTests(judged, baseBranch, { ...page, repository: repository! })
      }
${
        retried.length > 0 && markup`<h2>Passed after a retry</h2>
${listOf(await shownTests(retried, page))}`
      }
${buildFacts(parts, repository!, page)}
${buildNotes(parts)}`,
    };
  },
});

/** Whether the build failed, and whose that is. */
function answer(
  parts: readonly BuildPart[],
  { failed, retriedCount, missing, status }: {
    failed: readonly JudgedFailure[];
    retriedCount: number;
    missing: readonly string[];
    status: BuildPart["status"];
  },
): Markup {
  const jobs = redJobs(parts);
  const limits = [
    ...jobs.map((text) => markup`<p><b>Ended red without a failed test</b>: ${text}</p>`),
    ...missing.map((text) => markup`<p><b>Not whole</b>: ${text}</p>`),
  ];
  if (failed.length > 0) {
    const blames = failed.flatMap(({ conclusion }) => conclusion?.blame ?? []);
    const unknown = failed.length - blames.length;
    const ran = parts.length === 1 ? parts[0]!.ranTestCount : null;
    const tone = blames.includes("yours")
      ? "failed"
      : blames.includes("unclear") || unknown > 0 || limits.length > 0
      ? "unclear"
      : "neutral";
    // What is missing comes first: what failed is not all.
    const whose = sayBlames(blames, { unknown, ran });
    return band(tone, whose, limits, massFailureNote(parts));
  }
  if (status !== "processed") return band("neutral", NO_FAILURES[status]);
  if (jobs.length > 0) {
    return band("failed", "Red without a failed test: the log of the job says why.", limits);
  }
  if (missing.length > 0) {
    return band("unclear", "No test failed, but not all of them ran.", limits);
  }
  const flaky = retriedCount > 0 && `, ${formatCount(retriedCount)} after a retry`;
  return band("passed", markup`All tests passed${flaky}.`, markup`<p>${NO_FAILURES.processed}</p>`);
}

/** What to say of uploads in which many tests failed: an outage, or together on this branch alone. */
function massFailureNote(parts: readonly BuildPart[]): Markup[] {
  const where = ({ job, environment }: BuildPart) =>
    [job, environment].filter((text) => text !== "").join(", ");
  return parts.flatMap((part) => {
    const kind = storedMassFailure(part);
    if (kind === null) return [];
    const place = where(part) && ` (${where(part)})`;
    const count = `${formatCount(part.failedTestCount)} of ${
      plural(part.ranTestCount ?? 0, "test")
    }`;
    return kind === "outage"
      ? markup`<p><b>Outage</b>${place}: ${count} failed, as on other branches in the last two hours, so the
change is probably not the cause. The gate excuses nothing.</p>`
      : markup`<p><b>Together</b>${place}: ${count} failed, on this branch alone, so the change is the probable
cause. The gate excuses nothing.</p>`;
  });
}

/** The jobs of a build that ended red without a failed test, with their exit codes. */
function redJobs(parts: readonly BuildPart[]): string[] {
  return parts.filter(({ failedWithoutTest }) => failedWithoutTest)
    .map(({ job, exitCode }) => `exit code ${exitCode}${job && ` of ${job}`}`);
}

/** Uploads with jobs that are compared with the base branch. */
const MAX_COMPARED = 20;
/** Fewer say nothing about how many tests a job has. */
const MIN_JOB_RUNS = 3;
/** Fewer of the usual tests are a run that is not whole. */
const MIN_PERCENT = 95;

/** What says that the runs of a build are not whole: `212 of about 482 tests ran`. */
async function missingTests(
  { load }: PageRequest,
  parts: readonly BuildPart[],
  baseBranch: string,
): Promise<string[]> {
  const named = parts.filter(({ job, status }) => job !== "" && status === "processed");
  const found = await Promise.all(
    named.slice(0, MAX_COMPARED).map(async (part) => {
      const ofJob = { ...part, base: basePatterns(baseBranch) };
      const [runs, places] = await Promise.all([
        load(loadJobRuns, ofJob),
        load(loadMissingPlaces, ofJob),
      ]);
      const counts = runs.map(({ ranTestCount }) => ranTestCount);
      const usual = counts.length >= MIN_JOB_RUNS ? medianOf(counts)! : 0;
      const ran = part.ranTestCount ?? usual;
      const missing = ran * 100 < usual * MIN_PERCENT
        ? `${formatCount(ran)} of about ${formatCount(usual)} tests ran`
        : null;
      const said = sayNotWhole({ missing, places, cutOffCount: 0 });
      return said === null ? [] : [`${said} (${part.job})`];
    }),
  );
  return found.flat();
}

/** As the gate calls it. */
const NEW_CAUSE = "quarantined, new cause";

type ShownVerdict = Verdict | typeof NEW_CAUSE;

/** New failures first. */
const ORDER: readonly ShownVerdict[] = ["new", NEW_CAUSE, "known", "flaky", "quarantined"];

type JudgedFailure = BuildFailure & {
  verdict: ShownVerdict;
  conclusion: ShownConclusion | undefined;
};

const ADVICE: Record<ShownVerdict, string> = {
  [NEW_CAUSE]: "it is not known for this cause, so the gate does not excuse it",
  quarantined: "the gate excuses it",
  flaky: "failed and passed on the same code in the last 14 days",
  known: "also failed on the base branch",
  new: "neither flaky nor failing on the base branch",
};

/** The failed tests with their verdicts. */
async function withVerdicts(
  { load, loadTests }: PageRequest,
  failed: readonly BuildFailure[],
  { conclusions, environmentOf }: {
    conclusions: ReadonlyMap<string, ConclusionsOfTests>;
    /** By submission. */
    environmentOf: ReadonlyMap<string, string>;
  },
): Promise<JudgedFailure[]> {
  if (failed.length === 0) return [];
  const { tests } = await loadTests();
  const tracked = new Map(tests.map((test) => [test.id, test]));
  const judged = failed.map((failure): JudgedFailure => {
    const conclusion = conclusions.get(failure.submissionId)?.get(failure.testNo);
    const isKnown = conclusion?.isKnownOnBase === true;
    const run = {
      environment: environmentOf.get(failure.submissionId) ?? "",
      hasFailedOnBase: isKnown,
    };
    return { ...failure, conclusion, verdict: verdictOf(tracked.get(failure.testId), run) };
  });
  const quarantined = judged.filter(({ verdict }) => verdict === "quarantined");
  // The causes of a test may take 10 ms. The gate excuses so many failures only with `--max-excused`.
  if (quarantined.length === 0 || quarantined.length > MAX_SHOWN) return judged;
  const hashOf = ({ testId }: BuildFailure) => parseTestId(testId)!.testHash;
  const causes = await load(loadCauses, { testHashes: quarantined.map(hashOf) });
  for (const failure of quarantined) {
    // An attempt without a text has no cause: another attempt has it.
    const [fingerprint = NO_TEXT, ...others] = failure.causes.filter((one) => one !== NO_TEXT);
    const failed = { ...failure, fingerprint, otherFingerprints: others };
    if (!isKnownFor(failed, causes.get(hashOf(failure)) ?? [])) failure.verdict = NEW_CAUSE;
  }
  return judged;
}

/** Failed tests: those that are probably due to the change first. */
async function failedTests(
  failed: readonly JudgedFailure[],
  baseBranch: string,
  page: JudgedPage,
): Promise<Markup> {
  const groups = Map.groupBy(failed, ({ verdict }) => verdict);
  const order = ORDER.filter((verdict) => groups.has(verdict));
  const summary = order.map((verdict) =>
    markup`<li><b>${groups.get(verdict)!.length} ${verdict}</b>: ${ADVICE[verdict]}</li>`
  );
  const rankOf = ({ conclusion }: JudgedFailure) =>
    conclusion ? BLAMES.indexOf(conclusion.blame) : BLAMES.length;
  const list = failed.toSorted((a, b) =>
    rankOf(b) - rankOf(a) || ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict)
  ).map((test) => ({ ...test, said: said(test, baseBranch, page) }));
  const { shown, moreCount } = await shownTests(list, page, { isFirstOpen: true });
  const byBlame = Map.groupBy(shown, ({ first }) => first.conclusion?.blame ?? "unknown");
  const sections = [...byBlame].map(([blame, own], index) => {
    const content = own.map(({ markup }) => markup);
    if (index === 0) return markup`<h2>${BLAME_TITLES[blame]}</h2>${content}`;
    const count = own.reduce((sum, { testCount }) => sum + testCount, 0);
    return markup`<details class="others"><summary>${BLAME_TITLES[blame]}: ${
      plural(count, "test")
    }</summary>${content}</details>`;
  });
  return markup`<ul>${summary}</ul>${sections}${moreTests(moreCount)}`;
}

/** Headings over failures with a conclusion. */
const BLAME_TITLES: Record<Blame | "unknown", string> = {
  yours: "Probably yours",
  unclear: "Unclear",
  not_yours: "Not yours",
  unknown: "Without a conclusion",
};

/** The conclusion on a failure as a sentence. */
function said(
  { conclusion }: JudgedFailure,
  base: string,
  { zone, pathTo, repository: { owner, name } }: JudgedPage,
): Said | undefined {
  if (!conclusion) return undefined;
  const { restsOn } = conclusion;
  const lastOn = restsOn ? sayDay(restsOn.recordedAt, zone) : "";
  return {
    sentence: sayConclusion(conclusion, { base, lastOn }),
    path: restsOn && pathTo(["repos", owner, name, "builds", restsOn.submissionId]),
  };
}

interface Said {
  sentence: string;
  /** The page of the build that it rests on; `null` without one. */
  path: Markup | null;
}

type JudgedPage = PageRequest & { repository: RepositoryName };

type ShownTest = BuildFailure & {
  verdict?: ShownVerdict;
  said?: Said | undefined;
  conclusion?: ShownConclusion | undefined;
};

/** Tests that are shown as one. */
interface ShownGroup {
  first: ShownTest;
  testCount: number;
  markup: Markup;
}

/**
 * The first tests with their texts, and how many more there are. Tests with the same text, verdict and
 * conclusion, as in an outage, are one group.
 */
async function shownTests(
  tests: readonly ShownTest[],
  page: PageRequest,
  { isFirstOpen = false } = {},
): Promise<{ shown: ShownGroup[]; moreCount: number }> {
  const keyOf = ({ textId, verdict, said }: ShownTest) => `${textId} ${verdict} ${said?.sentence}`;
  const alike = [...Map.groupBy(tests, keyOf).values()];
  const texts = await page.load(loadTexts, {
    textIds: [...new Set(alike.slice(0, MAX_SHOWN).map(([first]) => first!.textId))],
  });
  // Tests without a message may have failed for different reasons.
  const hasMessage = ({ textId }: ShownTest) => texts.get(textId)?.message !== "";
  const groups = alike.flatMap((group) =>
    hasMessage(group[0]!) ? [group] : group.map((one) => [one])
  );
  const moreCount = groups.slice(MAX_SHOWN).reduce((sum, group) => sum + group.length, 0);
  const shown = groups.slice(0, MAX_SHOWN).map((group, index): ShownGroup => {
    const options = { ...page, isOpen: isFirstOpen && index === 0 };
    const [first] = group as [ShownTest];
    const text = texts.get(first.textId);
    const markup = group.length === 1
      ? failure(first, text, options)
      : groupOf(group, text, options);
    return { first, testCount: group.length, markup };
  });
  return { shown, moreCount };
}

function listOf({ shown, moreCount }: { shown: readonly ShownGroup[]; moreCount: number }): Markup {
  return markup`${shown.map(({ markup }) => markup)}${moreTests(moreCount)}`;
}

function moreTests(count: number): Markup | false {
  return count > 0 && markup`<p>And ${plural(count, "more test")}.</p>`;
}

type ShownPage = Pick<PageRequest, "link" | "pathTo"> & { isOpen: boolean };

/** Tests that failed with the same text. */
function groupOf(
  tests: readonly ShownTest[],
  text: FailureText | undefined,
  { link, isOpen }: ShownPage,
): Markup {
  const { verdict, said } = tests[0]!;
  const isFlaky = tests.every(({ isDisruption }) => isDisruption);
  const links = tests.slice(0, MAX_SHOWN).map((test) => link.test(test.testId, test));
  return failureDetails(
    markup`${glyph(isFlaky ? "flaky" : "failed")} <b>${plural(tests.length, "test")} alike</b>
${verdict && label(verdict)} <small class="message"><code>${text?.message}</code></small>`,
    {
      content: markup`${sentence(said)}
${someTests(tests.length, links, plural(tests.length, "test"))}`,
      body: text?.body,
      isOpen,
    },
  );
}

/** A conclusion, with a link to the build that it rests on. */
function sentence(said: Said | undefined): Markup | false {
  if (!said) return false;
  const { path } = said;
  const link = path && markup` (<a href="${path}">that build</a>)`;
  return markup`<p>${said.sentence}${link}</p>`;
}

function failure(
  { testId, isDisruption, verdict, said, ...test }: ShownTest,
  text: FailureText | undefined,
  { isOpen, pathTo }: ShownPage,
): Markup {
  return failureDetails(
    markup`${glyph(isDisruption ? "flaky" : "failed")} <b>${testName(test.name)}</b>
${verdict && label(verdict)} <small class="message"><code>${text?.message}</code></small>`,
    {
      content: markup`${sentence(said)}
<p><a href="${pathTo(["tests", testId])}">All runs of this test</a>
<small>${placeOf(test)}</small></p>`,
      body: text?.body,
      isOpen,
    },
  );
}

/** Why a build shows no failure, by the status of its uploads. */
const NO_FAILURES: Record<BuildPart["status"], string> = {
  processing: "Its reports are being read: reload this page in a moment.",
  failed: "Its reports could not be read: the log of the service says why.",
  processed: "No test failed at its last attempt: there is nothing to fix.",
};

/** Notes on the uploads, each once. */
function buildNotes(parts: readonly BuildPart[]): Markup | false {
  const notes = new Set(parts.flatMap((part) => part.notes));
  return notes.size > 0 && markup`<h2>Notes on the uploads</h2>
<ul>${[...notes].map((note) => markup`<li><bdi>${note}</bdi></li>`)}</ul>`;
}

const JOB_FACTS = [
  ["Job", "job"],
  ["Shard", "shard"],
  ["Attempt", "attempt"],
  ["Runner", "runner"],
] as const;

/** Values in a line; the API has all. */
const MAX_VALUES = 10;

/** The known values of the uploads, each once. */
function eachOnce(
  parts: readonly BuildPart[],
  key: "environment" | typeof JOB_FACTS[number][1],
): string {
  const values = [...new Set(parts.map((part) => part[key]))].filter((value) => value !== "")
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const more = values.length - MAX_VALUES;
  return values.slice(0, MAX_VALUES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** Where the build came from; what is unknown is left out. */
function buildFacts(
  parts: readonly BuildPart[],
  repository: RepositoryDetails,
  { link, at }: PageRequest,
): Markup {
  const [{ commitOid, branch, buildUrl, recordedAt }] = parts as [BuildPart];
  const told = parts.find(({ pullNumber }) => pullNumber !== null);
  const { author = "" } = parts.find((part) => part.author !== "") ?? {};
  const environment = eachOnce(parts, "environment");
  const results = parts.reduce((sum, { testResultCount }) => sum + testResultCount, 0);
  const facts: (KeyFigure | false)[] = [
    !!branch && ["Branch", markup`<bdi>${link.branch(repository, branch)}</bdi>`],
    told !== undefined &&
    ["Pull request", link.pullRequest(repository, told.pullNumber!), told.pullTitle],
    ["Commit", link.commit(repository, commitOid), author && `by ${author}`],
    environment !== "" && ["Environment", environment],
    ...JOB_FACTS.map(([name, key]): KeyFigure => [name, eachOnce(parts, key)])
      .filter(([, text]) => text !== ""),
    ["Results", formatCount(results), `in ${plural(parts.length, "upload")}`],
    ["When", at(recordedAt)],
    buildUrl !== "" &&
    ["CI run", externalLink(buildUrl, externalAddress(buildUrl) ? "open it" : buildUrl)],
  ];
  return factLine(...facts.filter((fact) => fact !== false));
}
