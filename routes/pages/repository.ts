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
  emptyState,
  firstUpload,
  keyFigures,
  type PageContext,
  testName,
} from "./page.ts";
import { coverageText } from "./repositories.ts";

const NEW_DAYS = 7;
const MAX_ROWS = 10;
/** Enough for ten builds in ten shards. */
const RECENT_SUBMISSIONS = 100;

/** Input of the functions that render the page's sections. */
interface RepositoryContext extends PageContext {
  overview: Overview;
  names: ReadonlyMap<string, NamedTest>;
}

/** `/repos/{owner}/{name}`. */
export const repositoryPage = definePage({
  path: "/repos/:owner/:name",
  resource: "repository in path",
  async show(request, pageContext) {
    const { now, windowStart, today } = request;
    const { sql, pathTo } = pageContext;
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
    const failedTests = failedTestsByBuild(failures.failures);
    const costs = costliestTests(failedTests.values(), MAX_ROWS);
    // Failures without any text may have different causes.
    const causes = failures.groups.filter(({ testCount, text }) =>
      testCount > 1 && text.message !== ""
    ).slice(0, MAX_ROWS);
    const testIds = [...costs.map(({ testId }) => testId), ...causes.flatMap(({ tests }) => tests)];
    const names = await loadTestNames(sql, { repositoryId, testIds, now });
    const context: RepositoryContext = { ...pageContext, overview, names };
    const fullName = formatRepositoryName(overview);
    return {
      title: fullName,
      crumbs: crumbsTo(pathTo, null),
      content: markup`<h1>${fullName}</h1>
${overview.url && markup`<p>${externalLink(overview.url, overview.url)}</p>`}
${repositoryFigures(context)}
${overview.days.length > 0 && historyCharts(overview.days, today)}
${causes.length > 0 && causeTable(causes, context)}
<h2>Tests that cost the most builds</h2>
${costTable(costs, context)}
<h2>Flaky for the first time in the last ${NEW_DAYS} days</h2>
${newTable(newTests, newDay, context)}
<h2>Recent builds</h2>
${buildTable(recent.submissions, failedTests, context)}`,
    };
  },
});

/** A link to the inventory of the repository. */
function inventory(
  { pathTo, overview }: RepositoryContext,
  query: Record<string, string>,
  text: string,
) {
  const repository = formatRepositoryName(overview);
  return markup`<a href="${pathTo(["flaky-tests"], { repository, ...query })}">${text}</a>`;
}

function repositoryFigures(context: RepositoryContext): Markup {
  const { overview, at } = context;
  const { builds, flakyTestCount, quarantinedTestCount } = overview;
  const link = (count: number, quarantine: string) =>
    inventory(context, { quarantine }, formatCount(count));
  return keyFigures(
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

function costTable(costs: readonly TestCost[], context: RepositoryContext): Markup {
  const { overview: { builds }, names } = context;
  const [worst] = costs;
  if (!worst) {
    return emptyState(
      `No flaky failure in ${plural(builds.buildCount, "build")} of the last 14 days.`,
    );
  }
  const rows = costs.map(({ testId, buildCount, disruptionCount }) => {
    const test = names.get(testId)!;
    const tag = test.isQuarantined && markup` <span class="tag">quarantined</span>`;
    const share = flakinessBadge({ ...builds, disruptedBuildCount: buildCount }).percentage;
    return [[testName(context, testId, test), tag], buildCount, share, disruptionCount];
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
<p>${inventory(context, { quarantine: "false" }, "All flaky tests")}</p>`;
}

function newTable(
  tests: readonly NewlyFlakyTest[],
  newDay: number,
  context: RepositoryContext,
): Markup {
  if (tests.length === 0) return emptyState("No test became flaky.");
  const rows = tests.slice(0, MAX_ROWS).map((test) => [
    testName(context, test.id, test),
    context.at(test.firstDisruptionAt),
    markup`<code class="message">${test.message}</code>`,
  ]);
  const query = { quarantine: "false", q: `first-seen:>=${isoDay(newDay)}` };
  return markup`${
    table(
      "Flaky for the first time",
      columns("Test|name", "First flaky failure|nowrap", "Message|wide"),
      rows,
    )
  }${
    tests.length > MAX_ROWS && markup`<p>${inventory(context, query, "All new flaky tests")}</p>`
  }`;
}

function causeTable(causes: readonly ShownGroup[], context: RepositoryContext): Markup {
  const rows = causes.map(({ text, testCount, tests, count, lastRecordedAt }) => {
    const list = tests.map((id) =>
      markup`<li>${testName(context, id, context.names.get(id)!)}</li>`
    );
    return [
      markup`<code class="message">${text.message}</code>
<details><summary>${plural(testCount, "test")}</summary><ul>${list}</ul></details>`,
      testCount,
      count,
      context.at(lastRecordedAt),
    ];
  });
  return markup`<h2>One cause, several tests</h2>
<p>One cause behind several failing tests: fix it before the tests.</p>
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
  context: RepositoryContext,
): Markup {
  if (submissions.length === 0) {
    const text = markup`<p>No upload in the last 14 days. Upload the reports of a run:</p>`;
    return emptyState(text, firstUpload(formatRepositoryName(context.overview)));
  }
  const builds = [...Map.groupBy(submissions, buildKey)].slice(0, MAX_ROWS);
  return table(
    "Recent builds",
    columns("Build|nowrap", "Outcome|nowrap", "Branch", "Commit|wide", "Results|number wide"),
    builds.map(([build, parts]) => buildRow(parts, failed.get(build), context)),
  );
}

function buildRow(
  parts: readonly SubmissionRow[],
  failed: FailedTests | undefined,
  context: RepositoryContext,
): Content[] {
  const [latest] = parts as [SubmissionRow];
  const unfinished = parts.find(({ status }) => status !== "processed");
  const [others, flaky] = [failed?.others.size ?? 0, failed?.flaky.size ?? 0];
  const counts = [others > 0 && `${others} failed`, flaky > 0 && `${flaky} flaky`].filter(Boolean);
  const outcome: Outcome = others > 0 ? "failed" : flaky > 0 ? "flaky" : "passed";
  return [
    buildLink(context, context.overview, latest.submissionId),
    unfinished?.status === "failed"
      ? "upload failed"
      : unfinished?.status ?? [glyph(outcome), " ", counts.join(", ") || "passed"],
    latest.branch,
    markup`<span class="oid">${shortOid(latest.commitOid)}</span>`,
    formatCount(parts.reduce((sum, { testResultCount }) => sum + testResultCount, 0)),
  ];
}
