/** The list of repositories, and redirects to it and to a repository. */
import { loadOverviews, loadRepositoryDetails, type Overview } from "../../db/read/repositories.ts";
import { coverageBadge, flakinessBadge } from "../../lib/badge/badge.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { formatCount } from "../../lib/base/text.ts";
import { sparkline } from "../../lib/html/charts.ts";
import { emptyState, table } from "../../lib/html/elements.ts";
import * as parameters from "../../lib/http/request/parameters.ts";
import { type Content, markup } from "../../lib/html/markup.ts";
import { definePage, firstUpload, type PageRequest } from "./page.ts";

const SHOWN_DAYS = 14;

/** `/`: redirects to the list of repositories. */
export const homePage = definePage({ path: "/", show: ({ pathTo }) => pathTo(["repos"]) });

/** `/repos`: all repositories, the flakiest first. */
export const repositoriesPage = definePage({
  path: "/repos",
  resource: "repositories in query",
  async show(page) {
    const firstDay = page.today - SHOWN_DAYS + 1;
    const overviews = await page.loadEach(loadOverviews, { firstDay });
    const list = table(
      "Repositories, the flakiest first",
      [
        "Repository",
        "Flakiness|number",
        "By day|wide",
        "Flaky tests|number",
        "Quarantined|number wide",
        "Coverage|number wide",
        "Last upload|wide",
      ],
      overviews.toSorted((a, b) => flakiness(b) - flakiness(a))
        .map((one) => overviewRow(one, firstDay, page)),
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

/** How many builds were outages, which the flakiness contains. */
export function inOutages({ outageBuildCount: count }: Overview["builds"]): string {
  return `${formatCount(count)} in ${count === 1 ? "an outage" : "outages"}`;
}

/** Share of disrupted builds; -1 without builds, which sorts last. */
function flakiness({ builds }: Overview): number {
  return builds.buildCount === 0 ? -1 : builds.disruptedBuildCount / builds.buildCount;
}

function overviewRow(overview: Overview, firstDay: number, { link, at }: PageRequest): Content[] {
  const { builds, flakyTestCount, quarantinedTestCount } = overview;
  const repository = formatRepositoryName(overview);
  const values = Array.from({ length: SHOWN_DAYS }, (_, index) => {
    const day = overview.days.find(({ day }) => day === firstDay + index);
    return day ? 100 * day.disruptedBuildCount / day.buildCount : null;
  });
  const share = `${builds.disruptedBuildCount} of ${formatCount(builds.buildCount)} builds`;
  return [
    link.repository(overview),
    markup`${flakinessBadge(builds).percentage ?? "–"}<small>${share}</small>${
      builds.outageBuildCount > 0 && markup`<small>${inOutages(builds)}</small>`
    }`,
    sparkline({ title: "Builds with a flaky failure by day, oldest first", values }),
    link.inventory({ repository, quarantine: "false" }, formatCount(flakyTestCount)),
    link.inventory({ repository, quarantine: "true" }, formatCount(quarantinedTestCount)),
    coverageBadge(overview).percentage ?? "–",
    at(overview.lastRecordedAt),
  ];
}

/** `/repos/{owner}/{name}/builds`: the page of the repository lists its builds. */
export const buildsPage = definePage({
  path: "/repos/:owner/:name/builds",
  resource: "repository in path",
  async show({ loadEach, pathTo }) {
    const [repository] = await loadEach(loadRepositoryDetails, {});
    return pathTo(["repos", repository!.owner, repository!.name]);
  },
});

/** `/coverage`, an address of the earlier service: the repository, or all of them. */
export const coveragePage = definePage({
  path: "/coverage",
  resource: "repositories in query",
  query: { repository: parameters.repository, repository_id: parameters.repositoryId },
  async show({ loadEach, pathTo, parameters }) {
    const found = await loadEach(loadRepositoryDetails, {});
    const isNamed = parameters.repository !== undefined || parameters.repository_id !== undefined;
    const [first] = found;
    return isNamed && first ? pathTo(["repos", first.owner, first.name]) : pathTo(["repos"]);
  },
});

/** `/repos/{name}`: redirects to the repository with this name, or to the list if there are several. */
export const repositoryByNamePage = definePage({
  path: "/repos/:name",
  resource: "repositories by name in path",
  async show({ loadEach, pathTo }) {
    const found = await loadEach(loadRepositoryDetails, {});
    const [{ owner, name }] = found as [typeof found[0]];
    return found.length === 1 ? pathTo(["repos", owner, name]) : pathTo(["repos"]);
  },
});
