/** `/tests/{id}`: one test. */
import { loadFailures, type ShownGroup } from "../../db/read/failures.ts";
import { loadRepositoryDetails, type RepositoryDetails } from "../../db/read/repositories.ts";
import { loadTestDetails, type TestDetails } from "../../db/read/test_details.ts";
import {
  type FailureDay,
  type FirstDisruption,
  loadFailureDays,
  loadFirstDisruption,
  type RunVersion,
} from "../../db/read/test_history.ts";
import {
  loadSubmissionRuns,
  loadTestRuns,
  type SubmissionRuns,
  type TestRun,
} from "../../db/read/test_runs.ts";
import { disruptivenessThousandths, passRateThousandths } from "../../lib/analysis/tracked_test.ts";
import { recordedAtOf } from "../../lib/base/identity.ts";
import { dayBars, type Outcome, outcomeStrip } from "../../lib/html/charts.ts";
import { quarantineCommand, rerunCommands } from "../../lib/html/commands.ts";
import {
  formatDuration,
  formatThousandths,
  moment,
  plural,
  shortOid,
} from "../../lib/html/format.ts";
import { externalLink, type Markup, markup, type PathTo } from "../../lib/html/markup.ts";
import { selectedTest } from "../../lib/http/request/route.ts";
import { checkVersion, StaleVersionError } from "../../lib/http/request/stale_version.ts";
import { columns, crumbsTo, definePage, facts, table } from "./page.ts";

const SHOWN_RUNS = 100;
const HISTORY_DAYS = 91;
const MAX_CAUSES = 10;

/** How the sections of the page reach others. */
interface Links {
  pathTo: PathTo;
  today: number;
  repository: RepositoryDetails;
}

/** `/tests/{id}`. */
export const testPage = definePage({
  path: "/tests/:id",
  resource: "test in path",
  async show(request, { context: { sql }, pathTo }) {
    const { now, windowStart, today } = request;
    const selected = selectedTest(request);
    const test = { repositoryId: selected.repositoryId, testNo: selected.testNo };
    const firstDay = today - HISTORY_DAYS + 1;
    const [[repository], details, latest, all, failures, days, first] = await Promise.all([
      loadRepositoryDetails(sql, [test.repositoryId]),
      loadTestDetails(sql, { ...test, now, windowStart }),
      loadTestRuns(sql, {
        ...test,
        windowStart,
        branches: null,
        status: "all",
        after: null,
        limit: SHOWN_RUNS,
      }),
      loadSubmissionRuns(sql, { ...test, windowStart }),
      loadFailures(sql, { ...test, windowStart, branches: null }),
      loadFailureDays(sql, { ...test, firstDay }),
      loadFirstDisruption(sql, test),
    ]);
    if (!repository || !details) throw new StaleVersionError();
    for (const { version } of [details, latest, all, failures]) checkVersion(selected, version);
    const { test: { id, name, suite, class: className, file, tags } } = details;
    const links = { pathTo, today, repository };
    return {
      title: name,
      crumbs: crumbsTo(pathTo, repository),
      content: markup`<h1><bdi>${name}</bdi></h1>
<p class="soft">${[suite, className, file].filter((text) => text !== "").join(" · ")}</p>
<p>${tags.map((tag) => markup`<span class="tag">${tag}</span>`)}</p>
${testFacts(details.test, all.submissions, latest.runs, today)}
<h2>Latest runs</h2>
${
        latest.runs.length === 0
          ? markup`<p class="empty">It did not run in the last 14 days.</p>`
          : strip(latest.runs, links)
      }
<h2>How it fails</h2>
${causes(failures, links)}
<div class="pair"><section><h2>Failures by day</h2>${dayChart(days, firstDay)}</section>
<section><h2>Runs by branch</h2>${branchTable(all.submissions)}</section></div>
<h2>When it became flaky</h2>
${since(details.test.firstDisruptionAt, first, links)}
<h2>Quarantine</h2>
${quarantine(details, today)}
<h2>Run it again</h2>
${rerun({ name, suite, class: className, file })}
<p class="soft">Id <code>${id}</code></p>`,
    };
  },
});

function testFacts(
  test: TestDetails["test"],
  submissions: readonly SubmissionRuns[],
  runs: readonly TestRun[],
  today: number,
): Markup {
  const { disruptionCount, firstDisruptionAt, latestDisruption } = test;
  const sum = (count: (one: SubmissionRuns) => number) =>
    submissions.reduce((total, one) => total + count(one), 0);
  const negativeResultCount = sum((one) => one.negative);
  const countedResultCount = negativeResultCount + sum((one) => one.positive);
  const totals = { countedResultCount, negativeResultCount, resultCount: 0, timeConsumed: null };
  const passRate = passRateThousandths(totals);
  const times = runs.filter(({ conclusion }) => conclusion === "passing")
    .map(({ durationMicroseconds }) => durationMicroseconds).sort((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)];
  return facts([
    [
      "Flaky share",
      formatThousandths(disruptivenessThousandths({ disruptionCount, countedResultCount })),
      `${disruptionCount} of ${plural(countedResultCount, "result")}`,
    ],
    ["Pass rate", passRate === null ? "–" : formatThousandths(passRate)],
    ["Typical duration", median === undefined ? "–" : formatDuration(median), "of a pass"],
    ["First flaky", firstDisruptionAt === null ? "never" : moment(firstDisruptionAt, today)],
    ["Latest flaky", latestDisruption ? moment(latestDisruption.recordedAt, today) : "never"],
  ]);
}

/** An attempt as it is drawn. */
function outcomeOf({ conclusion, failure }: TestRun): Outcome {
  if (conclusion === "failure" || conclusion === "error") {
    return failure?.isDisruption ? "flaky" : "failed";
  }
  return conclusion === "passing" ? "passed" : conclusion;
}

function strip(runs: readonly TestRun[], links: Links): Markup {
  const failed = runs.filter(({ failure }) => failure !== null);
  return markup`${
    outcomeStrip({
      title: `The latest ${plural(runs.length, "run")}`,
      runs: runs.toReversed().map((run) => {
        const outcome = outcomeOf(run);
        const where = run.branch ? ` on ${run.branch}` : "";
        return { outcome, text: `${outcome}${where}, ${shortOid(run.commitOid)}` };
      }),
    })
  }${
    failed.length > 0 &&
    markup`<details><summary>${plural(failed.length, "failed run")}</summary>${
      table(
        "Failed runs",
        columns("Build|nowrap", "Outcome", "Branch", "Commit|wide", "Duration|number wide"),
        failed.map((run) => [
          buildLink(run.submissionId, links),
          outcomeOf(run) + (run.runCount > 1 ? ` (attempt ${run.runCount})` : ""),
          run.branch,
          markup`<span class="oid">${shortOid(run.commitOid)}</span>`,
          formatDuration(run.durationMicroseconds),
        ]),
      )
    }</details>`
  }`;
}

/** The moment of a submission, as a link to its page. */
function buildLink(submissionId: string, { pathTo, today, repository }: Links): Markup {
  const { owner, name } = repository;
  return markup`<a href="${pathTo(["repos", owner, name, "builds", submissionId])}">${
    moment(recordedAtOf(submissionId), today)
  }</a>`;
}

function causes(
  { groups, count }: { groups: readonly ShownGroup[]; count: number },
  links: Links,
): Markup {
  if (count === 0) return markup`<p class="empty">It did not fail in the last 14 days.</p>`;
  return markup`${
    groups.slice(0, MAX_CAUSES).map((group, index) => {
      const { text, disruptionCount, branches } = group;
      return markup`<details class="cause"${index === 0 && markup` open`}>
<summary><b>${text.message || "without a message"}</b>
<small>${plural(group.count, "failure")}, ${disruptionCount} flaky; first ${
        moment(group.firstRecordedAt, links.today)
      }, latest ${moment(group.lastRecordedAt, links.today)}${
        branches.length > 0 &&
        `; on ${branches.slice(0, 3).join(", ")}${
          branches.length > 3 ? ` and ${branches.length - 3} more` : ""
        }`
      }</small></summary>
<p>Latest in the build of ${buildLink(group.submissionId, links)}${
        group.buildUrl && markup` (${externalLink(group.buildUrl, "CI run")})`
      }, commit <span class="oid">${shortOid(group.commitOid)}</span>:</p>
${
        text.body
          ? markup`<pre tabindex="0">${text.body}</pre>`
          : markup`<p>The report has no stack trace.</p>`
      }
</details>`;
    })
  }${
    count > MAX_CAUSES &&
    markup`<p class="soft">${plural(count - MAX_CAUSES, "rarer cause")} not shown.</p>`
  }`;
}

const SERIES = [
  { name: "flaky", className: "flaky", width: 1 },
  { name: "failed otherwise", className: "failed", width: 0.5 },
];

function dayChart(days: readonly FailureDay[], firstDay: number): Markup {
  const byDay = new Map(days.map((one) => [one.day, one]));
  return dayBars({
    title: "Failures of the last 13 weeks",
    series: SERIES,
    days: Array.from({ length: HISTORY_DAYS }, (_, index) => {
      const { disruptionCount = 0, otherCount = 0 } = byDay.get(firstDay + index) ?? {};
      return { day: firstDay + index, parts: [disruptionCount, otherCount] };
    }),
  });
}

function branchTable(submissions: readonly SubmissionRuns[]): Markup {
  if (submissions.length === 0) return markup`<p class="empty">No run.</p>`;
  const branches = [...Map.groupBy(submissions, ({ branch }) => branch)].map(([branch, parts]) => ({
    branch,
    negative: parts.reduce((sum, one) => sum + one.negative, 0),
    counted: parts.reduce((sum, one) => sum + one.negative + one.positive, 0),
  })).sort((a, b) => b.counted - a.counted);
  return table(
    "Runs by branch",
    columns("Branch", "Runs|number", "Failures|number", "Share|number"),
    branches.slice(0, MAX_CAUSES).map(({ branch, counted, negative }) => [
      branch || "unknown",
      counted,
      negative,
      counted > 0 && formatThousandths(Math.floor(1000 * negative / counted)),
    ]),
  );
}

function since(
  firstDisruptionAt: number | null,
  first: FirstDisruption | null,
  links: Links,
): Markup {
  if (firstDisruptionAt === null) {
    return markup`<p class="empty">It never failed on code on which it also passed.</p>`;
  }
  if (!first || recordedAtOf(first.disrupted.submissionId) !== firstDisruptionAt) {
    return markup`<p>Since ${moment(firstDisruptionAt, links.today)}. That run is not stored any
more.</p>`;
  }
  const { disrupted, clean } = first;
  const version = ({ commitOid, branch, submissionId }: RunVersion) =>
    markup`<span class="oid">${shortOid(commitOid)}</span>${
      branch && markup` on <b>${branch}</b>`
    }, ${buildLink(submissionId, links)}`;
  return markup`<p>First flaky failure: ${version(disrupted)}.<br>
${
    clean
      ? markup`Last pass on other code before: ${version(clean)}.
${changes(links.repository.url, clean.commitOid, disrupted.commitOid)}`
      : "It is as old as the test, or as the stored history."
  }</p>`;
}

/** What lies between two commits. GitHub and GitLab compare them at the same path. */
function changes(url: string, from: string, to: string): Markup | null {
  if (![from, to].every((oid) => /^[0-9a-f]{7,64}$/.test(oid))) return null;
  return markup`The cause may lie between:</p>
<pre tabindex="0">git log --oneline ${from}..${to}</pre>
<p>${
    /^https:\/\/[^/]*git(hub|lab)[^/]*\//.test(url) &&
    externalLink(`${url}/compare/${from}...${to}`, "Compare the commits")
  }`;
}

function quarantine({ test }: TestDetails, today: number): Markup {
  const { quarantine } = test;
  if (!quarantine) {
    return markup`<p>It is not quarantined. To quarantine it:</p>
<pre tabindex="0">${quarantineCommand(test.id)}</pre>`;
  }
  const { quarantinedAt, quarantinedBy, quarantineType } = quarantine;
  return markup`<p>Quarantined ${moment(quarantinedAt, today)}${
    quarantinedBy && markup` by <b>${quarantinedBy}</b>`
  }, ${quarantineType}. To end it:</p>
<pre tabindex="0">test-analytics quarantine remove ${test.id}</pre>`;
}

function rerun(test: Parameters<typeof rerunCommands>[0]): Markup {
  const commands = rerunCommands(test);
  return commands.length === 0
    ? markup`<p>The report names no file by which the runner could be told.</p>`
    : markup`<p>Until it fails, with the runner of this project:</p>${
      commands.map((line) => markup`<pre tabindex="0">while ${line}; do :; done</pre>`)
    }`;
}
