/** `/repos/{owner}/{name}`: one repository. */
import { loadFailures, type ShownGroup } from "../../db/read/failures.ts";
import { loadOverviews, type Overview } from "../../db/read/overviews.ts";
import { loadSubmissionsPage, type SubmissionRow } from "../../db/read/submissions.ts";
import {
  loadNewlyFlakyTests,
  loadTestNames,
  type NamedTest,
  type NewlyFlakyTest,
} from "../../db/read/test_names.ts";
import {
  buildKey,
  costliestTests,
  type FailedTests,
  failedTestsByBuild,
  type TestCost,
} from "../../lib/analysis/build_costs.ts";
import { flakinessBadge } from "../../lib/badge/badge.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { formatCount, plural } from "../../lib/base/text.ts";
import { glyph, type Outcome } from "../../lib/html/charts.ts";
import { isoDay, shortOid } from "../../lib/html/format.ts";
import { type Content, externalLink, type Markup, markup } from "../../lib/html/markup.ts";
import { columns, table } from "../../lib/html/table.ts";
import { selectedRepository } from "../../lib/http/request/route.ts";
import { checkVersion, StaleVersionError } from "../../lib/http/request/stale_version.ts";
import { HISTORY_DAYS, historyCharts } from "./history.ts";
import {
  buildLink,
  crumbsTo,
  definePage,
  empty,
  facts,
  firstUpload,
  testName,
  type Tools,
} from "./page.ts";
import { coverageText } from "./repositories.ts";

const NEW_DAYS = 7;
const MAX_ROWS = 10;
/** Enough for ten builds in ten shards. */
const RECENT_SUBMISSIONS = 100;

/** Input of the functions that render the page's sections. */
interface RepositoryTools extends Tools {
  overview: Overview;
  names: ReadonlyMap<string, NamedTest>;
}

/** `/repos/{owner}/{name}`. */
export const repositoryPage = definePage({
  path: "/repos/:owner/:name",
  resource: "repository in path",
  async show(request, pageTools) {
    const { now, windowStart, today } = request;
    const { sql, pathTo } = pageTools;
    const repository = selectedRepository(request);
    const { repositoryId } = repository;
    const ofWindow = { repositoryId, windowStart, branches: null };
    const newDay = today - NEW_DAYS + 1;
    const [[overview], failures, recent, newTests] = await Promise.all([
      loadOverviews(sql, {
        repositoryIds: [repositoryId],
        now,
        windowStart,
        firstDay: today - HISTORY_DAYS + 1,
      }),
      loadFailures(sql, { ...ofWindow, testNo: null }),
      loadSubmissionsPage(sql, { ...ofWindow, after: null, limit: RECENT_SUBMISSIONS }),
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
    const testIds = [...costs.map(({ testId }) => testId), ...causes.flatMap(({ tests }) => tests)];
    const names = await loadTestNames(sql, { repositoryId, testIds, now });
    const tools: RepositoryTools = { ...pageTools, overview, names };
    const fullName = formatRepositoryName(overview);
    return {
      title: fullName,
      crumbs: crumbsTo(pathTo, null),
      content: markup`<h1>${fullName}</h1>
${overview.url && markup`<p>${externalLink(overview.url, overview.url)}</p>`}
${keyFigures(tools)}
${overview.days.length > 0 && historyCharts(overview.days, today)}
${causes.length > 0 && causeTable(causes, tools)}
<h2>Tests that cost the most builds</h2>
${costTable(costs, tools)}
<h2>Flaky for the first time in the last ${NEW_DAYS} days</h2>
${newTable(newTests, newDay, tools)}
<h2>Recent builds</h2>
${buildTable(recent.submissions, failedTestsByBuild(failures.failures), tools)}`,
    };
  },
});

/** A link to the inventory of the repository. */
function inventory(
  { pathTo, overview }: RepositoryTools,
  query: Record<string, string>,
  text: string,
) {
  const repository = formatRepositoryName(overview);
  return markup`<a href="${pathTo(["flaky-tests"], { repository, ...query })}">${text}</a>`;
}

function keyFigures(tools: RepositoryTools): Markup {
  const { overview, at } = tools;
  const { builds, flakyTestCount, quarantinedTestCount } = overview;
  const link = (count: number, quarantine: string) =>
    inventory(tools, { quarantine }, formatCount(count));
  return facts(
    [
      "Flakiness",
      flakinessBadge(builds).percentage ?? "–",
      `${builds.disruptedBuildCount} of ${plural(builds.buildCount, "build")}`,
    ],
    ["Flaky tests", link(flakyTestCount, "false"), "not quarantined"],
    ["Quarantined", link(quarantinedTestCount, "true"), "tests"],
    ["Coverage", coverageText(overview), "of lines, latest report"],
    ["Last upload", at(overview.lastRecordedAt)],
  );
}

function costTable(costs: readonly TestCost[], tools: RepositoryTools): Markup {
  const { overview: { builds }, names } = tools;
  const [worst] = costs;
  if (!worst) {
    return empty(`No flaky failure in ${plural(builds.buildCount, "build")} of the last 14 days.`);
  }
  const rows = costs.map(({ testId, buildCount, disruptionCount }) => {
    const test = names.get(testId)!;
    const tag = test.isQuarantined && markup` <span class="tag">quarantined</span>`;
    const share = flakinessBadge({ ...builds, disruptedBuildCount: buildCount }).percentage;
    return [[testName(tools, testId, test), tag], buildCount, share, disruptionCount];
  });
  return markup`<p>Start with <b>${
    names.get(worst.testId)!.name
  }</b>: it was in ${worst.buildCount} of the
${plural(builds.disruptedBuildCount, "build")} with a flaky failure.</p>
${
    table(
      "Tests that cost the most builds",
      columns("Test|name", "Builds|number", "Share of builds|number wide", "Failures|number"),
      rows,
    )
  }
<p>${inventory(tools, { quarantine: "false" }, "All flaky tests")}</p>`;
}

function newTable(
  tests: readonly NewlyFlakyTest[],
  newDay: number,
  tools: RepositoryTools,
): Markup {
  if (tests.length === 0) return empty("No test became flaky.");
  const rows = tests.slice(0, MAX_ROWS).map((test) => [
    testName(tools, test.id, test),
    tools.at(test.firstDisruptionAt),
    markup`<code class="message">${test.message}</code>`,
  ]);
  const query = { quarantine: "false", q: `first-seen:>=${isoDay(newDay)}` };
  return markup`${
    table(
      "Flaky for the first time",
      columns("Test|name", "First flaky failure|nowrap", "Message|wide"),
      rows,
    )
  }${tests.length > MAX_ROWS && markup`<p>${inventory(tools, query, "All new flaky tests")}</p>`}`;
}

function causeTable(causes: readonly ShownGroup[], tools: RepositoryTools): Markup {
  const rows = causes.map(({ text, testCount, tests, count, lastRecordedAt }) => {
    const list = tests.map((id) => markup`<li>${testName(tools, id, tools.names.get(id)!)}</li>`);
    return [
      markup`<code class="message">${text.message}</code>
<details><summary>${plural(testCount, "test")}</summary><ul>${list}</ul></details>`,
      testCount,
      count,
      tools.at(lastRecordedAt),
    ];
  });
  return markup`<h2>One cause, several tests</h2>
<p>One broken thing behind several tests: mend it before the tests.</p>
${
    table(
      "Causes that hit several tests",
      columns("Message|name", "Tests|number", "Failures|number", "Latest|nowrap wide"),
      rows,
    )
  }`;
}

function buildTable(
  submissions: readonly SubmissionRow[],
  failed: ReadonlyMap<string, FailedTests>,
  tools: RepositoryTools,
): Markup {
  if (submissions.length === 0) {
    const text = markup`<p>No upload in the last 14 days. Upload the reports of a run:</p>`;
    return empty(text, firstUpload(formatRepositoryName(tools.overview)));
  }
  const builds = [...Map.groupBy(submissions, buildKey)].slice(0, MAX_ROWS);
  return table(
    "Recent builds",
    columns("Build|nowrap", "Outcome|nowrap", "Branch", "Commit|wide", "Results|number wide"),
    builds.map(([build, parts]) => buildRow(parts, failed.get(build), tools)),
  );
}

function buildRow(
  parts: readonly SubmissionRow[],
  failed: FailedTests | undefined,
  tools: RepositoryTools,
): Content[] {
  const [latest] = parts as [SubmissionRow];
  const unfinished = parts.find(({ status }) => status !== "processed");
  const [others, flaky] = [failed?.others.size ?? 0, failed?.flaky.size ?? 0];
  const counts = [others > 0 && `${others} failed`, flaky > 0 && `${flaky} flaky`].filter(Boolean);
  const outcome: Outcome = others > 0 ? "failed" : flaky > 0 ? "flaky" : "passed";
  return [
    buildLink(tools, tools.overview, latest.submissionId),
    unfinished?.status ?? [glyph(outcome), " ", counts.join(", ") || "passed"],
    latest.branch,
    markup`<span class="oid">${shortOid(latest.commitOid)}</span>`,
    formatCount(parts.reduce((sum, { testResultCount }) => sum + testResultCount, 0)),
  ];
}
