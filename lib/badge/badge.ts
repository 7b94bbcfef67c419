/** The flakiness and coverage badges: percentage, colour, and drawing. */
import { SECONDS_PER_DAY, WINDOW_SECONDS } from "../base/time.ts";
import { escapeHtml } from "../html/escape.ts";
import { formatTenths, tenthsOfPercent } from "./percentage.ts";

/** CSS colours by name; `unknown` for a badge without data. */
export const BADGE_FILLS = {
  green: "#4c1",
  light_green: "#97ca00",
  yellow: "#dfb317",
  red: "#e05d44",
  unknown: "#9f9f9f",
};

export type BadgeColor = keyof typeof BADGE_FILLS;

/** The share of builds in the window with at least one disruption. */
export function flakinessBadge(
  counts: { disruptedBuildCount: number; buildCount: number },
  windowSeconds = WINDOW_SECONDS,
) {
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
) {
  return badge("coverage", {
    part: counts?.coveredLineCount ?? 0,
    whole: counts?.lineCount ?? 0,
    counted: "lines covered in the latest report",
    nothing: "no coverage report",
    colorOf: coverageColor,
  });
}

export function flakinessColor(tenths: number): BadgeColor {
  return tenths === 0 ? "green" : tenths <= 200 ? "yellow" : "red";
}

export function coverageColor(tenths: number): BadgeColor {
  if (tenths === 1000) return "green";
  if (tenths >= 900) return "light_green";
  return tenths >= 700 ? "yellow" : "red";
}

interface Share {
  part: number;
  whole: number;
  /** What the part is. */
  counted: string;
  /** Why there is no percentage. */
  nothing: string;
  /** Takes the rounded tenths, so that number and colour agree. */
  colorOf: (tenths: number) => BadgeColor;
}

/** A badge: its SVG document, and what that shows; `percentage` is `null` when there is no data. */
function badge(label: string, { part, whole, counted, nothing, colorOf }: Share) {
  const tenths = whole === 0 ? null : tenthsOfPercent(part, whole);
  const percentage = tenths === null ? null : formatTenths(tenths);
  const color = tenths === null ? "unknown" : colorOf(tenths);
  const value = percentage ?? "unknown";
  const reason = percentage === null ? nothing : `${counted}: ${part} of ${whole}`;
  const title = `${label}: ${value} (${reason})`;
  return {
    percentage,
    color,
    // Pages show the percentage alone.
    get svg() {
      return renderSvg({ label, value, title, fill: BADGE_FILLS[color] });
    },
  };
}

const HEIGHT = 20;
const FONT_SIZE = 11;
/** Centres lower-case letters. */
const BASELINE = 14;
/** Between a text and its box. */
const PADDING = 6;

/** White on it has a contrast of 7.5. */
export const LABEL_FILL = "#555";
export const LABEL_INK = "#fff";
/** Contrast of at least 4.5 (WCAG AA) on every fill. */
export const VALUE_INK = "#111";

/**
 * Draws two boxes side by side from plain texts; `title` is the tooltip, `fill` the CSS colour of the
 * value's box. Every text is one node without the usual shadow copy, because clients and screen readers
 * read the percentage from it.
 */
export function renderSvg(
  { label, value, title, fill }: Record<"label" | "value" | "title" | "fill", string>,
): string {
  const left = layOut(label, 0, LABEL_INK);
  const right = layOut(value, left.width, VALUE_INK);
  const width = left.width + right.width;
  // No ids and no style sheet, so that one HTML page can embed several badges. Corners have a radius of 3.
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${HEIGHT}" ` +
    `viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${escapeHtml(`${label}: ${value}`)}">`,
    `<title>${escapeHtml(title)}</title>`,
    `<path fill="${LABEL_FILL}" d="M${left.width} 0H3A3 3 0 0 0 0 3V17A3 3 0 0 0 3 20H${left.width}Z"/>`,
    `<path fill="${fill}" d="M${left.width} 0H${width - 3}A3 3 0 0 1 ${width} 3V17` +
    `A3 3 0 0 1 ${width - 3} 20H${left.width}Z"/>`,
    `<g font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="${FONT_SIZE}" ` +
    `text-anchor="middle" text-rendering="geometricPrecision">`,
    left.element,
    right.element,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

/** A text in the middle of its box. Boxes are whole pixels wide, for sharp edges. */
function layOut(text: string, x: number, ink: string): { width: number; element: string } {
  let thousandths = 0;
  for (const character of text) thousandths += WIDTHS[character] ?? UNKNOWN_WIDTH;
  const textLength = Math.round((thousandths * FONT_SIZE) / 100) / 10;
  const width = Math.ceil(textLength) + 2 * PADDING;
  const element = `<text x="${x + width / 2}" y="${BASELINE}" fill="${ink}" ` +
    `textLength="${textLength}">${escapeHtml(text)}</text>`;
  return { width, element };
}

/**
 * Advance widths in thousandths of the font size, because the server has no font: measured in Chromium
 * with DejaVu Sans, whose metrics match Verdana's within a few hundredths. `textLength` corrects the
 * difference.
 */
// deno-fmt-ignore
const WIDTHS: Record<string, number> = {
  " ": 318, "%": 950, ".": 318, ":": 337, "-": 361,
  0: 636, 1: 636, 2: 636, 3: 636, 4: 636, 5: 636, 6: 636, 7: 636, 8: 636, 9: 636,
  a: 613, b: 635, c: 550, d: 635, e: 615, f: 352, g: 635, h: 634, i: 278, j: 278, k: 579, l: 278,
  m: 974, n: 634, o: 612, p: 635, q: 635, r: 411, s: 521, t: 392, u: 634, v: 592, w: 818, x: 592,
  y: 592, z: 525,
};

/** The widest letter: too wide leaves a gap, too narrow squeezes the text. */
const UNKNOWN_WIDTH = 974;
