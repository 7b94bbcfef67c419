// Tests: tests/routes/page_parameters_test.ts tests/routes/pages_test.ts
/** `/tests/{id}`: one test. */
import { loadFailures, type ShownGroups } from "../../db/read/failures.ts";
import { listQuarantineLog } from "../../db/read/quarantine_log.ts";
import { loadRepositoryDetails } from "../../db/read/repositories.ts";
import { loadHasReruns } from "../../db/read/reruns.ts";
import { loadTestDetails, type TestDetails } from "../../db/read/details_of_test.ts";
import { loadFailureDays, loadFirstUploadDay } from "../../db/read/history_of_test.ts";
import { loadTestHistory } from "../../db/read/test_evidence.ts";
import {
  loadDisruptedPlaces,
  loadFirstDisrupted,
  loadShownRuns,
  type SubmissionRuns,
  type TestRun,
} from "../../db/read/runs_of_test.ts";
import { sayMessage } from "../../lib/analysis/cause_details.ts";
import { sayLimit } from "../../lib/analysis/quarantine.ts";
import { disruptivenessThousandths } from "../../lib/analysis/tracked_test.ts";
import { shortCommit } from "../../lib/base/commit.ts";
import { recordedAtOf } from "../../lib/base/identity.ts";
import { ALL_SUBMISSIONS } from "../../lib/query/submission_filter.ts";
import { formatPercent } from "../../lib/badge/percentage.ts";
import { compareTexts, plural } from "../../lib/base/text.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { outcomeStrip, type RunStatus } from "../../lib/html/charts.ts";
import { baseHistory, fixOf, namedEnvironment, repairForm } from "./test_history.ts";
import { rerunCommand } from "../../lib/html/commands.ts";
import { shownBranch } from "../../lib/html/forge_links.ts";
import {
  breakable,
  emptyState,
  factLine,
  stackTrace,
  table,
  testName,
  verbatim,
} from "../../lib/html/elements.ts";
import {
  type Content,
  externalAddress,
  externalLink,
  type Markup,
  markup,
} from "../../lib/html/markup.ts";
import * as parameters from "../../lib/http/request/parameters.ts";
import { NEVER_RERUN } from "./flakiness.ts";
import { durationChart, failureBars, firstComparedDay } from "./history.ts";
import { CHART_RANGES, chartDays, daysOf, rangeLinks, wrongRange } from "./ranges.ts";
import { definePage, organizationWord, placeOf } from "./page.ts";
import { quarantineSection, type TestPage } from "./quarantine.ts";
import { environmentsIn } from "../../lib/evidence/test_evidence.ts";
import { wrongRepairCommit } from "../test_evidence.ts";

const SHOWN_RUNS = 100;
const MAX_ROWS = 10;
/** `since`: a wrong commit is shown at its field, on the whole page. */
const anyCommit = parameters.parsed(
  (text) => text,
  "A commit that is meant as the repair, whole or abbreviated",
  { jsonSchema: { type: "string" }, example: "9f2c4e1", acceptsAnyText: true },
);

export const testPage = definePage({
  path: "/tests/:id",
  resource: "test in path",
  hasForms: true,
  query: { days: chartDays, since: anyCommit },
  showErrors: wrongRange(CHART_RANGES, "90"),
  async show(request) {
    const { load, today, query } = request;
    const unreadable = wrongRepairCommit(query.since);
    const everything = { filter: ALL_SUBMISSIONS };
    const end = (today + 1) * SECONDS_PER_DAY;
    const weeks = Math.ceil(daysOf(query.days) / 7);
    const firstDay = today - daysOf(query.days) + 1;
    const commitOid = unreadable === null ? query.since.toLowerCase() : "";
    const loadedDay = Math.min(firstDay, firstComparedDay(today));
    const [
      [repository],
      test,
      { attempts: runs, submissions, times, medians },
      failures,
      days,
      firstUploadDay,
      first,
      disrupted,
      history,
    ] = await Promise.all([
      load(loadRepositoryDetails, {}),
      load(loadTestDetails, {}),
      load(loadShownRuns, { limit: SHOWN_RUNS, end, weeks }),
      load(loadFailures, everything),
      load(loadFailureDays, { firstDay: loadedDay }),
      load(loadFirstUploadDay, {}).then((day) => day ?? today),
      load(loadFirstDisrupted, {}),
      load(loadDisruptedPlaces, {}),
      load(loadTestHistory, { environments: null, commitOid }),
    ]);
    const { organizationId } = request.caller!;
    const [log, organization, hasReruns] = await Promise.all([
      load(listQuarantineLog, { organizationId, testId: test.id }),
      organizationWord(request),
      test.disruptionCount > 0 || load(loadHasReruns, {}),
    ]);
    const page: TestPage = { ...request, repository: repository!, test, organization };
    const wrongCommit = unreadable ?? history.wrongCommit;
    const fix = fixOf(history, {
      since: query.since,
      wrongCommit,
      disruptedIn: environmentsIn(disrupted, null),
    });
    return {
      isWrong: wrongCommit !== null,
      title: test.name,
      crumbs: [page.link.repositories, page.link.repository(page.repository)],
      content: markup`<h1>${testName(test.name)}</h1>
${
        [...test.name].length > LONG_NAME &&
        markup`<details><summary>The whole name</summary>
<p>${test.name}</p></details>`
      }
<p class="soft">${test.tags.map(page.link.tag)} ${placeOf(test)}</p>
${baseHistory(history, { fix, disrupted }, page)}
${failedOnlyIn(submissions, namedEnvironment(history, disrupted))}
${testFigures(submissions, { first, hasReruns }, page)}
${runs.length > 0 ? strip(runs, page) : NO_RUNS}
<h2>How it fails</h2>
${causes(failures, runs, page)}
<h2>What to do</h2>
<h3>Run it again</h3>
${rerun(test)}
<h3 id="quarantine">Quarantine it</h3>
${quarantineSection(log, page)}
<h3 id="fix">Prove a fix</h3>
${repairForm(fix, page)}
<h2>Failures and durations</h2>
${chartRanges(query, page)}
<div class="pair">${failureBars(days, { today, firstDay, firstUploadDay })}${
        times && durationChart(times, medians, { today, firstUploadDay })
      }</div>
<div class="pair"><section><h2>Results by branch, last 14 days</h2>
${runsTable(submissions, "branch")}</section>${environmentTable(submissions)}</div>
<p class="soft">Id <code>${test.id}</code></p>`,
    };
  },
});

/** Characters from which on a heading may be cut. */
const LONG_NAME = 120;

function chartRanges(
  { days, since }: { days: typeof CHART_RANGES[number]; since: string },
  { pathTo, test }: TestPage,
): Markup {
  return rangeLinks("Charts", {
    ranges: CHART_RANGES,
    shown: days,
    addressOf: (days) => pathTo(["tests", test.id], { ...since && { since }, days }),
  });
}

const NO_RUNS = emptyState("It did not run in the last 14 days.");

function testFigures(
  submissions: readonly SubmissionRuns[],
  { first, hasReruns }: { first: FirstDisruption; hasReruns: boolean },
  page: TestPage,
): Markup {
  const { at, test } = page;
  const { quarantine: entry, disruptionCount, firstDisruptionAt, latestDisruption } = test;
  const limit = sayLimit(entry?.quarantineEnvironment ?? null);
  const totals = totalsOf(submissions);
  const share = disruptivenessThousandths({ ...totals, disruptionCount });
  const counted = plural(totals.countedResultCount, "result");
  return factLine(
    [
      "Flaky failures in 14 days",
      hasReruns ? formatPercent(share) : "–",
      hasReruns ? `${disruptionCount} of ${counted} on all branches` : NEVER_RERUN,
    ],
    ["First flaky failure", at(firstDisruptionAt), firstFlaky(first, page)],
    ["Latest", at(latestDisruption?.recordedAt ?? null)],
    [
      "Quarantined",
      entry ? at(entry.quarantinedAt) : "no",
      entry
        ? markup`${limit && `${limit}, `}until ${
          at(entry.quarantineExpiresAt)
        }, <a href="#quarantine">end it</a>`
        : markup`<a href="#quarantine">quarantine it</a>`,
    ],
  );
}

function totalsOf(submissions: readonly SubmissionRuns[]) {
  let [countedResultCount, negativeResultCount] = [0, 0];
  for (const { positive, negative } of submissions) {
    countedResultCount += positive + negative;
    negativeResultCount += negative;
  }
  return { countedResultCount, negativeResultCount };
}

function outcomeOf({ conclusion, failure }: TestRun): RunStatus {
  if (failure) return failure.isDisruption ? "flaky" : "failed";
  return conclusion === "skipped" || conclusion === "unknown" ? conclusion : "passed";
}

function strip(runs: readonly TestRun[], { link, repository, at, pathTo }: TestPage): Markup {
  const shapes = runs.toReversed().map((run) => {
    const branch = shownBranch(run.branch ?? "");
    const where = [branch && ` on ${branch}`, run.environment && ` in ${run.environment}`]
      .filter(Boolean).join("");
    const outcome = outcomeOf(run);
    const address = pathTo([
      "repos",
      repository.owner,
      repository.name,
      "builds",
      run.submissionId,
    ]);
    return { outcome, text: `${outcome}${where}, ${shortCommit(run.commitOid)}`, address };
  });
  const rows = runs.filter(({ failure }) => failure !== null).map((run) => [
    link.namedBuild(repository, run),
    outcomeOf(run),
    at(recordedAtOf(run.submissionId)),
    run.environment,
    link.commit(repository, run.commitOid),
    externalAddress(run.buildUrl) && externalLink(run.buildUrl, "CI run"),
  ]);
  const title = runs.length < SHOWN_RUNS
    ? `${plural(runs.length, "run")} in 14 days, on all branches`
    : `The latest ${plural(runs.length, "run")} of 14 days, on all branches`;
  return markup`${outcomeStrip({ title, runs: shapes })}
${
    rows.length > 0 &&
    markup`<details><summary>${plural(rows.length, "run")} with a failure</summary>${
      table(
        "Failed runs",
        [
          "Build|name",
          "Outcome",
          "When|nowrap",
          "Environment|wide",
          "Commit|wide",
          "CI|wide nowrap",
        ],
        rows,
        "dense",
      )
    }</details>`
  }`;
}

function causes(
  { groups, count }: ShownGroups,
  runs: readonly TestRun[],
  { at, link, repository }: TestPage,
): Markup {
  if (count === 0) return emptyState("It did not fail in the last 14 days.");
  const shown = groups.slice(0, MAX_ROWS).map((group, index) => {
    const summary = markup`<b class="message">${sayMessage(group) || "without a message"}</b>
<small>${plural(group.count, "failure")}, ${group.disruptionCount} flaky, in 14 days; latest
${at(group.lastRecordedAt)}</small>`;
    const run = externalAddress(group.latestBuildUrl) &&
      markup`, ${externalLink(group.latestBuildUrl, "CI run")}`;
    const { submissionId, latestCommitOid: commitOid, latestBuildUrl: buildUrl } = group;
    const branch = runs.find((run) => run.submissionId === submissionId)?.branch ?? null;
    const build = { branch, commitOid, buildUrl, submissionId };
    const content = markup`<p>Latest in the build ${link.namedBuild(repository, build)}, commit ${
      link.commit(repository, group.latestCommitOid)
    }${run}:</p>
`;
    return stackTrace(summary, {
      content,
      body: group.body,
      isOpen: index === 0,
      className: "cause",
    });
  });
  const rarer = count > MAX_ROWS &&
    markup`<p>${plural(count - MAX_ROWS, "rarer cause")} not shown.</p>`;
  return markup`${shown}${rarer}`;
}

/**
 * Says where a test failed that passed elsewhere, which may be chance: `failed on Windows-X64 only`; nothing if it was
 * `named` before.
 */
function failedOnlyIn(submissions: readonly SubmissionRuns[], named: string | null): Markup | "" {
  const totals = [...Map.groupBy(submissions, ({ environment }) => environment)]
    .map(([environment, parts]) => ({ environment, ...totalsOf(parts) }))
    .filter(({ countedResultCount }) => countedResultCount > 0);
  const failing = totals.filter(({ negativeResultCount }) => negativeResultCount > 0);
  const [only] = failing;
  if (!only || failing.length > 1 || totals.length < 2 || only.environment === named) return "";
  const others = totals.filter((one) => one !== only);
  const elsewhere = others.reduce((sum, { countedResultCount }) => sum + countedResultCount, 0);
  return markup`<p>In 14 days it failed on <b>${
    only.environment || "an unknown environment"
  }</b> only: ${plural(only.negativeResultCount, "failure")} in ${
    plural(only.countedResultCount, "result")
  } there, none in ${plural(elsewhere, "result")} elsewhere, on all branches.</p>`;
}

/** Nothing when there is only one environment. */
function environmentTable(submissions: readonly SubmissionRuns[]): Markup | "" {
  const environments = new Set(submissions.map(({ environment }) => environment));
  if (environments.size < 2) return "";
  return markup`<section><h2>Results by environment, last 14 days</h2>
${runsTable(submissions, "environment")}</section>`;
}

function runsTable(
  submissions: readonly SubmissionRuns[],
  column: "branch" | "environment",
): Markup {
  if (submissions.length === 0) return NO_RUNS;
  const nameOf = ({ branch, environment }: SubmissionRuns) =>
    column === "branch" ? shownBranch(branch) : environment;
  const rows = [...Map.groupBy(submissions, nameOf)]
    .map(([name, parts]) => ({ name, ...totalsOf(parts) }))
    .sort((a, b) => b.countedResultCount - a.countedResultCount || compareTexts(a.name, b.name))
    .slice(0, MAX_ROWS)
    .map(({ name, countedResultCount: counted, negativeResultCount: failed }) => [
      name ? breakable(name) : "unknown",
      counted,
      failed,
      counted > 0 && formatPercent(Math.floor(1000 * failed / counted)),
    ]);
  const title = column === "branch" ? "Branch" : "Environment";
  const columns = [title, "Results|number", "Failures|number", "Failed|number"];
  return table(`Results by ${column}`, columns, rows);
}

type FirstDisruption = Awaited<ReturnType<typeof loadFirstDisrupted>>;

/** The commit, author and pull request of the first flaky failure, as far as they are known. */
function firstFlaky(first: FirstDisruption, { link, pathTo, repository, test }: TestPage): Content {
  if (test.firstDisruptionAt === null) return "";
  if (first?.recordedAt !== test.firstDisruptionAt) return "that run is no longer stored";
  const { commitOid, branch, submissionId, author, pullNumber, pullTitle } = first;
  const address = ["repos", repository.owner, repository.name, "builds", submissionId];
  return [
    link.commit(repository, commitOid),
    author && ` by ${author}`,
    branch && markup` on <bdi>${shownBranch(branch)}</bdi>`,
    pullNumber !== null &&
    markup`, ${link.pullRequest(repository, pullNumber)} ${pullTitle}`,
    markup`, <a href="${pathTo(address)}">build</a>`,
  ];
}

function rerun(test: TestDetails): Markup {
  const line = rerunCommand(test);
  return line === null
    ? emptyState("The report has neither file nor class of a known test runner.")
    : markup`<p>Until it fails:</p>${verbatim(line)}`;
}
