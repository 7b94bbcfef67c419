/** The flakiness and coverage badges: percentage and colour. */
import { SECONDS_PER_DAY, WINDOW_SECONDS } from "../base/time.ts";
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

/** The share of builds in the window with at least one disruption. */
export function flakinessBadge(
  counts: { disruptedBuildCount: number; buildCount: number },
  { windowSeconds = WINDOW_SECONDS }: { windowSeconds?: number } = {},
): Badge {
  const window = `in the last ${Math.floor(windowSeconds / SECONDS_PER_DAY)} days`;
  return badge("flakiness", {
    part: counts.disruptedBuildCount,
    whole: counts.buildCount,
    counted: `builds with a disruption ${window}`,
    nothing: `no builds ${window}`,
    colorOf: flakinessColor,
  });
}

/** The share of covered lines in the latest coverage report. */
export function coverageBadge(
  counts: { coveredLineCount: number | null; lineCount: number | null } | null,
): Badge {
  return badge("coverage", {
    part: counts?.coveredLineCount ?? 0,
    whole: counts?.lineCount ?? 0,
    counted: "lines covered in the latest report",
    nothing: "no coverage report",
    colorOf: coverageColor,
  });
}

/** The colour of a flakiness in tenths of a percent. */
export function flakinessColor(tenths: number): BadgeColor {
  return tenths === 0 ? "green" : tenths <= 200 ? "yellow" : "red";
}

/** The colour of a coverage in tenths of a percent. */
export function coverageColor(tenths: number): BadgeColor {
  if (tenths === 1000) return "green";
  if (tenths >= 900) return "light_green";
  return tenths >= 700 ? "yellow" : "red";
}

/** `colorOf` takes the rounded tenths, so that number and colour agree. */
function badge(
  label: string,
  { part, whole, counted, nothing, colorOf }: {
    part: number;
    whole: number;
    counted: string;
    /** Why there is no percentage. */
    nothing: string;
    colorOf: (tenths: number) => BadgeColor;
  },
): Badge {
  const draw = (value: string, color: BadgeColor, reason: string) =>
    renderSvg({ label, value, title: `${label}: ${value} (${reason})`, fill: BADGE_FILLS[color] });
  if (whole === 0) {
    return { svg: draw("unknown", "unknown", nothing), percentage: null, color: "unknown" };
  }
  const tenths = tenthsOfPercent(part, whole);
  const percentage = formatTenths(tenths);
  const color = colorOf(tenths);
  return { svg: draw(percentage, color, `${counted}: ${part} of ${whole}`), percentage, color };
}
