// Tests: tests/routes/flaky_range_test.ts
/**
 * The range of time of a list of flaky tests: a test that fails once in three weeks is in no list of 14 days. The
 * figures of the API are those of the first range.
 */
import { loadTrackedTests } from "../../db/read/tracked_tests.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { choiceField, hiddenFields, otherErrors } from "../../lib/html/forms.ts";
import { keptParameters, type Page } from "../../lib/html/layout.ts";
import { type Markup, markup } from "../../lib/html/markup.ts";
import type { ParameterErrors } from "../../lib/http/request/errors.ts";
import { choice, type RawParameters } from "../../lib/http/request/parameters.ts";
import { TestCollection } from "../../lib/http/test_cache/collection.ts";
import type { SubmissionFilter } from "../../lib/query/submission_filter.ts";
import type { PageRequest } from "./page.ts";

const LIST_DAYS = ["14", "30", "90"] as const;

type ListDays = typeof LIST_DAYS[number];

/** `days` of a page with a list of flaky tests. */
export const listDays = choice(
  "days",
  LIST_DAYS,
  "Number of days that disruptions and figures are of",
);

/** Whether a range of a page is one of a list of flaky tests. */
export function isListDays(days: string): days is ListDays {
  return LIST_DAYS.some((one) => one === days);
}

/** Whether the figures of a range are those of the API. */
export function isApiRange(days: ListDays): boolean {
  return days === LIST_DAYS[0];
}

/** The first second of a range, since 1970. */
export function rangeStart(days: ListDays, { now }: Pick<PageRequest, "now">): number {
  return now - Number(days) * SECONDS_PER_DAY;
}

/** The flaky and quarantined tests of a range. */
export async function loadTestsOfRange(
  request: PageRequest,
  { days, filter }: { days: ListDays; filter?: SubmissionFilter },
): Promise<TestCollection> {
  const selection = filter ? { filter } : {};
  if (isApiRange(days)) return await request.loadTests(selection);
  const windowStart = rangeStart(days, request);
  const states = await request.load(loadTrackedTests, { windowStart, ...selection });
  return new TestCollection([...states.values()].flatMap(({ tests }) => [...tests.values()]));
}

/** The choice of the range in a form. */
export function listRangeField(value: string | undefined, errors: ParameterErrors): Markup {
  return choiceField({
    name: "days",
    label: "Time",
    value: value ?? "",
    options: LIST_DAYS.map((days) => [days, `last ${days} days`]),
    errors: errors.days,
  });
}

/** The page for a wrong range of a page without another form. */
export function wrongListRange(
  errors: ParameterErrors,
  { parameters }: { parameters: RawParameters },
): Page {
  const title = "Invalid address";
  return {
    title,
    content: markup`<h1>${title}</h1>
<form class="filters">${otherErrors(errors, ["days"])}${listRangeField(parameters.days, errors)}
<button>Show</button>${hiddenFields(keptParameters(parameters))}</form>`,
  };
}

/** Links to the ranges, for a page without a form. */
export function listRangeLinks(shown: ListDays, addressOf: (days: ListDays) => Markup): Markup {
  const links = LIST_DAYS.map((days, index) => {
    const current = days === shown && markup` aria-current="page"`;
    return markup`${index > 0 && ", "}<a href="${addressOf(days)}"${current}>${days}</a>`;
  });
  return markup`<p class="ranges">Flaky failures of the last ${links} days</p>`;
}
