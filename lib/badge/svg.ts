/**
 * Draws a badge: two boxes side by side. Every text is one node without the usual shadow copy,
 * because clients and screen readers read the percentage from it.
 */
import { escapeHtml } from "../html/escape.ts";
import { textWidth } from "./text_width.ts";

const HEIGHT = 20;
const FONT_SIZE = 11;
/** Centres lower-case letters. */
const BASELINE = 14;
const RADIUS = 3;
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
  const left = layOut(label, 0);
  const right = layOut(value, left.width);
  const width = left.width + right.width;
  // No ids and no style sheet, so that one HTML page can embed several badges.
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${HEIGHT}" ` +
    `viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${escapeHtml(`${label}: ${value}`)}">`,
    `<title>${escapeHtml(title)}</title>`,
    `<path fill="${LABEL_FILL}" d="${leftBox(left.width)}"/>`,
    `<path fill="${escapeHtml(fill)}" d="${rightBox(left.width, width)}"/>`,
    `<g font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="${FONT_SIZE}" ` +
    `text-anchor="middle" text-rendering="geometricPrecision">`,
    renderText(label, { ...left, ink: LABEL_INK }),
    renderText(value, { ...right, ink: VALUE_INK }),
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

/** Position of a text and its box; boxes are whole pixels wide, for sharp edges. */
interface Layout {
  /** Width of the box. */
  width: number;
  /** Middle of the text. */
  middle: number;
  textLength: number;
}

function layOut(text: string, x: number): Layout {
  const textLength = textWidth(text, FONT_SIZE);
  const width = Math.ceil(textLength) + 2 * PADDING;
  return { width, middle: x + width / 2, textLength };
}

function renderText(text: string, at: Layout & { ink: string }): string {
  return `<text x="${at.middle}" y="${BASELINE}" fill="${at.ink}" ` +
    `textLength="${at.textLength}">${escapeHtml(text)}</text>`;
}

function leftBox(to: number): string {
  const r = RADIUS;
  return `M${to} 0H${r}A${r} ${r} 0 0 0 0 ${r}V${HEIGHT - r}A${r} ${r} 0 0 0 ${r} ${HEIGHT}H${to}Z`;
}

function rightBox(from: number, to: number): string {
  const r = RADIUS;
  return `M${from} 0H${to - r}A${r} ${r} 0 0 1 ${to} ${r}V${HEIGHT - r}` +
    `A${r} ${r} 0 0 1 ${to - r} ${HEIGHT}H${from}Z`;
}
