import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { dayBars, outcomeStrip, sparkline, trend } from "../../../lib/html/charts.ts";
import { type Markup, markup } from "../../../lib/html/markup.ts";

/** The attributes of the elements with this name. */
function elements(chart: Markup, name: string): Record<string, string>[] {
  return [...String(chart).matchAll(new RegExp(`<${name}((?: [\\w-]+="[^"]*")*)/?>`, "g"))].map(
    ([, attributes]) =>
      Object.fromEntries(
        [...attributes!.matchAll(/ ([\w-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
      ),
  );
}

const SERIES = [
  { name: "flaky", className: "flaky", width: 1 },
  { name: "passed", className: "quiet", width: 0.5 },
];

describe("bars by day", () => {
  const chart = dayBars({
    title: "Builds <by> day",
    today: 20_002,
    series: SERIES,
    days: [{ day: 20_000, parts: [1, 3] }, { day: 20_001, parts: [0, 0] }, {
      day: 20_002,
      parts: [2, 0],
    }],
  });

  it("have heights proportional to their numbers, stacked, and differ in width", () => {
    const bars = elements(chart, "rect").filter(({ width }) => Number(width) >= 20);
    assert.deepEqual(
      bars.map((bar) => [bar.class, Number(bar.y), Number(bar.height)]),
      [["flaky", 90, 30], ["quiet", 0, 90], ["flaky", 60, 60]],
    );
    assert.equal(Number(bars[0]!.width), 2 * Number(bars[1]!.width));
  });

  it("have axes with round numbers, and name six days at most", () => {
    const axis = (most: number, count: number) => {
      const days = Array.from({ length: count }, (_, day) => ({ day, parts: [0, most] }));
      const chart = String(dayBars({ title: "x", today: count - 1, series: SERIES, days }));
      const [, ticks = "", labels = ""] =
        /class="ticks".*?>(<span>.*?)<\/p>.*?class="ends.*?>(<span>.*?)<\/p>/s.exec(chart) ?? [];
      return [ticks, labels].map((list) => list.replaceAll(/(<\/?span>)+/g, " ").trim());
    };
    assert.deepEqual(axis(1, 1), ["1 0", "today"]);
    assert.deepEqual(axis(5, 3), ["6 4 2 0", "1 Jan 2 Jan today"]);
    assert.deepEqual(axis(4, 29), ["4 3 2 1 0", "1 Jan 7 Jan 12 Jan 18 Jan 23 Jan today"]);
    assert.deepEqual(axis(730, 29)[0], "800 600 400 200 0");
  });

  it("have the name of a day below its bar", () => {
    const days = Array.from({ length: 10 }, (_, day) => ({ day, parts: [0, 1] }));
    const chart = String(dayBars({ title: "x", today: 9, series: SERIES, days }));
    const [, labels = ""] = /class="ends bars".*?>(<span>.*?)<\/p>/s.exec(chart) ?? [];
    assert.deepEqual([...labels.matchAll(/<span>(.*?)<\/span>/g)].map(([, label]) => label), [
      ..."1 Jan||3 Jan|||6 Jan||8 Jan||today".split("|"),
    ]);
  });

  it("have a title, a text alternative, and the figures in a table", () => {
    const [svg] = elements(chart, "svg").filter(({ role }) => role === "img");
    assert.equal(svg!["aria-label"], "Builds &lt;by&gt; day: 3 flaky, 3 passed; at most 4 a day");
    assert.match(String(chart), /<title>4 Oct: 1 flaky, 3 passed<\/title>/);
    assert.match(
      String(chart),
      /<th scope="row">6 Oct<\/th><td class="number">2<\/td><td class="number">0<\/td>/,
    );
    assert.match(String(chart), /<figcaption>Builds &lt;by&gt; day<\/figcaption>/);
  });

  it("are drawn without any number as well", () => {
    const empty = dayBars({
      title: "x",
      today: 0,
      series: SERIES,
      days: [{ day: 0, parts: [0, 0] }],
    });
    assert.match(String(empty), /0 flaky, 0 passed/);
    assert.doesNotMatch(String(empty), /NaN|Infinity/);
  });
});

describe("a trend", () => {
  it("has two lines of different marks, gaps, and the figures in a table", () => {
    const chart = trend({
      title: "Share",
      labels: ["1 Nov", "8 Nov", "15 Nov"],
      lines: [
        { name: "flaky", className: "flaky", values: [10, null, 20] },
        { name: "red", className: "failed", values: [40, 50, 60.04] },
      ],
    });
    const text = String(chart);
    // The marks of the legend are among them.
    assert.equal(elements(chart, "circle").length, 3);
    assert.equal(elements(chart, "rect").length, 4);
    assert.match(text, /aria-label="Share: in the latest week flaky 20 %, red 60 %"/);
    assert.match(
      text,
      /8 Nov<\/th><td class="number">none<\/td><td class="number">50 %<\/td>/,
    );
    assert.doesNotMatch(text, /NaN|Infinity/);
  });
});

describe("the axis of a trend", () => {
  it("names points only below them, and each point says its value", () => {
    const chart = (count: number) =>
      String(trend({
        title: "x",
        labels: Array.from({ length: count }, (_, index) => `w${index}`),
        lines: [{ name: "y", className: "flaky", values: Array(count).fill(2_500) }],
        format: (value) => `${value / 1000} ms`,
      }));
    const labels = (count: number) =>
      /class="ends.*?>(<span>.*?)<\/p>/s.exec(chart(count))![1]!.match(/w\d+/g)!.join(" ");
    assert.equal(labels(1), "w0");
    assert.equal(labels(6), "w0 w1 w2 w3 w4 w5");
    assert.equal(labels(8), "w0 w7");
    assert.equal(labels(13), "w0 w3 w6 w9 w12");
    assert.match(chart(6), /<span>3 ms<\/span><span>2 ms<\/span>/);
    assert.match(chart(6), /<title>w3: 2.5 ms<\/title>/);
  });
});

describe("a sparkline", () => {
  it("says its values", () => {
    const text = String(sparkline({ title: "Flaky", values: [null, 0, 12.34] }));
    assert.match(text, /aria-label="Flaky: none, 0 %, 12.3 %"/);
    assert.doesNotMatch(String(sparkline({ title: "Flaky", values: [] })), /NaN|Infinity/);
  });
});

describe("a strip of outcomes", () => {
  it("has a shape for each run, and their numbers", () => {
    const outcomes = ["passed", "passed", "flaky", "failed", "skipped", "unknown"] as const;
    const chart = outcomeStrip({
      title: "Runs",
      runs: outcomes.map((outcome, index) => ({
        outcome,
        text: `<${outcome}>`,
        address: markup`builds/${index}`,
      })),
    });
    assert.match(
      String(chart),
      /aria-label="Runs: 2 passed, 1 flaky, 1 failed, 1 skipped, 1 unknown"/,
    );
    assert.match(
      String(chart),
      /<a href="builds\/2"[^>]*><title>&lt;flaky&gt;<\/title>(<path class="target"[^>]*>)<path class="flaky"/,
    );
    assert.equal(String(chart).match(/<a /g)?.length, 6);
  });
});
