/**
 * SVG charts. Each has a title and a text alternative, and distinguishes outcomes by shape as well
 * as by colour. The drawings contain no text, so that they can be scaled: axes are HTML around them.
 */
import { formatDay } from "../base/time.ts";
import { table } from "./elements.ts";
import { type Content, type Markup, markup } from "./markup.ts";

interface Series {
  name: string;
  className: string;
  /** Share of the width of a bar: distinguishes it without colour. */
  width: number;
}

const WIDTH = 560;
const HEIGHT = 120;

/** Bars of the first days of a repository are no wider. */
const MAX_BAR_WIDTH = 40;

/** One bar a day or a week, of stacked parts, with axes, a legend, and the figures. */
export function dayBars({ title, note, today, unit = "day", series, days }: {
  title: string;
  /** What a bar is of; a week is named by its first day. */
  unit?: "day" | "week";
  /** Said below the title. */
  note?: Content;
  /** Days since 1970. */
  today: number;
  series: readonly Series[];
  /** Days since 1970 with their parts from the bottom; without gaps, oldest first. */
  days: readonly { day: number; parts: readonly number[] }[];
}): Markup {
  const most = Math.max(1, ...days.map(({ parts }) => sum(parts)));
  const scale = scaleOf(most, 1);
  const step = WIDTH / days.length;
  const shown = days.map((one, index) => ({ ...one, index })).filter(({ parts }) => sum(parts) > 0);
  const bars = shown.map(({ day, parts, index }) => {
    let top = HEIGHT;
    const rects = parts.map((count, part) => {
      if (count === 0) return null;
      const height = Math.max(2, count / scale.top * HEIGHT);
      top -= height;
      const width = Math.min(MAX_BAR_WIDTH, step * 0.84) * series[part]!.width;
      const x = step * (index + 0.5) - width / 2;
      return markup`<rect class="${series[part]!.className}" x="${round(x)}" y="${
        round(Math.max(0, top))
      }" width="${round(width)}" height="${round(height)}"/>`;
    });
    return markup`<g><title>${formatDay(day)}: ${partsText(series, parts)}</title>${rects}</g>`;
  });
  const totals = series.map((_, part) => sum(days.map(({ parts }) => parts[part]!)));
  return figure({
    title,
    note,
    alternative: `${partsText(series, totals)}; at most ${most} a ${unit}`,
    drawing: bars,
    scale: { ...scale, format: String },
    labels: days.map(({ day }) => unit === "day" && day === today ? "today" : formatDay(day)),
    legend: series.map(({ name, className, width: share }, part) => {
      const [x, width] = [6 - share * 5, share * 10];
      const shape =
        markup`<rect class="${className}" x="${x}" y="1" width="${width}" height="11"/>`;
      return legendItem(shape, `${name} ${totals[part]}`);
    }),
    head: [unit === "day" ? "Day" : "Week from", ...series.map(({ name }) => name)],
    rows: shown.toReversed().map(({ day, parts }) => [formatDay(day), ...parts]),
  });
}

const MARKS = [
  (x: number, y: number) => markup`<circle cx="${x}" cy="${y}" r="4"/>`,
  (x: number, y: number) => markup`<rect x="${x - 3.5}" y="${y - 3.5}" width="7" height="7"/>`,
] as const;

/** One or two lines over the same weeks; `null` is a gap, and the second line is dashed. */
export function trend({ title, note, labels, lines, format = percent }: {
  title: string;
  /** Said below the title. */
  note?: Content;
  labels: readonly string[];
  lines: readonly { name: string; className: string; values: readonly (number | null)[] }[];
  /** A value as text; in percent unless given. */
  format?: (value: number) => string;
}): Markup {
  const most = Math.max(...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const scale = scaleOf(most);
  const shown = (value: number | null = null) => value === null ? "none" : format(value);
  const drawn = lines.map(({ className, values }, number) => {
    const points = pointsOf(values, { top: scale.top, width: WIDTH, height: HEIGHT, margin: 0 });
    const dashes = number === 1 && markup` stroke-dasharray="7 5"`;
    const line = markup`<polyline class="line" points="${pointList(points)}"${dashes}/>`;
    const marks = points.map(([x, y, index]) =>
      markup`<g><title>${labels[index]}: ${shown(values[index])}</title>${MARKS[number]!(x, y)}</g>`
    );
    return markup`<g class="${className}">${line}${marks}</g>`;
  });
  const latest = lines.map(({ name, values }) =>
    `${name} ${shown(values.findLast((value) => value !== null))}`
  );
  return figure({
    title,
    note,
    alternative: `in the latest week ${latest.join(", ")}`,
    drawing: drawn.toReversed(),
    scale: { ...scale, format },
    labels,
    isFromEdge: true,
    legend: [
      ...lines.map(({ className }, number) =>
        legendItem(markup`<g class="${className}">${MARKS[number]!(6, 6)}</g>`, latest[number]!)
      ),
      markup`<li>in the latest week</li>`,
    ],
    head: ["Week from", ...lines.map(({ name }) => name)],
    rows: labels.map((label, index) => [
      label,
      ...lines.map(({ values }) => shown(values[index])),
    ]).toReversed(),
  });
}

const TICKS = 4;

/**
 * An axis from 0 to the lowest round number that is not below `most`, in about {@linkcode TICKS} steps of
 * 1, 2 or 5 times a power of ten; a step is at least `smallest`.
 */
function scaleOf(most: number, smallest = 0): { top: number; ticks: number[] } {
  if (most <= 0) return { top: 1, ticks: [0, 1] };
  const power = 10 ** Math.floor(Math.log10(most / TICKS));
  const step = Math.max(
    smallest,
    [1, 2, 5, 10].map((digit) => digit * power).find((step) => step * TICKS >= most)!,
  );
  const count = Math.ceil(most / step - 1e-9);
  return {
    top: count * step,
    ticks: Array.from({ length: count + 1 }, (_, index) => index * step),
  };
}

/** A line over some days or weeks from 0 on; those without a value are gaps. */
export function sparkline({ title, values, className = "flaky", top = 100, format = percent }: {
  title: string;
  values: readonly (number | null)[];
  className?: string;
  /** The value at the upper edge. */
  top?: number;
  /** A value as text; in percent unless given. */
  format?: (value: number) => string;
}): Markup {
  const [width, height] = [112, 28];
  const points = pointsOf(values, { top, width, height, margin: 3 });
  const last = points.at(-1);
  const axis = markup`<path class="axis" d="M0 ${height - 3}H${width}"/>`;
  const texts = values.map((value) => value === null ? "none" : format(value));
  return image(
    `${title}: ${texts.join(", ")}`,
    [width, height],
    markup`${axis}<polyline class="line" points="${pointList(points)}"/>${
      last && markup`<circle cx="${last[0]}" cy="${last[1]}" r="3"/>`
    }`,
    markup`class="sparkline ${className}"`,
  );
}

/** A share of something as a bar, next to its figure. */
export function shareBar(
  { share, className }: { share: number; className: "passed" | "flaky" | "failed" },
): Markup {
  const [width, height] = [44, 10];
  const length = share > 0 ? Math.max(2, round(width * Math.min(1, share))) : 0;
  return markup`<svg class="bar" viewBox="0 0 ${width} ${height}" aria-hidden="true"><rect width="${width}" height="${height}"/><rect class="${className}" width="${length}" height="${height}"/></svg>`;
}

type Point = readonly [x: number, y: number, index: number];

function pointList(points: readonly Point[]): string {
  return points.map(([x, y]) => `${x},${y}`).join(" ");
}

/** The coordinates of the values that are not `null`, from left to right, and their indexes. */
function pointsOf(
  values: readonly (number | null)[],
  { top, width, height, margin }: Record<"top" | "width" | "height" | "margin", number>,
): Point[] {
  const step = (width - 2 * margin) / Math.max(1, values.length - 1);
  const scale = (height - 2 * margin) / top;
  return values.flatMap((value, index) =>
    value === null
      ? []
      : [[round(margin + index * step), round(height - margin - value * scale), index] as const]
  );
}

/** Shapes of 12 by 12, small enough for a line of text. */
const GLYPHS = {
  passed: markup`<circle class="passed" cx="6" cy="6" r="2.6"/>`,
  flaky: markup`<path class="flaky" d="M6 0L12 6L6 12L0 6Z"/>`,
  failed: markup`<rect class="failed" x="3.2" width="5.6" height="12"/>`,
  skipped: markup`<circle class="skipped" cx="6" cy="6" r="3"/>`,
  unknown: markup`<path class="unknown" d="M2 5H10V7H2Z"/>`,
};

export type RunStatus = keyof typeof GLYPHS;

/** The shape of an outcome, for use next to its name. */
export const glyph = (outcome: RunStatus): Markup => small(GLYPHS[outcome]);

function small(shape: Markup): Markup {
  return markup`<svg class="glyph" viewBox="0 0 12 12" aria-hidden="true">${shape}</svg>`;
}

const STRIP_COLUMNS = 25;

/** One shape for each run, oldest first, in rows of 25, which fit a phone; each leads to its build. */
export function outcomeStrip({ title, runs }: {
  title: string;
  runs: readonly { outcome: RunStatus; text: string; address: Markup }[];
}): Markup {
  const columns = Math.min(STRIP_COLUMNS, runs.length);
  const marks = runs.map(({ outcome, text, address }, index) => {
    const [x, y] = [index % columns * 14 + 1, Math.floor(index / columns) * 20 + 4];
    // The failed runs are a list below: the keyboard need not pass all of them here.
    return markup`<a href="${address}" tabindex="-1" transform="translate(${x} ${y})"><title>${text}</title><path class="target" d="M-1 -4H13V16H-1Z"/>${
      GLYPHS[outcome]
    }</a>`;
  });
  const groups = Map.groupBy(runs, ({ outcome }) => outcome);
  const counts = (Object.keys(GLYPHS) as RunStatus[]).filter((outcome) => groups.has(outcome))
    .map((outcome) => ({ outcome, text: `${groups.get(outcome)!.length} ${outcome}` }));
  const alternative = counts.map(({ text }) => text).join(", ");
  const size = [columns * 14, Math.ceil(runs.length / columns) * 20] as const;
  const scaled = markup`class="chart" width="${1.4 * size[0]}" height="${1.4 * size[1]}"`;
  const svg = image(`${title}: ${alternative}`, size, marks, scaled, "group");
  const legend = counts.map(({ outcome, text }) => legendItem(GLYPHS[outcome], text));
  return markup`<figure class="strip"><p class="soft">${title}, oldest first</p>${svg}
<ul class="legend">${legend}</ul></figure>`;
}

const MAX_LABELS = 6;

/** How many points are labelled, so that labels at the same distance stand exactly below them. */
function pointLabelCount(length: number): number {
  let count = Math.min(MAX_LABELS, length);
  while (count > 2 && (length - 1) % (count - 1) > 0) count--;
  return count;
}

/** How many bars are labelled: all if they are few, otherwise at most every second one. */
function barLabelCount(length: number): number {
  return length <= MAX_LABELS ? length : Math.min(MAX_LABELS, Math.floor(length / 2));
}

/** A chart with its caption, axes, legend and figures as a table. */
function figure(
  { title, note, alternative, drawing, scale, labels, isFromEdge, legend, head, rows }: {
    title: string;
    note?: Content;
    alternative: string;
    drawing: Content;
    scale: { top: number; ticks: readonly number[]; format: (value: number) => string };
    /** Labels of the horizontal axis; some of them are shown. */
    labels: readonly string[];
    /** Whether the first and last value are at the edges, instead of in the middle of their part. */
    isFromEdge?: boolean;
    legend: readonly Markup[];
    head: readonly string[];
    rows: readonly (readonly Content[])[];
  },
): Markup {
  const lines = scale.ticks.map((tick) => `M0 ${round(HEIGHT * (1 - tick / scale.top))}H${WIDTH}`);
  const count = isFromEdge ? pointLabelCount(labels.length) : barLabelCount(labels.length);
  const labelled = Array.from(
    { length: count },
    (_, index) => Math.round(index * (labels.length - 1) / Math.max(1, count - 1)),
  );
  // Each bar has a place, so that a label stands below its own.
  const shown = isFromEdge
    ? labelled.map((index) => labels[index]!)
    : labels.map((label, index) => labelled.includes(index) ? label : "");
  const few = labels.length <= MAX_LABELS;
  return markup`<figure><figcaption>${title}</figcaption>
${note && markup`<p class="soft">${note}</p>`}<ul class="legend">${legend}</ul>
<div class="plot"><p class="ticks" aria-hidden="true">${
    scale.ticks.toReversed().map((tick) => markup`<span>${scale.format(tick)}</span>`)
  }</p>
${
    image(
      `${title}: ${alternative}`,
      [WIDTH, HEIGHT],
      markup`<path class="axis" d="${lines.join("")}"/>${drawing}`,
    )
  }
<p class="ends${!isFromEdge && (few ? " bars few" : " bars")}" aria-hidden="true">${
    shown.map((text) => markup`<span>${text}</span>`)
  }</p></div>
<details><summary>Figures</summary>${
    table(title, head.map((name, index) => index === 0 ? name : `${name}|number`), rows)
  }</details></figure>`;
}

function image(
  alternative: string,
  [width, height]: readonly [number, number],
  content: Content,
  attributes = markup`class="chart"`,
  role: "img" | "group" = "img",
): Markup {
  return markup`<svg ${attributes} viewBox="0 0 ${width} ${height}" role="${role}" aria-label="${alternative}"><title>${alternative}</title>${content}</svg>`;
}

function legendItem(shape: Markup, text: string): Markup {
  return markup`<li>${small(shape)} ${text}</li>`;
}

function partsText(series: readonly Series[], parts: readonly number[]): string {
  return series.map(({ name }, part) => `${parts[part]} ${name}`).join(", ");
}

function percent(value: number): string {
  return `${Math.round(value * 10) / 10} %`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
