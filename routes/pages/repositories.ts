/** The pages that lead to a repository. */
import { loadOverviews, type Overview } from "../../db/read/overviews.ts";
import { loadRepositoryDetails } from "../../db/read/repositories.ts";
import { coverageBadge, flakinessBadge } from "../../lib/badge/badge.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { sparkline } from "../../lib/html/charts.ts";
import { formatCount, moment } from "../../lib/html/format.ts";
import { type Content, markup, type PathTo } from "../../lib/html/markup.ts";
import { checkVersion } from "../../lib/http/request/stale_version.ts";
import { columns, definePage, repositoryPath, table } from "./page.ts";

const SHOWN_DAYS = 14;

/** `/`: leads to the list of repositories. */
export const homePage = definePage({ path: "/", show: (_, { pathTo }) => pathTo(["repos"]) });

/** `/repos`: all repositories, the flakiest first. */
export const repositoriesPage = definePage({
  path: "/repos",
  resource: "repositories in query",
  async show({ repositories, now, windowStart, today }, { context: { sql }, pathTo }) {
    const overviews = await loadOverviews(sql, {
      repositoryIds: repositories.map(({ repositoryId }) => repositoryId),
      now,
      windowStart,
      firstDay: today - SHOWN_DAYS + 1,
    });
    const versions = new Map(overviews.map((one) => [one.repositoryId, one]));
    for (const repository of repositories) {
      checkVersion(repository, versions.get(repository.repositoryId) ?? null);
    }
    const flakiest = overviews.toSorted((a, b) => flakiness(b) - flakiness(a));
    return {
      title: "Repositories",
      content: markup`<h1>Repositories</h1>
${
        overviews.length === 0 ? NO_REPOSITORIES : table(
          "Repositories, the flakiest first",
          columns(
            "Repository",
            "Flakiness|number",
            "By day",
            "Flaky tests|number",
            "Quarantined|number wide",
            "Coverage|number wide",
            "Last upload|nowrap",
          ),
          flakiest.map((one) => overviewRow(one, { pathTo, today })),
        )
      }`,
    };
  },
});

const NO_REPOSITORIES =
  markup`<div class="empty"><p>Nothing was uploaded yet. A repository appears with its first
JUnit report:</p>
<pre>test-analytics ingest --org NAME --repo OWNER/NAME --commit HEAD reports/</pre></div>`;

/** Share of disrupted builds; without builds after all others. */
function flakiness({ builds }: Overview): number {
  return builds.buildCount === 0 ? -1 : builds.disruptedBuildCount / builds.buildCount;
}

function overviewRow(
  overview: Overview,
  { pathTo, today }: { pathTo: PathTo; today: number },
): Content[] {
  const { builds, days, lastRecordedAt } = overview;
  const fullName = formatRepositoryName(overview);
  const byDay = new Map(days.map((one) => [one.day, one]));
  const values = Array.from({ length: SHOWN_DAYS }, (_, index) => {
    const day = byDay.get(today - SHOWN_DAYS + 1 + index);
    return day ? 100 * day.disruptedBuildCount / day.buildCount : null;
  });
  const list = (quarantine: string) =>
    pathTo(["flaky-tests"], { repository: fullName, quarantine });
  return [
    markup`<a href="${repositoryPath(pathTo, overview)}">${fullName}</a>`,
    markup`${flakinessBadge(builds).percentage ?? "–"}<small>${builds.disruptedBuildCount} of ${
      formatCount(builds.buildCount)
    } builds</small>`,
    sparkline({ title: "Builds with a flaky failure by day, oldest first", values }),
    markup`<a href="${list("false")}">${formatCount(overview.flakyTestCount)}</a>`,
    markup`<a href="${list("true")}">${formatCount(overview.quarantinedTestCount)}</a>`,
    coverageBadge(coverageOf(overview)).percentage ?? "–",
    lastRecordedAt === null ? "never" : moment(lastRecordedAt, today),
  ];
}

/** The latest coverage, as its badge shows it. */
export function coverageOf({ coveredLineCount, lineCount }: Overview) {
  return coveredLineCount === null || lineCount === null ? null : { coveredLineCount, lineCount };
}

/** `/repos/{name}`: leads to the repository of this name, or to a choice between several. */
export const repositoryByNamePage = definePage({
  path: "/repos/:name",
  resource: "repositories by name in path",
  async show({ repositories }, { context: { sql }, pathTo }) {
    const ids = repositories.map(({ repositoryId }) => repositoryId);
    const found = await loadRepositoryDetails(sql, ids);
    if (found.length === 1) return repositoryPath(pathTo, found[0]!);
    return {
      title: "Which repository?",
      content: markup`<h1>Which repository?</h1>
<p>${found.length} repositories have this name.</p><ul>${
        found.map((one) =>
          markup`<li><a href="${repositoryPath(pathTo, one)}">${formatRepositoryName(one)}</a></li>`
        )
      }</ul>`,
    };
  },
});
