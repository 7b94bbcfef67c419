import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { SaxesParser } from "saxes";
import {
  BADGE_FILLS,
  coverageBadge,
  flakinessBadge,
  LABEL_FILL,
  LABEL_INK,
  renderSvg,
  VALUE_INK,
} from "../../../lib/badge/badge.ts";

type Badge = ReturnType<typeof coverageBadge>;

function flakiness(disruptedBuildCount: number, buildCount: number): Badge {
  return flakinessBadge({ disruptedBuildCount, buildCount });
}

function coverage(coveredLineCount: number, lineCount: number): Badge {
  return coverageBadge({ coveredLineCount, lineCount });
}

const EVERY_KIND: Record<string, Badge> = {
  "flakiness_green": flakiness(0, 24),
  "flakiness_yellow": flakiness(123, 1000),
  "flakiness_red": flakiness(24, 24),
  "flakiness_unknown": flakiness(0, 0),
  "coverage_green": coverage(1200, 1200),
  "coverage_light_green": coverage(93, 100),
  "coverage_yellow": coverage(7, 8),
  "coverage_red": coverage(1, 100_000),
  "coverage_unknown": coverageBadge(null),
};

interface Element {
  name: string;
  attributes: Record<string, string>;
  text: string;
}

/** Every element of a document in order, with the text directly inside it. */
function elementsOf(svg: string): Element[] {
  const elements: Element[] = [];
  const open: Element[] = [];
  const parser = new SaxesParser();
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("opentag", ({ name, attributes }) => {
    const element = { name, attributes: attributes as Record<string, string>, text: "" };
    elements.push(element);
    open.push(element);
  });
  parser.on("text", (text) => {
    const element = open.at(-1);
    if (element) element.text += text.trim();
  });
  parser.on("closetag", () => void open.pop());
  parser.write(svg).close();
  return elements;
}

function only(svg: string, name: string): Element {
  const found = elementsOf(svg).filter((element) => element.name === name);
  assert.equal(found.length, 1, `<${name}> in ${svg}`);
  return found[0]!;
}

// UPDATE_FIXTURES=1 rewrites the files: review the changes before committing them.
describe("a badge looks as it did", () => {
  for (const [name, { svg }] of Object.entries(EVERY_KIND)) {
    it(name, async () => {
      const file = new URL(`../../../fixtures/badge/${name}.svg`, import.meta.url);
      if (Deno.env.get("UPDATE_FIXTURES")) await Deno.writeTextFile(file, svg);
      assert.equal(svg, await Deno.readTextFile(file));
    });
  }
});

describe("the flakiness badge", () => {
  it("is green at 0, yellow up to 20 and red above", () => {
    const seen = [[0, 9], [1, 1_000_000], [1, 5], [1, 3], [9, 9]].map(([d = 0, b = 0]) => {
      const { percentage, color } = flakiness(d, b);
      return `${percentage} ${color}`;
    });
    assert.deepEqual(seen, ["0% green", "0.1% yellow", "20% yellow", "33.3% red", "100% red"]);
  });

  it("is coloured by the number that it shows", () => {
    assert.deepEqual(
      [flakiness(20_049, 100_000), flakiness(20_050, 100_000)].map((b) => [b.percentage, b.color]),
      [["20%", "yellow"], ["20.1%", "red"]],
    );
  });

  it("says what is counted, in the window that was counted", () => {
    assert.equal(
      only(flakiness(3, 24).svg, "title").text,
      "flakiness: 12.5% (builds with a disruption in the last 14 days: 3 of 24)",
    );
    const { svg } = flakinessBadge({ disruptedBuildCount: 1, buildCount: 4 }, 30 * 86_400);
    assert.equal(
      only(svg, "title").text,
      "flakiness: 25% (builds with a disruption in the last 30 days: 1 of 4)",
    );
  });
});

describe("the coverage badge", () => {
  it("is green at 100, light green from 90, yellow from 70 and red below", () => {
    const seen = [[9, 9], [999_999, 1_000_000], [90, 100], [899, 1000], [70, 100], [699, 1000], [
      0,
      9,
    ]]
      .map(([covered = 0, lines = 0]) => {
        const { percentage, color } = coverage(covered, lines);
        return `${percentage} ${color}`;
      });
    assert.deepEqual(seen, [
      "100% green",
      "99.9% light_green",
      "90% light_green",
      "89.9% yellow",
      "70% yellow",
      "69.9% red",
      "0% red",
    ]);
  });

  it("is coloured by the number that it shows", () => {
    assert.deepEqual(
      [coverage(89_949, 100_000), coverage(89_950, 100_000), coverage(69_950, 100_000)]
        .map((b) => [b.percentage, b.color]),
      [["89.9%", "yellow"], ["90%", "light_green"], ["70%", "yellow"]],
    );
  });

  it("says what is counted", () => {
    assert.equal(
      only(coverage(7, 8).svg, "title").text,
      "coverage: 87.5% (lines covered in the latest report: 7 of 8)",
    );
  });

  it("takes a report without lines as no report", () => {
    assert.deepEqual(coverage(0, 0), coverageBadge(null));
  });
});

describe("a badge without data", () => {
  for (
    const [label, badge] of [["flakiness", flakiness(0, 0)], [
      "coverage",
      coverageBadge(null),
    ]] as const
  ) {
    it(`shows a grey "unknown" and no percentage anywhere: ${label}`, () => {
      assert.equal(badge.percentage, null);
      assert.equal(badge.color, "unknown");
      assert.match(badge.svg, />unknown</);
      assert.match(badge.svg, /fill="#9f9f9f"/);
      assert.doesNotMatch(badge.svg, /%/);
    });
  }
});

describe("every badge", () => {
  for (const [name, { svg, percentage, color }] of Object.entries(EVERY_KIND)) {
    const value = percentage ?? "unknown";
    const label = name.split("_")[0];

    it(`has its value in one text node of its own, without a shadow: ${name}`, () => {
      const texts = elementsOf(svg).filter((element) => element.name === "text");
      assert.deepEqual(texts.map((element) => element.text), [label, value]);
      assert.equal(svg.split(`>${value}<`).length, 2);
      if (percentage !== null) {
        assert.deepEqual([...svg.matchAll(/>([\d.]+%)</g)].map((match) => match[1]), [percentage]);
      }
    });

    it(`describes itself to screen readers: ${name}`, () => {
      const { attributes } = only(svg, "svg");
      assert.equal(attributes.role, "img");
      assert.equal(attributes["aria-label"], `${label}: ${value}`);
      assert.ok(only(svg, "title").text.startsWith(`${label}: ${value} (`));
    });

    it(`keeps its texts inside their boxes in any font: ${name}`, () => {
      const width = Number(only(svg, "svg").attributes.width);
      const boundary = Number(/d="M(\d+) 0H3A/.exec(svg)?.[1]);
      const edges = [0, boundary, width];
      const texts = elementsOf(svg).filter((element) => element.name === "text");
      for (const [index, { attributes }] of texts.entries()) {
        const half = Number(attributes.textLength) / 2;
        assert.ok(half > 5);
        assert.ok(Number(attributes.x) - half >= edges[index]! + 5);
        assert.ok(Number(attributes.x) + half <= edges[index + 1]! - 5);
      }
    });

    it(`has the colour that it names, and texts that can be read on it: ${name}`, () => {
      assert.ok(svg.includes(`fill="${BADGE_FILLS[color]}"`));
      assert.ok(contrast(VALUE_INK, BADGE_FILLS[color]) >= 4.5);
      assert.ok(contrast(LABEL_INK, LABEL_FILL) >= 4.5);
    });
  }

  it("escapes its texts, each once", () => {
    const nasty = `<b a="1">&amp;</b>`;
    const svg = renderSvg({ label: nasty, value: nasty, title: nasty, fill: "#fff" });
    const elements = elementsOf(svg);
    assert.deepEqual(elements.map(({ name }) => name).join(" "), "svg title path path g text text");
    assert.equal(only(svg, "svg").attributes["aria-label"], `${nasty}: ${nasty}`);
    assert.equal(only(svg, "title").text, nasty);
    assert.equal(elements.at(-1)?.text, nasty);
  });
});

/** The ratio that WCAG 2 defines, from 1 to 21. */
function contrast(a: string, b: string): number {
  const [dark = 0, bright = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (bright + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const digits = color.length === 4
    ? [...color.slice(1)].map((d) => d + d).join("")
    : color.slice(1);
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((at) => {
    const channel = parseInt(digits.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
