/** Charts of the last weeks, by day and by week. */
import type { BuildDay } from "../../db/read/overviews.ts";
import type { FailureDay } from "../../db/read/test_history.ts";
import { dayBars, trend } from "../../lib/html/charts.ts";
import { formatDay } from "../../lib/html/format.ts";
import { type Markup, markup } from "../../lib/html/markup.ts";

/** Days that are loaded: 13 weeks. */
export const HISTORY_DAYS = 91;
const MIN_DAYS = 28;

const FLAKY = { name: "flaky", className: "flaky", width: 1 };
const FAILED = { name: "failed otherwise", className: "failed", width: 0.5 };
const PASSED = { name: "passed", className: "quiet", width: 1 };

/** One entry for each day up to today, in whole weeks, at least {@linkcode MIN_DAYS}. */
function withoutGaps<Day extends { day: number }>(days: readonly Day[], today: number) {
  const byDay = new Map(days.map((one) => [one.day, one]));
  const age = today - Math.min(today, ...byDay.keys()) + 1;
  const length = Math.min(HISTORY_DAYS, Math.max(MIN_DAYS, Math.ceil(age / 7) * 7));
  return Array.from({ length }, (_, index) => {
    const day = today - length + 1 + index;
    return { day, found: byDay.get(day) };
  });
}

/** Builds by day, and the share of failed builds by week. */
export function historyCharts(days: readonly BuildDay[], today: number): Markup {
  const all = withoutGaps(days, today);
  const weeks = Array.from({ length: all.length / 7 }, (_, index) => {
    const week = all.slice(7 * index, 7 * index + 7);
    const sum = (name: "buildCount" | "failedBuildCount" | "disruptedBuildCount") =>
      week.reduce((total, { found }) => total + (found?.[name] ?? 0), 0);
    const builds = sum("buildCount");
    const share = (count: number) => builds === 0 ? null : 100 * count / builds;
    return {
      label: formatDay(week[0]!.day),
      flaky: share(sum("disruptedBuildCount")),
      failed: share(sum("failedBuildCount")),
    };
  });
  const bars = dayBars({
    title: "Builds by day",
    series: [FLAKY, FAILED, PASSED],
    days: all.map(({ day, found }) => {
      const { buildCount = 0, failedBuildCount = 0, disruptedBuildCount = 0 } = found ?? {};
      const failed = failedBuildCount - disruptedBuildCount;
      return { day, parts: [disruptedBuildCount, failed, buildCount - failedBuildCount] };
    }),
  });
  const lines = trend({
    title: "Share of builds with a failure, by week",
    labels: weeks.map(({ label }) => label),
    lines: [
      { ...FLAKY, values: weeks.map(({ flaky }) => flaky) },
      { ...FAILED, name: "any failure", values: weeks.map(({ failed }) => failed) },
    ],
  });
  return markup`<div class="pair">${bars}${lines}</div>`;
}

/** The failures of a test by day. */
export function failureBars(days: readonly FailureDay[], today: number): Markup {
  return dayBars({
    title: "Failures by day",
    series: [FLAKY, FAILED],
    days: withoutGaps(days, today).map(({ day, found }) => ({
      day,
      parts: [found?.disruptionCount ?? 0, found?.otherCount ?? 0],
    })),
  });
}
