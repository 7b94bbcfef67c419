// Tests: tests/routes/repositories_page_test.ts
/** The table of repositories, its orders, and their totals. */
import { type Overview, sumOfBuilds } from "../../db/read/repositories.ts";
import { wilsonLowerBound } from "../../lib/analysis/wilson.ts";
import { coverageBadge, flakinessBadge } from "../../lib/badge/badge.ts";
import { shownPercentage } from "../../lib/badge/percentage.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { formatCount, formatDuration, plural } from "../../lib/base/text.ts";
import { weeksAgo } from "../../lib/base/time.ts";
import { glyph, shareBar, sparkline } from "../../lib/html/charts.ts";
import { factLine, type KeyFigure, pathInParts, table, together } from "../../lib/html/elements.ts";
import { type Content, type Markup, markup } from "../../lib/html/markup.ts";
import { changeOf, changeOfShare, NEVER_RERUN, share, shareText } from "./flakiness.ts";
import type { PageRequest } from "./page.ts";

/** Weeks of the trend, and of the cost of flaky failures. */
export const WEEKS = 8;

/** A repository in the list. */
export interface Listed extends Overview {
  brokenTestCount: number;
  /** Microseconds of tests that flaky failures cost in each of the last weeks, oldest first. */
  flakyWeeks: readonly number[];
}

interface SortableColumn {
  /** As `table` takes it. */
  head: string;
  /** The time span of its figures, below the head; absent for current values. */
  window?: string;
  /** The value to sort by, highest first; absent if it cannot be sorted by. */
  by?(overview: Listed): number;
}

const COLUMNS = {
  name: { head: "Repository|repository" },
  flakiness: {
    head: "Flakiness|number",
    window: "14 days",
    by: ({ builds }) => wilsonLowerBound(builds.disruptedBuildCount, builds.buildCount),
  },
  broken: { head: "Broken|number", window: "now", by: ({ brokenTestCount }) => brokenTestCount },
  tests: {
    head: "Flaky tests|number",
    window: "14 days",
    by: ({ flakyTestCount }) => flakyTestCount,
  },
  cost: {
    head: "Cost|number wide",
    window: "7 days",
    by: ({ flakyWeeks }) => flakyWeeks.at(-1)!,
  },
  weeks: { head: "Trend|wider", window: "8 weeks" },
  change: {
    head: "Change|number wider",
    window: "14 days",
    // Below every change: nothing to compare with.
    by: ({ builds, buildsBefore }) => changeOfShare(builds, buildsBefore) ?? -2,
  },
  builds: {
    head: "Builds|number wider",
    window: "14 days",
    by: ({ builds }) => builds.buildCount,
  },
  outages: {
    head: "Outages|number wider",
    window: "14 days",
    by: ({ builds }) => builds.outageBuildCount,
  },
  quarantined: {
    head: "Quarantined|number wider",
    window: "now",
    by: ({ quarantinedTestCount }) => quarantinedTestCount,
  },
  coverage: {
    head: "Coverage|number wider",
    window: "latest",
    by: ({ coveredLineCount, lineCount }) => lineCount ? coveredLineCount! / lineCount : -1,
  },
  upload: { head: "Last upload|wide nowrap", by: ({ lastRecordedAt }) => lastRecordedAt ?? 0 },
} satisfies Record<string, SortableColumn>;

/** The columns by which the table is sorted. */
export const ORDERS = [
  "broken",
  "flakiness",
  "name",
  "change",
  "builds",
  "outages",
  "tests",
  "cost",
  "quarantined",
  "coverage",
  "upload",
] as const;

export type ListPage = PageRequest<{ q?: string | undefined; sort: typeof ORDERS[number] }>;

/** Explains the heads whose words do not. */
const HEAD_TITLES: Partial<Record<keyof typeof COLUMNS, string>> = {
  flakiness:
    "Share of builds with a flaky failure, a failure of a test that also passed on the same code. " +
    "Sorted by the lower end of its 95 % interval, so that few builds do not come first by chance",
  change: "Points of flakiness more or less than in the 14 days before",
  outages: "Builds in which many tests failed at once, as on other branches",
  broken: "Tests whose latest runs on the base branch all failed",
  cost: "Test time of failed attempts and of jobs that ran again, of the last 7 days",
};

/** The repositories in an order, the highest first. */
export function sorted(overviews: readonly Listed[], order: typeof ORDERS[number]): Listed[] {
  const { by }: SortableColumn = COLUMNS[order];
  if (!by) return [...overviews];
  const flakiness = COLUMNS.flakiness.by;
  // They come in the order of their names. Most have no broken test.
  return overviews.toSorted((a, b) =>
    by(b) - by(a) || (order === "broken" ? flakiness(b) - flakiness(a) : 0)
  );
}

/** Figures of all listed repositories, against the 14 days before. */
export function totals(overviews: readonly Listed[]): Markup {
  const now = sumOfBuilds(overviews.map(({ builds }) => builds));
  const before = sumOfBuilds(overviews.map(({ buildsBefore }) => buildsBefore));
  const change = changeOf(now, before);
  const sum = (count: (one: Listed) => number) =>
    overviews.reduce((total, one) => total + count(one), 0);
  const quarantinedCount = sum(({ quarantinedTestCount }) => quarantinedTestCount);
  return factLine(
    costFigure(overviews),
    [
      "Flakiness",
      shareText(now),
      now.hasReruns
        ? `of ${plural(now.buildCount, "build")} in 14 days${change && `, ${change}`}`
        : NEVER_RERUN,
      "wide",
    ],
    ["Broken tests", formatCount(sum(({ brokenTestCount }) => brokenTestCount)), null, "wide"],
    ["Flaky tests", formatCount(sum(({ flakyTestCount }) => flakyTestCount)), null, "wide"],
    ["Quarantined", formatCount(quarantinedCount), null, "wide"],
    ...now.hasReruns ? [] : [["Builds", formatCount(now.buildCount), null, "wide"] as const],
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

/** A row for each repository; the heads sort. */
export function repositoryTable(
  caption: string,
  overviews: readonly Listed[],
  page: ListPage,
): Markup {
  const { query, parameters: { q }, pathTo } = page;
  // A phone has no room for an empty column.
  const hasBroken = overviews.some(({ brokenTestCount }) => brokenTestCount > 0);
  const heads = Object.entries(COLUMNS).map(([name, column]: [string, SortableColumn]) => {
    const [word = "", ownClass] = column.head.split("|");
    const className = name === "broken" && !hasBroken ? `${ownClass} wide` : ownClass;
    const title = HEAD_TITLES[name as keyof typeof COLUMNS];
    const text = title ? markup`<span title="${title}">${word}</span>` : word;
    const window = column.window && markup` <small>${column.window}</small>`;
    if (!isOrder(name)) return { name: [text, window], className };
    const address = pathTo(["repos"], { ...q && { q }, sort: name });
    const order = name === "name" ? "ascending" as const : "descending" as const;
    return {
      name: [markup`<a href="${address}">${text}</a>`, window],
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
    link.repository(overview, pathInParts),
    shownFlakiness(overview),
    broken,
    flakyTestCount === 0 && builds.buildCount > 0 && !builds.hasReruns
      ? markup`<a href="${
        pathTo(["repos", owner, name])
      }#intermittent" title="${NEVER_RERUN}: tests that fail
now and then are found by their history on the base branch">by history</a>`
      : link.inventory({ repository, quarantine: "false" }, formatCount(flakyTestCount)),
    cost > 0 && formatDuration(cost),
    flakinessByWeek(overview, today),
    changeOf(builds, buildsBefore).replace(" points", "") || "–",
    formatCount(builds.buildCount),
    builds.outageBuildCount > 0 && formatCount(builds.outageBuildCount),
    link.inventory({ repository, quarantine: "true" }, formatCount(quarantinedTestCount)),
    shownPercentage(coverageBadge(overview)),
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
  const shown = share(builds);
  if (builds.buildCount === 0) return "–";
  if (shown === null) return markup`<span title="${NEVER_RERUN}">–</span>`;
  const bar = shareBar({ share: shown, className: BAR_COLORS[flakinessBadge(builds).color] });
  return markup`<span class="share">${bar} ${shareText(builds)}</span>`;
}

/** The flakiness of the last weeks as a small chart; nothing where nothing was run twice in any of them. */
function flakinessByWeek({ days }: Listed, today: number): Content {
  if (!days.some(({ hasReruns }) => hasReruns)) return null;
  const weeks = Map.groupBy(days, ({ day }) => WEEKS - 1 - weeksAgo(day, today));
  const values = Array.from({ length: WEEKS }, (_, week) => {
    const shown = share(sumOfBuilds(weeks.get(week) ?? []));
    return shown === null ? null : 100 * shown;
  });
  return sparkline({ title: "Builds with a flaky failure by week, oldest first", values });
}
