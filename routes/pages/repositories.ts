// Tests: tests/routes/repositories_page_test.ts
/** The list of repositories, and redirects to it and to a repository. */
import * as v from "valibot";
import { loadFlakyWeeks } from "../../db/read/flaky_time.ts";
import { loadOverviews, loadRepositoryDetails } from "../../db/read/repositories.ts";
import { countBrokenTests } from "../../db/read/broken_tests.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { formatCount } from "../../lib/base/text.ts";
import { timestampOrNull } from "../../lib/base/time.ts";
import { emptyState } from "../../lib/html/elements.ts";
import { hiddenFields, otherErrors } from "../../lib/html/forms.ts";
import { keptParameters } from "../../lib/html/layout.ts";
import type { ParameterErrors } from "../../lib/http/request/errors.ts";
import * as parameters from "../../lib/http/request/parameters.ts";
import { type Content, type Markup, markup } from "../../lib/html/markup.ts";
import { foldCase } from "../../lib/query/parse.ts";
import * as schemas from "../schemas.ts";
import { share } from "./flakiness.ts";
import { definePage, downloadLinks, nothingUploaded } from "./page.ts";
import {
  type Listed,
  type ListPage,
  ORDERS,
  repositoryTable,
  sorted,
  totals,
  WEEKS,
} from "./repository_table.ts";

/** `/`: redirects to the list of repositories. */
export const homePage = definePage({ path: "/", show: ({ pathTo }) => pathTo(["repos"]) });

const query = {
  q: parameters.text("Words that must all be in OWNER/NAME, case-insensitively", {
    jsonSchema: { type: "string" },
    example: "shop",
  }),
  sort: parameters.choice("sort", ORDERS, "The column by which repositories are sorted"),
};

const overviewSchema = schemas.object("RepositoryOverview", {
  repository: schemas.text("owner/name"),
  flakiness: schemas.nullable(
    schemas.share,
    "Share of builds with a disruption; null if nothing was run twice",
  ),
  flakiness_before: schemas.nullable(schemas.share, "The same of the 14 days before"),
  build_count: schemas.count("Builds"),
  failed_build_count: schemas.count("Builds with a failure"),
  disrupted_build_count: schemas.count("Builds with a disruption"),
  outage_build_count: schemas.count("Builds in an outage"),
  build_count_before: schemas.count("Builds in the 14 days before"),
  broken_test_count: schemas.count("Tests of which the latest runs on the base branch all failed"),
  flaky_test_count: schemas.count("Flaky tests that are not quarantined"),
  quarantined_test_count: schemas.count("Quarantined tests"),
  flaky_seconds_by_week: schemas.described(
    v.array(schemas.count("Seconds")),
    "Seconds of tests that flaky failures cost in each of the last 8 weeks, oldest first; the last one ends now",
  ),
  coverage: schemas.nullable(schemas.share, "Share of covered lines"),
  last_recorded_at: schemas.nullable(schemas.timestamp, "Time of the latest submission"),
});

/** `/repos`: all repositories; those without a build in the window apart. */
export const repositoriesPage = definePage({
  path: "/repos",
  resource: "repositories in query",
  query,
  showErrors(errors, { parameters: { sort: _, ...parameters }, pathTo }) {
    const title = "Repositories";
    return { title, content: heading(title, filter({ parameters, pathTo }, errors)) };
  },
  list: {
    item: overviewSchema,
    async *batches(read) {
      yield (await read(findOverviews)).found.map(overviewItem);
    },
  },
  async show(page) {
    const { all, found } = await findOverviews(page);
    const active = found.filter(({ builds }) => builds.buildCount > 0);
    const quiet = found.filter(({ builds }) => builds.buildCount === 0);
    const title = "Repositories";
    if (all.length === 0) {
      return { title, content: markup`<h1>${title}</h1>${await nothingUploaded(page)}` };
    }
    return {
      title,
      content: markup`${heading(title, all.length > 1 && filter(page))}
${totals(found)}
${active.length > 0 && repositoryTable("Repositories", active, page)}
${found.length === 0 && emptyState("No repository matches. Remove a word of the filter.")}
${
        quiet.length > 0 && markup`<details${active.length === 0 && markup` open`}>
<summary>${
          quiet.length === 1 ? "1 repository" : `${formatCount(quiet.length)} repositories`
        } without a build in the last 14 days</summary>
${repositoryTable("Repositories without a build", quiet, page)}</details>`
      }
${found.length > 0 && downloadLinks(["repos"], page)}`,
    };
  },
});

/** All repositories, and those that match the filter, sorted. */
async function findOverviews(
  page: Pick<ListPage, "today" | "load" | "query">,
): Promise<{ all: Listed[]; found: Listed[] }> {
  const { today } = page;
  const firstDay = today + 1 - 7 * WEEKS;
  const [overviews, broken, costs] = await Promise.all([
    page.load(loadOverviews, { firstDay, withBefore: true }),
    page.load(countBrokenTests, {}),
    page.load(loadFlakyWeeks, { weekCount: WEEKS }),
  ]);
  const noCost = Array.from({ length: WEEKS }, () => 0);
  const all = overviews.map((one) => ({
    ...one,
    brokenTestCount: broken.get(one.repositoryId) ?? 0,
    flakyWeeks: costs.get(one.repositoryId) ?? noCost,
  }));
  const words = foldCase(page.query.q ?? "").split(/\s+/);
  const matching = all.filter((one) =>
    words.every((word) => foldCase(formatRepositoryName(one)).includes(word))
  );
  return { all, found: sorted(matching, page.query.sort) };
}

function overviewItem(overview: Listed): v.InferOutput<typeof overviewSchema> {
  const { builds, buildsBefore, coveredLineCount, lineCount } = overview;
  const shown = (share: number | null) => share === null ? null : Math.floor(1000 * share) / 1000;
  return {
    repository: formatRepositoryName(overview),
    flakiness: shown(share(builds)),
    flakiness_before: shown(share(buildsBefore)),
    build_count: builds.buildCount,
    failed_build_count: builds.failedBuildCount,
    disrupted_build_count: builds.disruptedBuildCount,
    outage_build_count: builds.outageBuildCount,
    build_count_before: buildsBefore.buildCount,
    broken_test_count: overview.brokenTestCount,
    flaky_test_count: overview.flakyTestCount,
    quarantined_test_count: overview.quarantinedTestCount,
    flaky_seconds_by_week: overview.flakyWeeks.map((time) => Math.round(time / 1_000_000)),
    coverage: shown(lineCount ? coveredLineCount! / lineCount : null),
    last_recorded_at: timestampOrNull(overview.lastRecordedAt),
  };
}

/** The title, and the filter in the same line. */
function heading(title: string, filter: Content): Markup {
  return markup`<div class="head"><h1>${title}</h1>${filter}</div>`;
}

function filter(
  { parameters, pathTo }: Pick<ListPage, "parameters" | "pathTo">,
  errors: ParameterErrors = {},
): Markup {
  const { q = "", sort } = parameters;
  return markup`<form class="filters" action="${pathTo(["repos"])}" role="search">${
    otherErrors(errors, [])
  }
${sort && markup`<input type="hidden" name="sort" value="${sort}">`}
<div><label class="hidden" for="q">Repository</label><input id="q" name="q" value="${q}" placeholder="part of owner/name" autocomplete="off" spellcheck="false"></div>
<button>Show</button>${hiddenFields(keptParameters(parameters))}</form>`;
}

/** `/coverage`, an address of the earlier service: the repository, or all of them. */
export const coveragePage = definePage({
  path: "/coverage",
  resource: "repositories in query",
  query: { repository: parameters.repository, repository_id: parameters.repositoryId },
  async show({ load, pathTo, parameters }) {
    const found = await load(loadRepositoryDetails, {});
    const isNamed = parameters.repository !== undefined || parameters.repository_id !== undefined;
    const [first] = found;
    return isNamed && first ? pathTo(["repos", first.owner, first.name]) : pathTo(["repos"]);
  },
});

/** `/repos/{name}`: redirects to the repository with this name, or to the list if there are several. */
export const repositoryByNamePage = definePage({
  path: "/repos/:name",
  resource: "repositories by name in path",
  async show({ load, pathTo }) {
    const found = await load(loadRepositoryDetails, {});
    const [{ owner, name }] = found as [typeof found[0]];
    return found.length === 1 ? pathTo(["repos", owner, name]) : pathTo(["repos"]);
  },
});
