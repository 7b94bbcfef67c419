// Tests: tests/routes/repositories_page_test.ts
/** The flakiness of repositories in words and figures. */
import type { BuildCounts, Overview } from "../../db/read/repositories.ts";
import { flakinessBadge } from "../../lib/badge/badge.ts";
import { shownPercentage } from "../../lib/badge/percentage.ts";
import { formatCount } from "../../lib/base/text.ts";

/** In place of the flakiness of a repository that never ran any code twice. */
export const NEVER_RERUN = "nothing was run twice";

/** How many builds were outages, which the flakiness contains. */
export function inOutages({ outageBuildCount: count }: Overview["builds"]): string {
  return `${formatCount(count)} in ${count === 1 ? "an outage" : "outages"}`;
}

/** Share of disrupted builds; `null` without builds, and where nothing was run twice. */
export function share({ buildCount, disruptedBuildCount, hasReruns }: BuildCounts): number | null {
  return hasReruns && buildCount > 0 ? disruptedBuildCount / buildCount : null;
}

/** The share of disrupted builds as text, a dash where it cannot be known. */
export function shareText(builds: BuildCounts): string {
  return share(builds) === null ? "–" : shownPercentage(flakinessBadge(builds));
}

/** The change of the share of disrupted builds, -1 to 1; `null` where one of them cannot be known. */
export function changeOfShare(now: BuildCounts, before: BuildCounts): number | null {
  const [share1, share0] = [share(now), share(before)];
  return share1 === null || share0 === null ? null : share1 - share0;
}

/** The change of the flakiness in percentage points, `""` where there is none to tell. */
export function changeOf(now: BuildCounts, before: BuildCounts): string {
  const change = changeOfShare(now, before);
  if (change === null) return "";
  const points = Math.round(1000 * change) / 10;
  const sign = points > 0 ? "+" : points < 0 ? "−" : "±";
  return `${sign}${Math.abs(points)} points`;
}

/** The change as words: `18.2 points less than in the 14 days before`; `""` where there is none to tell. */
export function changeText(now: BuildCounts, before: BuildCounts): string {
  const change = changeOfShare(now, before);
  if (change === null) return "";
  const points = Math.abs(Math.round(1000 * change) / 10);
  if (points === 0) return "as in the 14 days before";
  return `${points} points ${change > 0 ? "more" : "less"} than in the 14 days before`;
}
