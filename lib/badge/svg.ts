/**
 * Draws a badge: two boxes side by side. Every text is one node without the usual shadow copy,
 * because clients and screen readers read the percentage from it.
 */
import { escapeHtml } from "../html/escape.ts";

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

/** Draws a badge from plain texts; `title` is its tooltip, `fill` the CSS colour of the value's box. */
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
  const textLength = textWidth(text, FONT_SIZE);
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

/** The width of a text in pixels at a font size in pixels, to a tenth. */
function textWidth(text: string, fontSize: number): number {
  let thousandths = 0;
  for (const character of text) thousandths += WIDTHS[character] ?? UNKNOWN_WIDTH;
  return Math.round((thousandths * fontSize) / 100) / 10;
}
