/** The list of repositories, and redirects to it and to a repository. */
import { loadOverviews, type Overview } from "../../db/read/overviews.ts";
import { loadRepositoryDetails } from "../../db/read/repositories.ts";
import { coverageBadge, flakinessBadge } from "../../lib/badge/badge.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { formatCount } from "../../lib/base/text.ts";
import { sparkline } from "../../lib/html/charts.ts";
import { type Content, markup } from "../../lib/html/markup.ts";
import { columns, table } from "../../lib/html/table.ts";
import { checkVersion } from "../../lib/http/request/stale_version.ts";
import { definePage, emptyState, firstUpload, type PageContext, repositoryPath } from "./page.ts";

const SHOWN_DAYS = 14;

/** `/`: redirects to the list of repositories. */
export const homePage = definePage({ path: "/", show: (_, { pathTo }) => pathTo(["repos"]) });

/** `/repos`: all repositories, the flakiest first. */
export const repositoriesPage = definePage({
  path: "/repos",
  resource: "repositories in query",
  async show({ repositories, now, windowStart, today }, context) {
    const firstDay = today - SHOWN_DAYS + 1;
    const repositoryIds = repositories.map(({ repositoryId }) => repositoryId);
    const overviews = await loadOverviews(context.sql, {
      repositoryIds,
      now,
      windowStart,
      firstDay,
    });
    const versions = new Map(overviews.map((one) => [one.repositoryId, one]));
    for (const repository of repositories) {
      checkVersion(repository, versions.get(repository.repositoryId) ?? null);
    }
    const flakiest = overviews.toSorted((a, b) => flakiness(b) - flakiness(a));
    const list = table(
      "Repositories, the flakiest first",
      columns(
        "Repository",
        "Flakiness|number",
        "By day|wide",
        "Flaky tests|number",
        "Quarantined|number wide",
        "Coverage|number wide",
        "Last upload|wide",
      ),
      flakiest.map((one) => overviewRow(one, firstDay, context)),
    );
    const none = emptyState(
      markup`<p>Nothing has been uploaded yet. A repository appears with its first JUnit report:</p>`,
      firstUpload("OWNER/NAME"),
    );
    return {
      title: "Repositories",
      content: markup`<h1>Repositories</h1>${overviews.length > 0 ? list : none}`,
    };
  },
});

/** Share of disrupted builds; -1 without builds, which sorts last. */
function flakiness({ builds }: Overview): number {
  return builds.buildCount === 0 ? -1 : builds.disruptedBuildCount / builds.buildCount;
}

function overviewRow(overview: Overview, firstDay: number, { pathTo, at }: PageContext): Content[] {
  const { builds, flakyTestCount, quarantinedTestCount } = overview;
  const repository = formatRepositoryName(overview);
  const byDay = new Map(overview.days.map((one) => [one.day, one]));
  const values = Array.from({ length: SHOWN_DAYS }, (_, index) => {
    const day = byDay.get(firstDay + index);
    return day ? 100 * day.disruptedBuildCount / day.buildCount : null;
  });
  const link = (count: number, quarantine: string) =>
    markup`<a href="${pathTo(["flaky-tests"], { repository, quarantine })}">${
      formatCount(count)
    }</a>`;
  const share = `${builds.disruptedBuildCount} of ${formatCount(builds.buildCount)} builds`;
  return [
    markup`<a href="${repositoryPath(pathTo, overview)}">${repository}</a>`,
    markup`${flakinessBadge(builds).percentage ?? "–"}<small>${share}</small>`,
    sparkline({ title: "Builds with a flaky failure by day, oldest first", values }),
    link(flakyTestCount, "false"),
    link(quarantinedTestCount, "true"),
    coverageText(overview),
    at(overview.lastRecordedAt),
  ];
}

/** The latest coverage, as its badge shows it. */
export function coverageText({ coveredLineCount, lineCount }: Overview): string {
  const counts = coveredLineCount === null || lineCount === null
    ? null
    : { coveredLineCount, lineCount };
  return coverageBadge(counts).percentage ?? "–";
}

/** `/repos/{name}`: redirects to the repository with this name, or lists several. */
export const repositoryByNamePage = definePage({
  path: "/repos/:name",
  resource: "repositories by name in path",
  async show({ repositories }, { sql, pathTo }) {
    const ids = repositories.map(({ repositoryId }) => repositoryId);
    const found = await loadRepositoryDetails(sql, ids);
    if (found.length === 1) return repositoryPath(pathTo, found[0]!);
    const links = found.map((one) =>
      markup`<li><a href="${repositoryPath(pathTo, one)}">${formatRepositoryName(one)}</a></li>`
    );
    return {
      title: "Which repository?",
      content: markup`<h1>Which repository?</h1>
<p>${found.length} repositories have this name.</p><ul>${links}</ul>`,
    };
  },
});
