/** The flakiness and coverage badges: percentage and colour. */
import { WINDOW_SECONDS } from "../base/time.ts";
import { formatTenths, tenthsOfPercent } from "./percentage.ts";
import { renderSvg } from "./svg.ts";

/** Name of a colour; `unknown` for a badge without data. */
export type BadgeColor = "green" | "light_green" | "yellow" | "red" | "unknown";

/** CSS colours. */
export const BADGE_FILLS: Readonly<Record<BadgeColor, string>> = {
  green: "#4c1",
  light_green: "#97ca00",
  yellow: "#dfb317",
  red: "#e05d44",
  unknown: "#9f9f9f",
};

export interface Badge {
  /** An SVG document that ends with a newline. */
  svg: string;
  /** As shown, such as `12.3%`; `null` when there is no data. */
  percentage: string | null;
  color: BadgeColor;
}

/** The share of builds in the window with at least one disruption. @throws {RangeError} */
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
    colorOf: flakinessColor,
  });
}

/** The share of covered lines in the latest coverage report. @throws {RangeError} */
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
    colorOf: coverageColor,
  });
}

/** The colour of a flakiness in tenths of a percent. */
export function flakinessColor(tenths: number): BadgeColor {
  return tenths === 0 ? "green" : tenths <= 200 ? "yellow" : "red";
}

/** The colour of a coverage in tenths of a percent. */
export function coverageColor(tenths: number): BadgeColor {
  return tenths === 1000
    ? "green"
    : tenths >= 900
    ? "light_green"
    : tenths >= 700
    ? "yellow"
    : "red";
}

/** `colorOf` takes the rounded tenths, so that number and colour agree. */
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
