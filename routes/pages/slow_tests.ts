// Tests: tests/routes/pages_test.ts tests/routes/slow_tests_test.ts
/** `/repos/{owner}/{name}/slow-tests`: the tests of a repository by the time they take. */
import { loadWeeklyMedians } from "../../db/read/durations_of_tests.ts";
import { loadRepositoryDetails, type RepositoryDetails } from "../../db/read/repositories.ts";
import { loadSlowTests, type SlowTest } from "../../db/read/slow_tests.ts";
import { SLOW_ORDERS, type SlowOrder } from "../../lib/analysis/slow_downs.ts";
import { formatPercent, tenthsOfPercent } from "../../lib/badge/percentage.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { formatDuration, plural } from "../../lib/base/text.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { sparkline } from "../../lib/html/charts.ts";
import { emptyState, table } from "../../lib/html/elements.ts";
import { hiddenFields, otherErrors, textField } from "../../lib/html/forms.ts";
import { keptParameters } from "../../lib/html/layout.ts";
import { type Content, type Markup, markup } from "../../lib/html/markup.ts";
import type { ParameterErrors } from "../../lib/http/request/errors.ts";
import * as parameters from "../../lib/http/request/parameters.ts";
import { slowTests } from "../durations.ts";
import { definePage, downloadLinks, type PageRequest } from "./page.ts";
import { shownRange, turnPages } from "./paging.ts";

const WEEKS = 6;

const TITLES: Record<SlowOrder, string> = {
  total: "Most time",
  median: "Slowest",
  slower: "Became slower",
};

export const slowTestsPage = definePage({
  path: "/repos/:owner/:name/slow-tests",
  resource: "repository in path",
  query: {
    sort: parameters.slowSort,
    limit: parameters.limit(25),
    after: parameters.offsetCursor,
    ...parameters.submissionFilter,
  },
  listOf: { route: slowTests },
  showErrors(errors, { parameters: { sort, ...parameters } }) {
    const given = { ...parameters, ...sort && !errors.sort && { sort } };
    const title = "Slow tests";
    return { title, content: markup`<h1>${title}</h1>${filters(given, errors)}` };
  },
  async show(request) {
    const { load, loadTests, today, query } = request;
    const { sort, limit, after } = query;
    const filter = parameters.filterOf(query);
    const [[repository], { runs }] = await Promise.all([
      load(loadRepositoryDetails, {}),
      loadTests({ withTime: true, filter }),
    ]);
    // One repository always has runs.
    const { count, tests } = await load(loadSlowTests, { filter, runs: runs!, sort, after, limit });
    const weeks = await load(loadWeeklyMedians, {
      testNos: tests.map(({ testNo }) => testNo),
      filter,
      end: (today + 1) * SECONDS_PER_DAY,
      weeks: WEEKS,
    });
    const { owner, name } = repository!;
    const path = ["repos", owner, name, "slow-tests"];
    const total = runs!.timeConsumed ?? 0;
    const isFiltered = filter.branches !== null || filter.environments !== null;
    const range = shownRange({ offset: after, count, shown: tests.length });
    return {
      title: "Slow tests",
      crumbs: [request.link.repositories, request.link.repository(repository!)],
      content: markup`<h1>Slow tests</h1>
<p>${formatRepositoryName(repository!)}: ${formatDuration(total)} of tests in the last 14 days. ${
        plural(count, "test")
      }${range}.</p>
<ul class="views">${SLOW_ORDERS.map((order) => orderLink(order, path, request))}</ul>
${filters(request.parameters)}
${
        tests.length === 0
          ? emptyState(
            sort === "slower"
              ? "No test became slower (at least 20 runs of 3 tests or more on 3 days, by 20 % and 1 s)."
              : `No test ran in the last 14 days${isFiltered ? " there" : ""}.`,
          )
          : slowTable(tests, { total, weeks, repository: repository!, request })
      }
${turnPages(request, { path, offset: after, limit, count })}
${tests.length > 0 && downloadLinks(path, request)}`,
    };
  },
});

function filters(given: parameters.RawParameters, errors: ParameterErrors = {}): Markup {
  const field = (name: string, label: string, hint: string) =>
    textField({ name, label, hint, value: given[name], errors: errors[name] });
  const { sort } = given;
  return markup`<form class="filters" role="search">${
    otherErrors(errors, ["branch", "environment"])
  }
${field("branch", "Branch", "all, or main,release/*")}
${field("environment", "Environment", "all, or Windows*")}
<button>Show</button>${hiddenFields({ ...sort && { sort }, ...keptParameters(given) })}</form>`;
}

function orderLink(
  order: SlowOrder,
  path: readonly string[],
  { query, pathTo, parameters }: PageRequest<{ sort: SlowOrder }>,
): Markup {
  const current = query.sort === order && markup` aria-current="page"`;
  const { after: _first, ...kept } = parameters;
  const address = pathTo(path, { ...kept, sort: order });
  return markup`<li><a href="${address}"${current}>${TITLES[order]}</a></li>`;
}

function slowTable(
  tests: readonly SlowTest[],
  { total, weeks, repository, request }: {
    total: number;
    weeks: ReadonlyMap<number, (number | null)[]>;
    repository: RepositoryDetails;
    request: PageRequest<{ sort: SlowOrder }>;
  },
): Markup {
  const hasSlower = tests.some(({ slowDown }) => slowDown !== null);
  // Where the change is the subject, and there is little room, it comes before the rest.
  const width = request.query.sort === "slower" ? " wide" : "";
  const columns: [column: string, cell: (test: SlowTest) => Content][] = [
    ["Test|name", (test) => request.link.test(test.id, test)],
    [`Median|number${width}`, ({ medianMicroseconds }) => formatDuration(medianMicroseconds)],
    ["90th percentile|number wide", ({ p90Microseconds }) => formatDuration(p90Microseconds)],
    [
      `Share of time|number${width}`,
      ({ totalMicroseconds }) =>
        formatPercent(tenthsOfPercent(totalMicroseconds, Math.max(total, 1))),
    ],
    [`Median by week, ${WEEKS} weeks|wide`, ({ testNo }) => weekly(weeks.get(testNo)!)],
  ];
  if (hasSlower) {
    columns.push([
      request.query.sort === "slower" ? "Became slower" : "Became slower|wide",
      (test) => slowDown(test, repository, request),
    ]);
  }
  return table(
    "Slow tests",
    columns.map(([column]) => column),
    tests.map((test) => columns.map(([, cell]) => cell(test))),
  );
}

/** The median of each week as a line, and the first and the last one as text. */
function weekly(values: readonly (number | null)[]): Content {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return "–";
  const line = sparkline({
    title: "Median by week, oldest first",
    values,
    className: "duration",
    top: Math.max(...known, 1),
    format: formatDuration,
  });
  const ends = known.length < 2
    ? "one week"
    : `${formatDuration(known[0]!)} → ${formatDuration(known.at(-1)!)}`;
  return [line, markup`<small>${ends}</small>`];
}

function slowDown(
  { slowDown }: SlowTest,
  repository: RepositoryDetails,
  { at, link }: PageRequest,
): Content {
  if (!slowDown) return "";
  const { beforeMicroseconds, afterMicroseconds, lastBefore, firstAfter } = slowDown;
  return markup`${formatDuration(beforeMicroseconds)} → ${
    formatDuration(afterMicroseconds)
  }<small>since ${at(firstAfter.recordedAt)}, after commit ${
    link.commit(repository, lastBefore.commitOid)
  }, in ${link.commit(repository, firstAfter.commitOid)}</small>`;
}
