// Tests: tests/routes/flaky_range_test.ts tests/routes/page_parameters_test.ts
/** The ranges of time that readers of pages choose from: their parameters, forms and links, in days. */
import { loadTrackedTests } from "../../db/read/tracked_tests.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { choiceField, hiddenFields, otherErrors } from "../../lib/html/forms.ts";
import type { Page } from "../../lib/html/layout.ts";
import { type Markup, markup } from "../../lib/html/markup.ts";
import type { ParameterErrors } from "../../lib/http/request/errors.ts";
import { choice, type RawParameters } from "../../lib/http/request/parameters.ts";
import type { LoadTestsOptions } from "../../lib/http/test_cache/cache.ts";
import { TestCollection } from "../../lib/http/test_cache/collection.ts";
import type { PageRequest } from "./page.ts";

/** The range of the figures of the API. */
export const WINDOW_RANGE = "14";

/** The ranges of builds and charts. */
export const CHART_RANGES = ["7", WINDOW_RANGE, "30", "90"] as const;

/** The ranges of a list of flaky tests: a test that fails once in three weeks is in no list of 14 days. */
export const LIST_RANGES = [WINDOW_RANGE, "30", "90"] as const;

type ListRange = typeof LIST_RANGES[number];

/** `days` of pages with charts. */
export const chartDays = choice("days", ["90", ...CHART_RANGES], "Days of the charts");

/** `days` of pages of which everything is of one range. */
export const pageDays = choice(
  "days",
  [WINDOW_RANGE, ...CHART_RANGES],
  "Days of the lists and charts",
);

/** `days` of a list of builds. */
export const buildDays = choice("days", [WINDOW_RANGE, ...CHART_RANGES], "Days back from now");

/** `days` of a page with a list of flaky tests. */
export const listDays = choice(
  "days",
  LIST_RANGES,
  "Number of days that disruptions and figures are of",
);

/** Whether a list of flaky tests has the range. */
export function isListRange(days: string): days is ListRange {
  return LIST_RANGES.some((one) => one === days);
}

/** The days of a range; 13 whole weeks for 90. */
export function daysOf(range: typeof CHART_RANGES[number]): number {
  return range === "90" ? 91 : Number(range);
}

/** The first second of a range, since 1970. */
export function rangeStart(
  days: string,
  { now, windowStart }: Pick<PageRequest, "now" | "windowStart">,
): number {
  return days === WINDOW_RANGE ? windowStart : now - Number(days) * SECONDS_PER_DAY;
}

/** The flaky and quarantined tests of a range. */
export async function loadTestsOfRange(
  request: PageRequest,
  { days, ...selection }:
    & { days: ListRange }
    & Pick<LoadTestsOptions, "filter" | "disruptionCounts">,
): Promise<TestCollection> {
  if (days === WINDOW_RANGE) return await request.loadTests(selection);
  const windowStart = rangeStart(days, request);
  const states = await request.load(loadTrackedTests, { windowStart, ...selection });
  return new TestCollection([...states.values()].flatMap(({ tests }) => [...tests.values()]));
}

/** The choice of a range in a form. */
export function rangeField(
  ranges: readonly string[],
  { value, errors }: { value: string | undefined; errors: ParameterErrors },
): Markup {
  return choiceField({
    name: "days",
    label: "Time",
    value: value ?? "",
    options: ranges.map((days) => [days, `last ${days} days`]),
    errors: errors.days,
  });
}

/** The page for a wrong range where there is no other form. @param shown the range without a choice */
export function wrongRange(ranges: readonly string[], shown: string) {
  return (errors: ParameterErrors, { parameters }: { parameters: RawParameters }): Page => {
    const title = "Invalid address";
    const right = Object.entries(parameters).filter(([name]) => !(name in errors));
    return {
      title,
      content: markup`<h1>${title}</h1>
<form class="filters">${otherErrors(errors, ["days"])}${
        rangeField(ranges, { value: shown, errors })
      }
<button>Show</button>${hiddenFields(Object.fromEntries(right))}</form>`,
    };
  };
}

/** Links to the ranges of a part of a page, such as `Charts`. */
export function rangeLinks<Range extends string>(
  part: string,
  { ranges, shown, addressOf }: {
    ranges: readonly Range[];
    shown: Range;
    addressOf(range: Range): Markup;
  },
): Markup {
  const links = ranges.map((range, index) =>
    markup`${index > 0 && ", "}${rangeLink(range, { shown, addressOf })}`
  );
  return markup`<p class="ranges">${part} of the last ${links} days</p>`;
}

/** The choice of the range of a whole page, with the one that is shown. */
export function rangeTabs(shown: string, addressOf: (range: string) => Markup): Markup {
  const items = LIST_RANGES.map((range) =>
    markup`<li>${rangeLink(range, { shown, addressOf, text: `${range} days` })}</li>`
  );
  return markup`<ul class="views" aria-label="Range of time">${items}</ul>`;
}

function rangeLink<Range extends string>(
  range: Range,
  { shown, addressOf, text = range }: {
    shown: string;
    addressOf(range: Range): Markup;
    text?: string;
  },
): Markup {
  const current = range === shown && markup` aria-current="page"`;
  return markup`<a href="${addressOf(range)}"${current}>${text}</a>`;
}
