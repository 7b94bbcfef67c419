/**
 * SVG charts. Each has a title and a text alternative, and distinguishes outcomes by shape as well
 * as by colour. They contain no text, so that they can be scaled.
 */
import { formatDay } from "./format.ts";
import { type Content, type Markup, markup } from "./markup.ts";
import { table } from "./table.ts";

/** The bar of a day: its parts from the bottom. */
export interface DayBar {
  /** Days since 1970. */
  day: number;
  parts: readonly number[];
}

/** A part of the bars of a chart. */
export interface Series {
  name: string;
  /** CSS class of its colour. */
  className: string;
  /** Share of the width of a bar: distinguishes it without colour. */
  width: number;
}

const WIDTH = 560;
const HEIGHT = 120;

/** One bar a day, of stacked parts, with a legend, the first and last day, and the figures. */
export function dayBars({ title, series, days }: {
  title: string;
  series: readonly Series[];
  /** Without gaps, oldest first. */
  days: readonly DayBar[];
}): Markup {
  const most = Math.max(1, ...days.map(({ parts }) => sum(parts)));
  const step = WIDTH / days.length;
  const bars = days.map(({ day, parts }, index) => {
    let top = HEIGHT;
    const rects = parts.map((count, part) => {
      if (count === 0) return null;
      const height = Math.max(2, count / most * HEIGHT);
      top -= height;
      const width = step * 0.84 * series[part]!.width;
      const x = step * (index + 0.5) - width / 2;
      return markup`<rect class="${series[part]!.className}" x="${round(x)}" y="${
        round(Math.max(0, top))
      }" width="${round(width)}" height="${round(height)}"/>`;
    });
    if (sum(parts) === 0) return null;
    return markup`<g><title>${formatDay(day)}: ${partsText(series, parts)}</title>${rects}</g>`;
  });
  const totals = series.map((_, part) => sum(days.map(({ parts }) => parts[part]!)));
  return figure({
    title,
    svg: image(
      `${title}: ${partsText(series, totals)}; at most ${most} a day`,
      [WIDTH, HEIGHT],
      markup`${bars}<path class="axis" d="M0 ${HEIGHT}H${WIDTH}"/>`,
    ),
    ends: [formatDay(days[0]!.day), `at most ${most} a day`, "today"],
    legend: series.map(({ name, className, width }, part) =>
      legendItem(
        markup`<rect class="${className}" x="${6 - width * 5}" y="1" width="${
          width * 10
        }" height="11"/>`,
        `${name} ${totals[part]}`,
      )
    ),
    head: ["Day", ...series.map(({ name }) => name)],
    rows: days.filter(({ parts }) => sum(parts) > 0).toReversed()
      .map(({ day, parts }) => [formatDay(day), ...parts]),
  });
}

/** A value over time; `null` where there is none. */
export interface TrendLine {
  name: string;
  className: string;
  values: readonly (number | null)[];
}

/** Two lines over the same points, in percent; the second is dashed. */
export function trend({ title, labels, lines }: {
  title: string;
  labels: readonly string[];
  lines: readonly [TrendLine, TrendLine];
}): Markup {
  const most = Math.max(10, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const top = Math.ceil(most / 10) * 10;
  const step = (WIDTH - 16) / Math.max(1, labels.length - 1);
  const place = (value: number, index: number) =>
    [round(8 + index * step), round(HEIGHT - 4 - value / top * (HEIGHT - 12))] as const;
  const drawn = lines.map(({ className, values }, number) => {
    const points = values.flatMap((value, index) => value === null ? [] : [place(value, index)]);
    const marks = points.map(([x, y]) =>
      number === 0
        ? markup`<circle cx="${x}" cy="${y}" r="4"/>`
        : markup`<rect x="${x - 3.5}" y="${y - 3.5}" width="7" height="7"/>`
    );
    return markup`<g class="${className}"><polyline class="line" points="${
      points.map((point) => point.join()).join(" ")
    }"${number === 1 && markup` stroke-dasharray="7 5"`}/>${marks}</g>`;
  });
  const latest = ({ values }: TrendLine) => values.findLast((value) => value !== null) ?? null;
  return figure({
    title,
    svg: image(
      `${title}: in the latest week ${
        lines.map((line) => `${line.name} ${percent(latest(line))}`).join(", ")
      }`,
      [WIDTH, HEIGHT],
      markup`<path class="axis" d="M0 ${HEIGHT - 4}H${WIDTH}M0 8H${WIDTH}"/>${drawn.toReversed()}`,
    ),
    ends: [labels[0] ?? "", `upper line ${top}%`, labels.at(-1) ?? ""],
    legend: lines.map((line, number) =>
      legendItem(
        number === 0
          ? markup`<circle class="${line.className}" cx="6" cy="6" r="4.5"/>`
          : markup`<rect class="${line.className}" x="2" y="2" width="8" height="8"/>`,
        `${line.name} ${percent(latest(line))}`,
      )
    ),
    head: ["Week from", ...lines.map(({ name }) => name)],
    rows: labels.map((label, index) => [
      label,
      ...lines.map(({ values }) => percent(values[index] ?? null)),
    ]).toReversed(),
  });
}

/** A line over some days, in percent; days without a value are gaps. */
export function sparkline(
  { title, values }: { title: string; values: readonly (number | null)[] },
): Markup {
  const [width, height] = [112, 28];
  const step = (width - 6) / Math.max(1, values.length - 1);
  const known = values.flatMap((value, index) =>
    value === null ? [] : [[round(3 + index * step), round(height - 3 - value / 100 * 22)]]
  );
  const last = known.at(-1);
  return image(
    `${title}: ${values.map(percent).join(", ")}`,
    [width, height],
    markup`<path class="axis" d="M0 ${height - 2}H${width}"/><polyline class="line" points="${
      known.map((point) => point.join()).join(" ")
    }"/>${last && markup`<circle cx="${last[0]}" cy="${last[1]}" r="3"/>`}`,
    { className: "sparkline flaky" },
  );
}

/** The outcome of a run in charts. */
export type Outcome = "passed" | "flaky" | "failed" | "skipped" | "unknown";

/** Shapes of 12 by 12, small enough for a line of text. */
const GLYPHS: Record<Outcome, Markup> = {
  passed: markup`<circle class="passed" cx="6" cy="6" r="2.6"/>`,
  flaky: markup`<path class="flaky" d="M6 0L12 6L6 12L0 6Z"/>`,
  failed: markup`<rect class="failed" x="3.2" width="5.6" height="12"/>`,
  skipped: markup`<circle class="skipped" cx="6" cy="6" r="3"/>`,
  unknown: markup`<path class="unknown" d="M2 5H10V7H2Z"/>`,
};

/** The shape of an outcome, for use next to its name. */
export function glyph(outcome: Outcome): Markup {
  return markup`<svg class="glyph" viewBox="0 0 12 12" aria-hidden="true">${GLYPHS[outcome]}</svg>`;
}

const STRIP_COLUMNS = 50;

/** One shape for each run, oldest first, in rows of 50. */
export function outcomeStrip({ title, runs }: {
  title: string;
  runs: readonly { outcome: Outcome; text: string }[];
}): Markup {
  const columns = Math.min(STRIP_COLUMNS, runs.length);
  const marks = runs.map(({ outcome, text }, index) => {
    const [x, y] = [index % columns * 14 + 1, Math.floor(index / columns) * 20 + 4];
    return markup`<g transform="translate(${x} ${y})"><title>${text}</title>${GLYPHS[outcome]}</g>`;
  });
  const counts = (Object.keys(GLYPHS) as Outcome[]).map((outcome) => ({
    outcome,
    count: runs.filter((run) => run.outcome === outcome).length,
  })).filter(({ count }) => count > 0);
  const alternative = counts.map(({ outcome, count }) => `${count} ${outcome}`).join(", ");
  const size = [columns * 14, Math.ceil(runs.length / columns) * 20] as const;
  const svg = image(`${title}: ${alternative}`, size, marks, { scale: 1.4 });
  return markup`<figure class="strip">${svg}
<p class="ends"><span>oldest</span><span>newest</span></p>
<ul class="legend">${
    counts.map(({ outcome, count }) => legendItem(GLYPHS[outcome], `${count} ${outcome}`))
  }</ul></figure>`;
}

/** A chart with its caption, legend and figures as a table. */
function figure({ title, svg, ends, legend, head, rows }: {
  title: string;
  svg: Markup;
  ends: readonly string[];
  legend: readonly Markup[];
  head: readonly string[];
  rows: readonly (readonly Content[])[];
}): Markup {
  return markup`<figure><figcaption>${title}</figcaption>
<ul class="legend">${legend}</ul>
${svg}
<p class="ends">${ends.map((text) => markup`<span>${text}</span>`)}</p>
<details><summary>Figures</summary>${
    table(title, head.map((name, index) => index > 0 ? `${name}|number` : name), rows)
  }</details></figure>`;
}

function image(
  alternative: string,
  [width, height]: readonly [number, number],
  content: Content,
  { className = "chart", scale = 0 } = {},
): Markup {
  const size = scale > 0 && markup` width="${width * scale}" height="${height * scale}"`;
  return markup`<svg class="${className}" viewBox="0 0 ${width} ${height}"${size} role="img" aria-label="${alternative}"><title>${alternative}</title>${content}</svg>`;
}

function legendItem(shape: Markup, text: string): Markup {
  return markup`<li><svg class="glyph" viewBox="0 0 12 12" aria-hidden="true">${shape}</svg> ${text}</li>`;
}

function partsText(series: readonly Series[], parts: readonly number[]): string {
  return series.map(({ name }, part) => `${parts[part]} ${name}`).join(", ");
}

function percent(value: number | null): string {
  return value === null ? "none" : `${Math.round(value * 10) / 10}%`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
