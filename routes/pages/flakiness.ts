// Tests: tests/routes/repositories_page_test.ts
/** The flakiness of repositories in words and figures. */
import { type BuildTotals, NO_BUILDS, type Overview } from "../../db/read/repositories.ts";
import { formatCount } from "../../lib/base/text.ts";

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

/** Share of disrupted builds; `null` without builds. */
export function share({ buildCount, disruptedBuildCount }: BuildTotals): number | null {
  return buildCount === 0 ? null : disruptedBuildCount / buildCount;
}

/** The sums of several counts. */
export function sumOf(counts: readonly BuildTotals[]): BuildTotals {
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
export function changeOfShare(now: BuildTotals, before: BuildTotals): number | null {
  const [share1, share0] = [share(now), share(before)];
  return share1 === null || share0 === null ? null : share1 - share0;
}

/** The change of the flakiness in percentage points, `""` where there is none to tell. */
export function changeOf(now: BuildTotals, before: BuildTotals): string {
  const change = changeOfShare(now, before);
  if (change === null) return "";
  const points = Math.round(1000 * change) / 10;
  const sign = points > 0 ? "+" : points < 0 ? "−" : "±";
  return `${sign}${Math.abs(points)} points`;
}

/** The change as words: `18.2 points less than in the 14 days before`; `""` where there is none to tell. */
export function changeText(now: BuildTotals, before: BuildTotals): string {
  const change = changeOfShare(now, before);
  if (change === null) return "";
  const points = Math.abs(Math.round(1000 * change) / 10);
  if (points === 0) return "as in the 14 days before";
  return `${points} points ${change > 0 ? "more" : "less"} than in the 14 days before`;
}
