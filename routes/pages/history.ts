// Tests: tests/routes/page_parameters_test.ts tests/routes/pages_test.ts
/** Charts of the last weeks, by day and by week. */
import { type BuildDay, NO_BUILDS, sumOfBuilds } from "../../db/read/repositories.ts";
import type { FailureDay } from "../../db/read/history_of_test.ts";
import type { RunTimes } from "../../lib/analysis/durations.ts";
import { dayBars, trend } from "../../lib/html/charts.ts";
import { formatDuration, plural } from "../../lib/base/text.ts";
import { formatDay, SECONDS_PER_DAY, weeksAgo, WINDOW_SECONDS } from "../../lib/base/time.ts";
import { type Markup, markup } from "../../lib/html/markup.ts";
import { share } from "./flakiness.ts";

/** Days of the window, and of the time before it with which it is compared. */
const WINDOW_DAYS = WINDOW_SECONDS / SECONDS_PER_DAY;

const FLAKY = { name: "flaky", className: "flaky", width: 1 };
const FAILED = { name: "failed", className: "failed", width: 0.5 };
const PASSED = { name: "passed", className: "quiet", width: 1 };

/**
 * Each day from the first one to today; `empty` where there is none. Up to tomorrow if it has something
 * already, because `recorded_at` may be 24 hours ahead.
 */
function withoutGaps<Day extends { day: number }>(
  days: readonly Day[],
  { today, firstDay, empty }: { today: number; firstDay?: number; empty: Omit<Day, "day"> },
): (Omit<Day, "day"> & { day: number })[] {
  const byDay = new Map(days.map((one) => [one.day, one]));
  const last = Math.max(today, ...byDay.keys());
  const first = Math.min(firstDay ?? last, last, ...byDay.keys());
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const day = first + index;
    return byDay.get(day) ?? { ...empty, day };
  });
}

/** The weeks of some days without gaps, both oldest first. */
function weeksOf<Day extends { day: number }>(days: readonly Day[], today: number): Day[][] {
  return [...Map.groupBy(days, ({ day }) => weeksAgo(day, today)).values()];
}

/** Longer times are drawn by week: bars of single days are too thin to compare. */
const MAX_SINGLE_DAYS = 31;

/** The bars of some days, or of their weeks. */
function barsOf(days: readonly { day: number; parts: readonly number[] }[], today: number) {
  if (days.length <= MAX_SINGLE_DAYS) return { unit: "day" as const, days };
  const weeks = weeksOf(days, today).map((week) => ({
    day: week[0]!.day,
    parts: week[0]!.parts.map((_, part) => week.reduce((sum, { parts }) => sum + parts[part]!, 0)),
  }));
  return { unit: "week" as const, days: weeks };
}

/**
 * Builds by day or week since the first upload, and the share of failed builds by week. A build with a failure that
 * is not flaky counts as failed, whatever else it has. A week in which nothing was run twice has no share of flaky
 * builds.
 */
export function historyCharts(builds: readonly BuildDay[], today: number): Markup {
  const days = withoutGaps(builds, { today, empty: NO_BUILDS });
  const parts = days.map((
    { day, buildCount, failedBuildCount: failed, otherFailedBuildCount: other },
  ) => ({ day, parts: [other, failed - other, buildCount - failed] }));
  const shown = barsOf(parts, today);
  const count = days.reduce((total, { buildCount }) => total + buildCount, 0);
  const bars = dayBars({
    title: `Builds by ${shown.unit}`,
    // The figures of the last 14 days begin at a time of day, and may have builds of the day before.
    note: `${plural(count, "build")} since ${formatDay(days[0]!.day)}`,
    today,
    series: [FAILED, FLAKY, PASSED],
    ...shown,
  });
  const weeks = weeksOf(days, today).map((week) => ({ day: week[0]!.day, ...sumOfBuilds(week) }));
  const flaky = weeks.map((week) => percentOf(share(week)));
  const failed = weeks.map(({ failedBuildCount, buildCount }) =>
    percentOf(buildCount === 0 ? null : failedBuildCount / buildCount)
  );
  const lines = trend({
    title: "Share of builds with a failure, by week",
    labels: weeks.map(({ day }) => formatDay(day)),
    lines: [
      ...flaky.some((one) => one !== null) ? [{ ...FLAKY, values: flaky }] : [],
      { ...FAILED, name: "any failure", values: failed },
    ],
  });
  // One point does not make a line.
  return markup`<div class="pair">${bars}${weeks.length > 1 && lines}</div>`;
}

function percentOf(share: number | null): number | null {
  return share === null ? null : 100 * share;
}

/** The first day of the failures that {@linkcode failureBars} compares, in days since 1970. */
export const firstComparedDay = (today: number): number => today + 1 - 2 * WINDOW_DAYS;

/** The failures of a test by day or week since a day, or since the first upload to its repository. */
export function failureBars(
  failures: readonly FailureDay[],
  { today, firstDay, firstUploadDay }: { today: number; firstDay: number; firstUploadDay: number },
): Markup {
  const empty = { disruptionCount: 0, otherCount: 0 };
  const shown = failures.filter(({ day }) => day >= firstDay);
  const days = withoutGaps(shown, { today, firstDay: Math.max(firstDay, firstUploadDay), empty });
  const inDays = (first: number, end: number) =>
    failures.reduce(
      (sum, { day, disruptionCount: flaky, otherCount: other }) =>
        day >= first && day < end ? sum + flaky + other : sum,
      0,
    );
  const start = today + 1 - WINDOW_DAYS;
  const parts = days.map(({ day, disruptionCount, otherCount }) => (
    { day, parts: [disruptionCount, otherCount] }
  ));
  const shownBars = barsOf(parts, today);
  return dayBars({
    title: `Failures by ${shownBars.unit}`,
    // The window begins at a time of day: its first failures may be of the day before.
    note: markup`${inDays(start, Infinity)} since ${formatDay(start)}, ${
      firstUploadDay < start ? inDays(firstComparedDay(today), start) : "no upload"
    } in the 14 days before`,
    today,
    series: [FLAKY, FAILED],
    ...shownBars,
  });
}

/** How long a test takes: its latest runs, and the median of each week, in microseconds, oldest first. */
export function durationChart(
  { medianMicroseconds, p90Microseconds, runCount }: RunTimes,
  medians: readonly (number | null)[],
  { today, firstUploadDay }: { today: number; firstUploadDay: number },
): Markup {
  const first = Math.max(0, medians.findIndex((median) => median !== null));
  const values = medians.slice(first);
  return trend({
    title: "Duration by week",
    note: markup`${formatDuration(medianMicroseconds)}, at the 90th percentile ${
      formatDuration(p90Microseconds)
    }, of the latest ${plural(runCount, "run")}`,
    labels: values.map((_, index) =>
      formatDay(Math.max(firstUploadDay, today + 1 - 7 * (values.length - index)))
    ),
    lines: [{ name: "median", className: "duration", values }],
    format: formatDuration,
  });
}
