/** `/repos/{owner}/{name}`: one repository. */
import { loadFailures, type ShownGroup } from "../../db/read/failures.ts";
import { loadOverviews, type Overview } from "../../db/read/overviews.ts";
import { loadSubmissionsPage, type SubmissionRow } from "../../db/read/submissions.ts";
import {
  loadNewlyFlakyTests,
  loadTestIdentities,
  type NewlyFlakyTest,
} from "../../db/read/test_identities.ts";
import {
  buildKey,
  costliestTests,
  type FailedTests,
  failedTestsByBuild,
  type TestCost,
} from "../../lib/analysis/build_costs.ts";
import { coverageBadge, flakinessBadge } from "../../lib/badge/badge.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { dayBars, glyph, type Outcome, trend } from "../../lib/html/charts.ts";
import { formatCount, formatDay, isoDay, moment, plural, shortOid } from "../../lib/html/format.ts";
import {
  type Content,
  externalLink,
  type Markup,
  markup,
  type PathTo,
} from "../../lib/html/markup.ts";
import { selectedRepository } from "../../lib/http/request/route.ts";
import { checkVersion, StaleVersionError } from "../../lib/http/request/stale_version.ts";
import { columns, crumbsTo, definePage, facts, table, testName } from "./page.ts";
import { coverageOf } from "./repositories.ts";

const HISTORY_DAYS = 91;
const NEW_DAYS = 7;
const MAX_ROWS = 10;
/** Enough for ten builds in ten shards. */
const RECENT_SUBMISSIONS = 100;

/** How the sections of the page reach others. */
interface Links {
  pathTo: PathTo;
  today: number;
  overview: Overview;
}

/** `/repos/{owner}/{name}`. */
export const repositoryPage = definePage({
  path: "/repos/:owner/:name",
  resource: "repository in path",
  async show(request, { context: { sql }, pathTo }) {
    const { now, windowStart, today } = request;
    const repository = selectedRepository(request);
    const { repositoryId } = repository;
    const newDay = today - NEW_DAYS + 1;
    const [[overview], failures, recent, newlyFlaky] = await Promise.all([
      loadOverviews(sql, {
        repositoryIds: [repositoryId],
        now,
        windowStart,
        firstDay: today - HISTORY_DAYS + 1,
      }),
      loadFailures(sql, { repositoryId, testNo: null, windowStart, branches: null }),
      loadSubmissionsPage(sql, {
        repositoryId,
        windowStart,
        branches: null,
        after: null,
        limit: RECENT_SUBMISSIONS,
      }),
      loadNewlyFlakyTests(sql, {
        repositoryId,
        since: newDay * SECONDS_PER_DAY,
        limit: MAX_ROWS + 1,
      }),
    ]);
    if (!overview) throw new StaleVersionError();
    for (const { version } of [{ version: overview }, failures, recent]) {
      checkVersion(repository, version);
    }
    const costs = costliestTests(failures.failures, MAX_ROWS);
    const causes = failures.groups.filter(({ testCount }) => testCount > 1).slice(0, MAX_ROWS);
    const names = await loadTestIdentities(sql, {
      repositoryId,
      testIds: [...costs.map(({ testId }) => testId), ...causes.flatMap(({ tests }) => tests)],
    });
    const links = { pathTo, today, overview };
    const fullName = formatRepositoryName(overview);
    return {
      title: fullName,
      crumbs: crumbsTo(pathTo, null),
      content: markup`<h1>${fullName}</h1>
${overview.url && markup`<p>${externalLink(overview.url, overview.url)}</p>`}
${overviewFacts(links)}
${overview.days.length > 0 && history(overview.days, today)}
<h2>Tests that cost the most builds</h2>
${costTable(costs, names, links)}
<h2>Flaky for the first time in the last ${NEW_DAYS} days</h2>
${newTable(newlyFlaky, newDay, links)}
<h2>One cause, several tests</h2>
${causeTable(causes, names, links)}
<h2>Recent builds</h2>
${buildTable(recent.submissions, failedTestsByBuild(failures.failures), links)}`,
    };
  },
});

/** The address of the inventory of the repository. */
function inventory({ pathTo, overview }: Links, query: Record<string, string>): Markup {
  return pathTo(["flaky-tests"], { repository: formatRepositoryName(overview), ...query });
}

function overviewFacts(links: Links): Markup {
  const { overview, today } = links;
  const { builds, lastRecordedAt } = overview;
  const link = (count: number, quarantine: string) =>
    markup`<a href="${inventory(links, { quarantine })}">${formatCount(count)}</a>`;
  return facts([
    [
      "Flakiness",
      flakinessBadge(builds).percentage ?? "–",
      `${builds.disruptedBuildCount} of ${plural(builds.buildCount, "build")}`,
    ],
    ["Flaky tests", link(overview.flakyTestCount, "false"), "not quarantined"],
    ["Quarantined", link(overview.quarantinedTestCount, "true"), "tests"],
    ["Coverage", coverageBadge(coverageOf(overview)).percentage ?? "–", "of lines, latest report"],
    ["Last upload", lastRecordedAt === null ? "never" : moment(lastRecordedAt, today)],
  ]);
}

const SERIES = [
  { name: "flaky", className: "flaky", width: 1 },
  { name: "failed otherwise", className: "failed", width: 0.5 },
  { name: "passed", className: "quiet", width: 1 },
];

function history(days: Overview["days"], today: number): Markup {
  const byDay = new Map(days.map((one) => [one.day, one]));
  const all = Array.from({ length: HISTORY_DAYS }, (_, index) => {
    const day = today - HISTORY_DAYS + 1 + index;
    const { buildCount = 0, failedBuildCount = 0, disruptedBuildCount = 0 } = byDay.get(day) ?? {};
    return { day, buildCount, failedBuildCount, disruptedBuildCount };
  });
  const weeks = Array.from({ length: HISTORY_DAYS / 7 }, (_, index) => {
    const week = all.slice(7 * index, 7 * index + 7);
    const sum = (count: (day: typeof week[number]) => number) =>
      week.reduce((total, day) => total + count(day), 0);
    const builds = sum((day) => day.buildCount);
    const share = (count: number) => builds === 0 ? null : 100 * count / builds;
    return {
      label: formatDay(week[0]!.day),
      flaky: share(sum((day) => day.disruptedBuildCount)),
      failed: share(sum((day) => day.failedBuildCount)),
    };
  });
  return markup`<div class="pair">${
    dayBars({
      title: "Builds by day",
      series: SERIES,
      days: all.map(({ day, buildCount, failedBuildCount, disruptedBuildCount }) => ({
        day,
        parts: [
          disruptedBuildCount,
          failedBuildCount - disruptedBuildCount,
          buildCount - failedBuildCount,
        ],
      })),
    })
  }${
    trend({
      title: "Share of builds with a failure, by week",
      labels: weeks.map(({ label }) => label),
      lines: [
        { name: "flaky", className: "flaky", values: weeks.map(({ flaky }) => flaky) },
        { name: "any failure", className: "failed", values: weeks.map(({ failed }) => failed) },
      ],
    })
  }</div>`;
}

function costTable(
  costs: readonly TestCost[],
  names: ReadonlyMap<string, TestIdentity>,
  links: Links,
): Markup {
  const { builds } = links.overview;
  if (costs.length === 0) {
    return markup`<p class="empty">No flaky failure in ${plural(builds.buildCount, "build")} of the
last 14 days.</p>`;
  }
  return markup`${
    table(
      "Tests that cost the most builds",
      columns("Test|name", "Builds|number", "Share of builds|number", "Flaky failures|number wide"),
      costs.map(({ testId, buildCount, disruptionCount }) => [
        testName(links.pathTo, testId, names.get(testId)!),
        buildCount,
        flakinessBadge({ ...builds, disruptedBuildCount: buildCount }).percentage,
        disruptionCount,
      ]),
    )
  }<p><a href="${inventory(links, { quarantine: "false" })}">All flaky tests</a></p>`;
}

function newTable(tests: readonly NewlyFlakyTest[], newDay: number, links: Links): Markup {
  if (tests.length === 0) return markup`<p class="empty">None: no new flaky test this week.</p>`;
  return markup`${
    table(
      "Flaky for the first time",
      columns("Test|name", "First flaky failure|nowrap", "Message|wide"),
      tests.slice(0, MAX_ROWS).map((test) => [
        testName(links.pathTo, test.id, test),
        moment(test.firstDisruptionAt, links.today),
        markup`<code>${test.message}</code>`,
      ]),
    )
  }${
    tests.length > MAX_ROWS &&
    markup`<p><a href="${
      inventory(links, { quarantine: "false", q: `first-seen:>=${isoDay(newDay)}` })
    }">All new flaky tests</a></p>`
  }`;
}

function causeTable(
  causes: readonly ShownGroup[],
  names: ReadonlyMap<string, TestIdentity>,
  { pathTo, today }: Links,
): Markup {
  if (causes.length === 0) {
    return markup`<p class="empty">No message was shared by the failures of several tests.</p>`;
  }
  return table(
    "Causes that hit several tests",
    columns(
      "Message of the latest failure|name",
      "Tests|number",
      "Failures|number",
      "Latest|nowrap wide",
    ),
    causes.map(({ text, testCount, tests, count, lastRecordedAt }) => [
      markup`<code>${text.message}</code><details><summary>${
        plural(testCount, "test")
      }</summary><ul>${
        tests.map((id) => markup`<li>${testName(pathTo, id, names.get(id)!)}</li>`)
      }</ul></details>`,
      testCount,
      count,
      moment(lastRecordedAt, today),
    ]),
  );
}

function buildTable(
  submissions: readonly SubmissionRow[],
  failed: ReadonlyMap<string, FailedTests>,
  links: Links,
): Markup {
  if (submissions.length === 0) {
    return markup`<div class="empty"><p>No upload in the last 14 days. Upload the reports of a run:</p>
<pre>test-analytics ingest --org NAME --repo ${
      formatRepositoryName(links.overview)
    } --commit HEAD reports/</pre></div>`;
  }
  const builds = [...Map.groupBy(submissions, buildKey)].slice(0, MAX_ROWS);
  return table(
    "Recent builds",
    columns("Build|nowrap", "Outcome|nowrap", "Branch", "Commit|wide", "Results|number wide"),
    builds.map(([build, parts]) => buildRow(parts, failed.get(build) ?? NONE_FAILED, links)),
  );
}

const NONE_FAILED: FailedTests = { flaky: new Set(), others: new Set() };

function buildRow(
  parts: readonly SubmissionRow[],
  { flaky, others }: FailedTests,
  { pathTo, today, overview }: Links,
): Content[] {
  const [latest] = parts as [SubmissionRow];
  const unfinished = parts.find(({ status }) => status !== "processed");
  const counts = [
    others.size > 0 && `${others.size} failed`,
    flaky.size > 0 && `${flaky.size} flaky`,
  ].filter(Boolean).join(", ");
  const outcome: Outcome = others.size > 0 ? "failed" : flaky.size > 0 ? "flaky" : "passed";
  const address = pathTo(["repos", overview.owner, overview.name, "builds", latest.submissionId]);
  return [
    markup`<a href="${address}">${moment(latest.recordedAt, today)}</a>`,
    unfinished ? unfinished.status : markup`${glyph(outcome)} ${counts || "passed"}`,
    latest.branch,
    markup`<span class="oid">${shortOid(latest.commitOid)}</span>`,
    formatCount(parts.reduce((sum, { testResultCount }) => sum + testResultCount, 0)),
  ];
}
