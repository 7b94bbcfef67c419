// Tests: tests/routes/repositories_page_test.ts
/** The list of repositories, and redirects to it and to a repository. */
import * as v from "valibot";
import {
  type BuildTotals,
  loadOverviews,
  loadRepositoryDetails,
  NO_BUILDS,
  type Overview,
} from "../../db/read/repositories.ts";
import { loadFlakyWeeks } from "../../db/read/flaky_time.ts";
import { countBrokenTests } from "../../db/read/test_states.ts";
import { wilsonLowerBound } from "../../lib/analysis/wilson.ts";
import { coverageBadge, flakinessBadge } from "../../lib/badge/badge.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { formatCount, formatDuration } from "../../lib/base/text.ts";
import { timestampOrNull } from "../../lib/base/time.ts";
import { glyph, shareBar, sparkline } from "../../lib/html/charts.ts";
import { emptyState, factLine, type KeyFigure, table, together } from "../../lib/html/elements.ts";
import { hiddenFields, otherErrors } from "../../lib/html/forms.ts";
import { keptParameters } from "../../lib/html/layout.ts";
import type { ParameterErrors } from "../../lib/http/request/errors.ts";
import * as parameters from "../../lib/http/request/parameters.ts";
import { type Content, type Markup, markup } from "../../lib/html/markup.ts";
import { foldCase } from "../../lib/query/parse.ts";
import * as schemas from "../schemas.ts";
import { definePage, downloadLinks, nothingUploaded, type PageRequest } from "./page.ts";

/** Weeks of the trend, and of the cost of flaky failures. */
const WEEKS = 8;

/** `/`: redirects to the list of repositories. */
export const homePage = definePage({ path: "/", show: ({ pathTo }) => pathTo(["repos"]) });

/** A repository in the list. */
interface Listed extends Overview {
  brokenTestCount: number;
  /** Microseconds of tests that flaky failures cost in each of the last weeks, oldest first. */
  flakyWeeks: readonly number[];
}

interface SortableColumn {
  /** As `table` takes it. */
  head: string;
  /** The value by which it sorts, the highest first; absent where it does not. */
  by?(overview: Listed): number;
}

const COLUMNS = {
  name: { head: "Repository" },
  flakiness: {
    head: "Flakiness|number",
    by: ({ builds }) => wilsonLowerBound(builds.disruptedBuildCount, builds.buildCount),
  },
  broken: { head: "Broken|number", by: ({ brokenTestCount }) => brokenTestCount },
  tests: { head: "Flaky tests|number", by: ({ flakyTestCount }) => flakyTestCount },
  cost: { head: "Cost|number wide", by: ({ flakyWeeks }) => flakyWeeks.at(-1)! },
  weeks: { head: "8 weeks|wide" },
  change: {
    head: "Change|number wide",
    // Below every change: nothing to compare with.
    by: ({ builds, buildsBefore }) => changeOfShare(builds, buildsBefore) ?? -2,
  },
  builds: { head: "Builds|number wide", by: ({ builds }) => builds.buildCount },
  outages: { head: "Outages|number wide", by: ({ builds }) => builds.outageBuildCount },
  quarantined: {
    head: "Quarantined|number wide",
    by: ({ quarantinedTestCount }) => quarantinedTestCount,
  },
  coverage: {
    head: "Coverage|number wide",
    by: ({ coveredLineCount, lineCount }) => lineCount ? coveredLineCount! / lineCount : -1,
  },
  upload: { head: "Last upload|wide nowrap", by: ({ lastRecordedAt }) => lastRecordedAt ?? 0 },
} satisfies Record<string, SortableColumn>;

const ORDERS = [
  "flakiness",
  "name",
  "change",
  "builds",
  "outages",
  "broken",
  "tests",
  "cost",
  "quarantined",
  "coverage",
  "upload",
] as const;

const query = {
  q: parameters.text("Words that must all be in OWNER/NAME, case-insensitively", {
    jsonSchema: { type: "string" },
    example: "shop",
  }),
  sort: parameters.choice("sort", ORDERS, "The column by which repositories are sorted"),
};

type ListPage = PageRequest<{ q?: string | undefined; sort: typeof ORDERS[number] }>;

const overviewSchema = schemas.object("RepositoryOverview", {
  repository: schemas.text("owner/name"),
  flakiness: schemas.nullable(schemas.share, "Share of builds with a disruption"),
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
    "Seconds of tests that flaky failures cost in each of the last 8 weeks, oldest first; the last one ends today",
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
    page.load(loadFlakyWeeks, { today, weekCount: WEEKS }),
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
  const shareOf = (count: number, all: number) =>
    all === 0 ? null : Math.floor(1000 * count / all) / 1000;
  return {
    repository: formatRepositoryName(overview),
    flakiness: isNeverRerun(overview)
      ? null
      : shareOf(builds.disruptedBuildCount, builds.buildCount),
    flakiness_before: shareOf(buildsBefore.disruptedBuildCount, buildsBefore.buildCount),
    build_count: builds.buildCount,
    failed_build_count: builds.failedBuildCount,
    disrupted_build_count: builds.disruptedBuildCount,
    outage_build_count: builds.outageBuildCount,
    build_count_before: buildsBefore.buildCount,
    broken_test_count: overview.brokenTestCount,
    flaky_test_count: overview.flakyTestCount,
    quarantined_test_count: overview.quarantinedTestCount,
    flaky_seconds_by_week: overview.flakyWeeks.map((time) => Math.round(time / 1_000_000)),
    coverage: shareOf(coveredLineCount ?? 0, lineCount ?? 0),
    last_recorded_at: timestampOrNull(overview.lastRecordedAt),
  };
}

/** In place of the flakiness of a repository that never ran any code twice. */
export const NEVER_RERUN = "nothing was run twice";

/** Whether the flakiness of a repository cannot be known, because it never ran any code twice. */
export function isNeverRerun({ builds, hasReruns }: Overview): boolean {
  return !hasReruns && builds.disruptedBuildCount === 0;
}

/** How many builds were outages, which the flakiness contains. */
export function inOutages({ outageBuildCount: count }: Overview["builds"]): string {
  return `${formatCount(count)} in ${count === 1 ? "an outage" : "outages"}`;
}

/** Explains the heads whose words do not. */
const HEAD_TITLES: Partial<Record<keyof typeof COLUMNS, string>> = {
  flakiness:
    "Share of builds with a flaky failure, a failure of a test that also passed on the same code. " +
    "Sorted by the lower end of its 95 % interval, so that few builds do not come first by chance",
  change: "Points of flakiness more or less than in the 14 days before",
  outages: "Builds in which many tests failed at once",
  broken: "Tests whose latest runs on the base branch all failed",
  cost: "Test time of failed attempts and of jobs that ran again, of the last 7 days",
};

/** The title, and the filter in the same line. */
function heading(title: string, filter: Content): Markup {
  return markup`<div class="head"><h1>${title}</h1>${filter}</div>`;
}

function sorted(overviews: readonly Listed[], order: typeof ORDERS[number]): Listed[] {
  const { by }: SortableColumn = COLUMNS[order];
  // They come in the order of their names.
  return by ? overviews.toSorted((a, b) => by(b) - by(a)) : [...overviews];
}

/** Share of disrupted builds; `null` without builds. */
function share({ buildCount, disruptedBuildCount }: BuildTotals): number | null {
  return buildCount === 0 ? null : disruptedBuildCount / buildCount;
}

/** Figures of all listed repositories, against the 14 days before. */
function totals(overviews: readonly Listed[]): Markup {
  const now = sumOf(overviews.map(({ builds }) => builds));
  const isNever = overviews.every(isNeverRerun);
  const before = sumOf(overviews.map(({ buildsBefore }) => buildsBefore));
  const sum = (count: (one: Listed) => number) =>
    overviews.reduce((total, one) => total + count(one), 0);
  const quarantinedCount = sum(({ quarantinedTestCount }) => quarantinedTestCount);
  return factLine(
    costFigure(overviews),
    [
      "Flakiness",
      isNever ? "–" : flakinessBadge(now).percentage ?? "–",
      isNever ? NEVER_RERUN : changeOf(now, before),
      "wide",
    ],
    ["Broken tests", formatCount(sum(({ brokenTestCount }) => brokenTestCount))],
    ["Flaky tests", formatCount(sum(({ flakyTestCount }) => flakyTestCount)), null, "wide"],
    ["Quarantined", formatCount(quarantinedCount), null, "wide"],
    [
      "Builds",
      formatCount(now.buildCount),
      null,
      "wide",
    ],
  );
}

/** What flaky failures cost in the last 7 days and by week. */
function costFigure(overviews: readonly Listed[]): KeyFigure {
  const weeks = Array.from(
    { length: WEEKS },
    (_, week) => overviews.reduce((sum, { flakyWeeks }) => sum + flakyWeeks[week]!, 0),
  );
  const most = Math.max(...weeks);
  return ["Flaky failures cost", formatDuration(weeks.at(-1)!), [
    "in 7 days ",
    most > 0 && sparkline({
      title: `Cost of flaky failures by week, the last ${WEEKS}, oldest first`,
      values: weeks,
      top: most,
      format: formatDuration,
    }),
  ]];
}

function sumOf(counts: readonly BuildTotals[]): BuildTotals {
  const total = { ...NO_BUILDS };
  for (const one of counts) {
    total.buildCount += one.buildCount;
    total.failedBuildCount += one.failedBuildCount;
    total.otherFailedBuildCount += one.otherFailedBuildCount;
    total.disruptedBuildCount += one.disruptedBuildCount;
    total.outageBuildCount += one.outageBuildCount;
  }
  return total;
}

/** The change of the share of disrupted builds, -1 to 1; `null` without builds in one of the periods. */
function changeOfShare(now: BuildTotals, before: BuildTotals): number | null {
  const [share1, share0] = [share(now), share(before)];
  return share1 === null || share0 === null ? null : share1 - share0;
}

/** The change of the flakiness in percentage points, `""` where there is none to tell. */
function changeOf(now: BuildTotals, before: BuildTotals): string {
  const change = changeOfShare(now, before);
  if (change === null) return "";
  const points = Math.round(1000 * change) / 10;
  const sign = points > 0 ? "+" : points < 0 ? "−" : "±";
  return `${sign}${Math.abs(points)} points`;
}

/** The change against the 14 days before, below the figure that it is of. */
export function changeText(now: BuildTotals, before: BuildTotals): string {
  const change = changeOf(now, before);
  return change && `${change} against the 14 days before`;
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

function repositoryTable(
  caption: string,
  overviews: readonly Listed[],
  page: ListPage,
): Markup {
  const { query, parameters: { q }, pathTo } = page;
  const heads = Object.entries(COLUMNS).map(([name, { head }]) => {
    const [word = "", className] = head.split("|");
    const title = HEAD_TITLES[name as keyof typeof COLUMNS];
    const text = title ? markup`<span title="${title}">${word}</span>` : word;
    if (!isOrder(name)) return { name: text, className };
    const address = pathTo(["repos"], { ...q && { q }, sort: name });
    const order = name === "name" ? "ascending" as const : "descending" as const;
    return {
      name: markup`<a href="${address}">${text}</a>`,
      className,
      ...query.sort === name && { order },
    };
  });
  return table(caption, heads, overviews.map((one) => overviewRow(one, page)), "dense");
}

function isOrder(name: string): name is typeof ORDERS[number] {
  return ORDERS.some((order) => order === name);
}

function overviewRow(overview: Listed, { today, link, at, pathTo }: ListPage): Content[] {
  const { owner, name, builds, buildsBefore, flakyTestCount, quarantinedTestCount } = overview;
  const repository = formatRepositoryName(overview);
  const broken = overview.brokenTestCount > 0 &&
    together(
      glyph("failed"),
      markup` <a href="${pathTo(["repos", owner, name])}#broken">${
        formatCount(overview.brokenTestCount)
      }</a>`,
    );
  const cost = overview.flakyWeeks.at(-1)!;
  return [
    link.repository(overview),
    shownFlakiness(overview),
    broken,
    link.inventory({ repository, quarantine: "false" }, formatCount(flakyTestCount)),
    cost > 0 && formatDuration(cost),
    flakinessByWeek(overview, today),
    changeOf(builds, buildsBefore).replace(" points", "") || "–",
    formatCount(builds.buildCount),
    builds.outageBuildCount > 0 && formatCount(builds.outageBuildCount),
    link.inventory({ repository, quarantine: "true" }, formatCount(quarantinedTestCount)),
    coverageBadge(overview).percentage ?? "–",
    at(overview.lastRecordedAt),
  ];
}

const BAR_COLORS = {
  green: "passed",
  light_green: "passed",
  yellow: "flaky",
  red: "failed",
  unknown: "passed",
} as const;

/** The flakiness with a bar in the colour of its badge. */
function shownFlakiness(overview: Listed): Content {
  const { builds } = overview;
  const { percentage, color } = flakinessBadge(builds);
  if (isNeverRerun(overview)) return markup`<span title="${NEVER_RERUN}">–</span>`;
  if (percentage === null) return "–";
  return together(shareBar({ share: share(builds)!, className: BAR_COLORS[color] }), percentage);
}

/** The flakiness of the last weeks as a small chart; nothing without a build. */
function flakinessByWeek({ days }: Listed, today: number): Content {
  if (days.length === 0) return null;
  const weeks = Map.groupBy(days, ({ day }) => WEEKS - 1 - Math.floor((today - day) / 7));
  const values = Array.from({ length: WEEKS }, (_, week) => {
    const shown = share(sumOf(weeks.get(week) ?? []));
    return shown === null ? null : 100 * shown;
  });
  return sparkline({ title: "Builds with a flaky failure by week, oldest first", values });
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
