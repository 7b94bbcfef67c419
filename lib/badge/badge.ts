/** The two badges: how the percentages are counted and coloured. */
import { WINDOW_SECONDS } from "../base/time.ts";
import { formatTenths, tenthsOfPercent } from "./percentage.ts";
import { renderSvg } from "./svg.ts";

/** What the colour of a badge is called; `unknown` is that of a badge without data. */
export type BadgeColor = "green" | "light_green" | "yellow" | "red" | "unknown";

/** How the colours look in the picture. */
export const BADGE_FILLS: Readonly<Record<BadgeColor, string>> = {
  green: "#4c1",
  light_green: "#97ca00",
  yellow: "#dfb317",
  red: "#e05d44",
  unknown: "#9f9f9f",
};

/** A badge, and what it shows. */
export interface Badge {
  /** An SVG document that ends with a newline. */
  svg: string;
  /** As shown, such as `12.3%`; `null` when there is no data. */
  percentage: string | null;
  color: BadgeColor;
}

/**
 * How many of the builds in the window had at least one disruption.
 *
 * @param windowSeconds the window that was counted; its whole days are told in the title
 * @throws {RangeError} when the counts are no whole numbers, or more builds disrupted than built
 */
export function flakinessBadge(
  counts: { disruptedBuildCount: number; buildCount: number },
  { windowSeconds = WINDOW_SECONDS }: { windowSeconds?: number } = {},
): Badge {
  const window = `in the last ${Math.floor(windowSeconds / 86_400)} days`;
  if (counts.buildCount === 0) return unknownBadge("flakiness", `no builds ${window}`);
  return percentageBadge("flakiness", {
    part: counts.disruptedBuildCount,
    whole: counts.buildCount,
    counted: `builds with a disruption ${window}`,
    colorOf: (tenths) => tenths === 0 ? "green" : tenths <= 200 ? "yellow" : "red",
  });
}

/**
 * How many of the lines that can be covered the latest coverage report says are covered; `null`
 * when there is no report.
 *
 * @throws {RangeError} when the counts are no whole numbers, or more lines covered than there are
 */
export function coverageBadge(
  counts: { coveredLineCount: number; lineCount: number } | null,
): Badge {
  if (counts === null || counts.lineCount === 0) {
    return unknownBadge("coverage", "no coverage report");
  }
  return percentageBadge("coverage", {
    part: counts.coveredLineCount,
    whole: counts.lineCount,
    counted: "lines covered in the latest report",
    colorOf: (tenths) =>
      tenths === 1000 ? "green" : tenths >= 900 ? "light_green" : tenths >= 700 ? "yellow" : "red",
  });
}

/** `colorOf` takes the tenths of a percent that are shown, so that number and colour agree. */
function percentageBadge(
  label: string,
  { part, whole, counted, colorOf }: {
    part: number;
    whole: number;
    counted: string;
    colorOf: (tenths: number) => BadgeColor;
  },
): Badge {
  const tenths = tenthsOfPercent(part, whole);
  const percentage = formatTenths(tenths);
  const color = colorOf(tenths);
  const title = `${label}: ${percentage} (${counted}: ${part} of ${whole})`;
  const svg = renderSvg({ label, value: percentage, title, fill: BADGE_FILLS[color] });
  return { svg, percentage, color };
}

function unknownBadge(label: string, reason: string): Badge {
  const title = `${label}: unknown (${reason})`;
  const svg = renderSvg({ label, value: "unknown", title, fill: BADGE_FILLS.unknown });
  return { svg, percentage: null, color: "unknown" };
}
