/** Charts of the last weeks, by day and by week. */
import type { BuildDay } from "../../db/read/repositories.ts";
import type { FailureDay } from "../../db/read/history_of_test.ts";
import { dayBars, trend } from "../../lib/html/charts.ts";
import { formatDay } from "../../lib/html/elements.ts";
import { type Markup, markup } from "../../lib/html/markup.ts";

/** Days that are loaded: 13 weeks. */
export const HISTORY_DAYS = 91;
const MIN_DAYS = 28;

const FLAKY = { name: "flaky", className: "flaky", width: 1 };
const FAILED = { name: "failed otherwise", className: "failed", width: 0.5 };
const PASSED = { name: "passed", className: "quiet", width: 1 };

/**
 * Each day up to today, in whole weeks, at least {@linkcode MIN_DAYS}; `empty` where there is none. Up to
 * tomorrow if it has something already, because `recorded_at` may be 24 hours ahead.
 */
function withoutGaps<Day extends { day: number }>(
  days: readonly Day[],
  today: number,
  empty: Omit<Day, "day">,
): (Omit<Day, "day"> & { day: number })[] {
  const byDay = new Map(days.map((one) => [one.day, one]));
  const last = Math.max(today, ...byDay.keys());
  const age = last - Math.min(last, ...byDay.keys()) + 1;
  const length = Math.min(HISTORY_DAYS, Math.max(MIN_DAYS, Math.ceil(age / 7) * 7));
  return Array.from({ length }, (_, index) => {
    const day = last - length + 1 + index;
    return byDay.get(day) ?? { ...empty, day };
  });
}

/** Builds by day, and the share of failed builds by week. */
export function historyCharts(builds: readonly BuildDay[], today: number): Markup {
  const empty = { buildCount: 0, failedBuildCount: 0, disruptedBuildCount: 0, outageBuildCount: 0 };
  const days = withoutGaps(builds, today, empty);
  const bars = dayBars({
    title: "Builds by day",
    today,
    series: [FLAKY, FAILED, PASSED],
    days: days.map(({ day, buildCount, failedBuildCount: failed, disruptedBuildCount: flaky }) => ({
      day,
      parts: [flaky, failed - flaky, buildCount - failed],
    })),
  });
  const weeks = Array.from({ length: days.length / 7 }, (_, n) => days.slice(7 * n, 7 * n + 7));
  const shares = (count: "failedBuildCount" | "disruptedBuildCount") =>
    weeks.map((week) => {
      const sum = (name: keyof typeof empty) => week.reduce((total, day) => total + day[name], 0);
      return sum("buildCount") === 0 ? null : 100 * sum(count) / sum("buildCount");
    });
  const lines = trend({
    title: "Share of builds with a failure, by week",
    labels: weeks.map(([first]) => formatDay(first!.day)),
    lines: [
      { ...FLAKY, values: shares("disruptedBuildCount") },
      { ...FAILED, name: "any failure", values: shares("failedBuildCount") },
    ],
  });
  return markup`<div class="pair">${bars}${lines}</div>`;
}

/** The failures of a test by day. */
export function failureBars(failures: readonly FailureDay[], today: number): Markup {
  const days = withoutGaps(failures, today, { disruptionCount: 0, otherCount: 0 });
  return dayBars({
    title: "Failures by day",
    today,
    series: [FLAKY, FAILED],
    days: days.map(({ day, disruptionCount, otherCount }) => ({
      day,
      parts: [disruptionCount, otherCount],
    })),
  });
}
