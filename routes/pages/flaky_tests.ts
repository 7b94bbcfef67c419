// Tests: tests/routes/flaky_groups_page_test.ts tests/routes/flaky_range_test.ts tests/routes/pages_test.ts
/** `/flaky-tests`: the inventory. It has the parameters of the API. */
import * as v from "valibot";
import { type FlakyFailures, loadFlakyFailures } from "../../db/read/failing_together.ts";
import { loadRepositoryDetails } from "../../db/read/repositories.ts";
import { type Quarantine, sayLimit } from "../../lib/analysis/quarantine.ts";
import type { TrackedTest } from "../../lib/analysis/tracked_test.ts";
import { parseTestId } from "../../lib/base/identity.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import { formatCount, plural } from "../../lib/base/text.ts";
import { FAIL_HOW, type GroupedBy, groupedBy, rowsOfGroups } from "../../lib/evidence/groups.ts";
import { emptyState, table } from "../../lib/html/elements.ts";
import { choiceField, otherErrors, textField } from "../../lib/html/forms.ts";
import type { ParameterErrors } from "../../lib/http/request/errors.ts";
import { type Content, type Markup, markup } from "../../lib/html/markup.ts";
import { filterOf, parsed } from "../../lib/http/request/parameters.ts";
import { flakyTests, inventoryParameters, isListedBy, listsFlaky } from "../flaky_tests.ts";
import { COLUMNS, include, INCLUDE_NAMES } from "../test_fields.ts";
import { bulkSection } from "./bulk_quarantine.ts";
import { definePage, downloadLinks, nothingUploaded, type PageRequest, placeOf } from "./page.ts";
import { shownRange, turnPages } from "./paging.ts";
import {
  LIST_RANGES,
  listDays,
  loadTestsOfRange,
  rangeField,
  rangeStart,
  WINDOW_RANGE,
} from "./ranges.ts";

interface ListPage extends PageRequest<{ together: string }> {
  isFlakyView: boolean;
  repositoryOf: ReadonlyMap<number, RepositoryName>;
  /** A link to the list with some parameters replaced or, when `undefined`, removed. */
  linkWith(text: string, changes: Record<string, string | undefined>, attributes?: Content): Markup;
}

/** Tests of a group that are named. */
const MAX_TOGETHER = 10;

/** The order of the page unless `sort` says another: the tests that cost most builds first. */
const BY_BUILDS = "builds";

/** Some tests that fail together, and the builds with a flaky failure of one of them. */
interface Row {
  tests: [TrackedTest, ...TrackedTest[]];
  buildCount: number;
  groupedBy(): GroupedBy;
}

/** Only the tests that fail together with a test, to quarantine all of them. */
const together = parsed(
  (text) => text.toLowerCase(),
  "Id of a test: only the tests that fail together with it",
  { jsonSchema: { type: "string" }, acceptsAnyText: true },
);

const titleOf = (isFlakyView: boolean) => isFlakyView ? "Flaky tests" : "Quarantined tests";

export const flakyTestsPage = definePage({
  path: "/flaky-tests",
  resource: "repositories in query",
  hasForms: true,
  query: { ...inventoryParameters, days: listDays, together },
  listOf: { route: flakyTests, more: { include: v.parse(include, INCLUDE_NAMES.join(",")) } },
  showErrors(errors, { parameters, pathTo }) {
    const right = Object.entries(parameters).filter(([name]) => !(name in errors));
    const links = { pathTo, parameters: Object.fromEntries(right) };
    const page = { isFlakyView: listsFlaky(parameters), linkWith: linksWith(links) };
    return {
      title: titleOf(page.isFlakyView),
      content: markup`${heading(page)}${filters({ parameters, pathTo }, errors)}`,
    };
  },
  async show(request) {
    const { parameters, query } = request;
    const { after, limit, days } = query;
    const filter = filterOf(query);
    const windowStart = rangeStart(days, request);
    const loadingFailures = request.load(loadFlakyFailures, { windowStart, filter });
    const [failures, tests, details] = await Promise.all([
      loadingFailures,
      loadTestsOfRange(request, { days, filter, disruptionCounts: loadingFailures }),
      request.load(loadRepositoryDetails, {}),
    ]);
    const failuresOf = ({ repositoryId, testNo }: TrackedTest) =>
      failures.get(repositoryId)?.get(testNo);
    const whole = { after: 0, limit: Infinity, isListed: isListedBy(query) };
    const { tests: found } = tests.list({ ...query, ...whole });
    const all = rowsOfGroups(found, (test) => failuresOf(test)?.group).filter((tests) =>
      query.together === "" || tests.some(({ id }) => id === query.together)
    );
    const rows = sortedRows(all, { failuresOf, order: orderOf(parameters) });
    const shown = rows.slice(after, after + limit);
    const page: ListPage = {
      ...request,
      isFlakyView: listsFlaky(query),
      repositoryOf: new Map(details.map((one) => [one.idPrefix, one])),
      linkWith: linksWith(request),
    };
    const range = shownRange({ offset: after, count: rows.length, shown: shown.length });
    const count = rows.reduce((sum, { tests }) => sum + tests.length, 0);
    const grouped = rows.length < count &&
      markup` in <span title="Tests that fail together or the same way are one row">${
        plural(rows.length, "row")
      }</span>`;
    const counted = markup`<p class="soft">${
      plural(count, "test")
    }${grouped}${range}; figures of the last ${days} days</p>`;
    const [chosen] = query.together === "" || !page.isFlakyView ? [] : shown;
    return {
      title: titleOf(page.isFlakyView),
      content: markup`${heading(page, counted)}
${filters(page)}
${shown.length > 0 ? testTable(shown, page) : await nothingFound(page)}
${chosen && await bulkSection(chosen.tests, repositoryOf(chosen.tests[0], page), request)}
${turnPages(page, { path: ["flaky-tests"], offset: after, limit, count: rows.length })}
${chosen && markup`<p>${page.linkWith("All flaky tests", { together: undefined })}</p>`}
${SEARCH_HELP}
${
        shown.length > 0 && !chosen &&
        downloadLinks(["flaky-tests"], request, days === WINDOW_RANGE ? "" : " of the last 14 days")
      }`,
    };
  },
});

/** The order of the rows, as the address says. */
function orderOf({ sort }: PageRequest["parameters"]): string {
  return sort || BY_BUILDS;
}

/** The rows with the builds that they cost; by these, unless they are sorted already. */
function sortedRows(
  groups: readonly [TrackedTest, ...TrackedTest[]][],
  { failuresOf, order }: {
    failuresOf(test: TrackedTest): FlakyFailures | undefined;
    order: string;
  },
): Row[] {
  const rows = groups.map((tests): Row => {
    const lost = tests.map((test) => failuresOf(test)?.lostBuilds ?? []);
    return {
      tests,
      buildCount: lost.length === 1 ? lost[0]!.length : new Set(lost.flat()).size,
      groupedBy: () => groupedBy(failuresOf(tests[0])!.group),
    };
  });
  return order === BY_BUILDS ? rows.toSorted((a, b) => b.buildCount - a.buildCount) : rows;
}

function linksWith(
  { parameters, pathTo }: Pick<ListPage, "parameters" | "pathTo">,
): ListPage["linkWith"] {
  return (text, changes, attributes) => {
    const all = JSON.parse(JSON.stringify({ ...parameters, ...changes }));
    return markup`<a href="${pathTo(["flaky-tests"], all)}"${attributes}>${text}</a>`;
  };
}

type Views = Pick<ListPage, "isFlakyView" | "linkWith">;

function heading(page: Views, counted?: Markup): Markup {
  return markup`<div class="head"><h1>${titleOf(page.isFlakyView)}</h1>
<ul class="views">${view("Flaky", true, page)}${view("Quarantined", false, page)}</ul>
${counted}</div>`;
}

function view(name: string, isFlaky: boolean, { isFlakyView, linkWith }: Views): Markup {
  const changes = { quarantine: String(!isFlaky), quarantined: undefined, after: undefined };
  const current = isFlaky === isFlakyView && markup` aria-current="page"`;
  return markup`<li>${linkWith(name, changes, current)}</li>`;
}

/** The fields of the form that show their own errors. */
const FIELDS = ["q", "repository", "branch", "environment", "sort", "days"];
/** Those that a phone shows only when they are set. */
const FOLDED = FIELDS.filter((name) => name !== "q");

const SEARCH_HELP = markup`<details><summary>What the search understands</summary>
<p>Words of name, suite, class or file; also <code>tags:owner:@web</code>,
<code>first-seen:&gt;=2026-01-31</code> and <code>last-seen:&lt;2026-01-31</code>.</p></details>`;

function repositoryOf({ id }: TrackedTest, page: ListPage): RepositoryName {
  return page.repositoryOf.get(parseTestId(id)!.idPrefix)!;
}

const SORTS = [
  ["", "builds lost"],
  ["disruptivenessRatio", "flaky share"],
  ["recency", "latest failure"],
] as const;

function filters(
  { parameters, pathTo }: Pick<ListPage, "parameters" | "pathTo">,
  errors: ParameterErrors = {},
): Markup {
  const kept = ["quarantine", "quarantined", "repository_id", "limit", "together", "tz"]
    .filter((name) => parameters[name] !== undefined)
    .map((name) => markup`<input type="hidden" name="${name}" value="${parameters[name]}">`);
  const field = (name: string, label: string, hint: string) =>
    textField({ name, label, hint, value: parameters[name], errors: errors[name] });
  const isNarrowed = FOLDED.some((name) => parameters[name] !== undefined || errors[name]);
  return markup`<form class="filters" action="${pathTo(["flaky-tests"])}" role="search">${kept}${
    otherErrors(errors, FIELDS)
  }
${field("q", "Search", "words of the test")}
<details class="more"${
    isNarrowed && markup` open`
  }><summary>Repository, branch, order, time</summary><div class="fields">
${field("repository", "Repository", "all, or owner/name")}
${field("branch", "Branch", "all, or release/*")}
${field("environment", "Environment", "all, or Windows*")}
${
    choiceField({
      name: "sort",
      label: "Sort by",
      value: parameters.sort ?? "",
      options: SORTS,
      errors: errors.sort,
    })
  }
${rangeField(LIST_RANGES, { value: parameters.days, errors })}</div></details>
<button>Show</button></form>`;
}

async function nothingFound(page: ListPage): Promise<Markup> {
  const {
    parameters: { q, branch, environment, together, days = WINDOW_RANGE },
    isFlakyView,
    repositories,
  } = page;
  if (repositories.length === 0) return await nothingUploaded(page);
  if (q || branch || environment || together) {
    return emptyState(
      "Nothing matches. Remove a word of the search, the branch or the environment.",
    );
  }
  if (!isFlakyView) {
    return emptyState("No test is quarantined. The page of a flaky test has the command for it.");
  }
  return emptyState(
    `No test failed in the last ${days} days on code on which it also passed. Flaky tests show when ` +
      "a commit is tested twice, or when tests are retried. Those that fail now and then and are never run " +
      "again are on the page of their repository.",
  );
}

/** Whether two tests are quarantined in the same way, whenever that began. */
function isSameEntry(one: Quarantine | null, other: Quarantine): boolean {
  return one !== null && one.quarantineOwner === other.quarantineOwner &&
    one.quarantineExpiresAt === other.quarantineExpiresAt &&
    one.quarantineEnvironment === other.quarantineEnvironment;
}

function testTable(
  list: readonly Row[],
  page: ListPage,
): Markup {
  const { link, linkWith, parameters, at } = page;
  const order = orderOf(parameters);
  const heads = COLUMNS.map(({ page: head, sort }) => {
    const [name = "", className] = head.split("|");
    if (!sort) return { name, className };
    const isSorted = order === sort;
    return {
      name: linkWith(name, { sort, after: undefined }),
      className,
      ...isSorted && { order: "descending" as const },
    };
  });
  const rows = list.map(({ tests: [test, ...others], buildCount, groupedBy }) => {
    const { latestDisruption: latest, quarantine } = test;
    const author = quarantine?.quarantinedBy && ` by ${quarantine.quarantinedBy}`;
    const limit = sayLimit(quarantine?.quarantineEnvironment ?? null);
    const reason = quarantine?.quarantineReason && `: ${quarantine.quarantineReason}`;
    const end = quarantine?.quarantineOwner
      ? markup`Owner: ${link.owner(quarantine.quarantineOwner)}; end`
      : "End";
    const repository = link.repository(repositoryOf(test, page));
    const owners = test.tags.map((tag) => markup`${link.tag(tag)} `);
    const message = latest && markup`<code>${latest.message}</code>`;
    const line = markup`<small class="line">${owners}${placeOf(test)} ${message}</small>`;
    const group = others.length > 0 && [
      line,
      others.slice(0, MAX_TOGETHER).map((other) =>
        markup`<small class="line">${link.testName(other.id, other)} ${placeOf(other)}</small>`
      ),
      others.length > MAX_TOGETHER &&
      markup`<small>and ${plural(others.length - MAX_TOGETHER, "more test")}</small>`,
      page.isFlakyView && page.query.together === "" &&
      markup`<small>${
        linkWith(`Quarantine all ${formatCount(others.length + 1)}`, {
          together: test.id,
          after: undefined,
        })
      }</small>`,
    ];
    const cell = [
      link.testName(test.id, test),
      group
        ? markup`<details${page.query.together !== "" && markup` open`}><summary>and ${
          formatCount(others.length)
        } more that ${others.length === 1 ? "fails" : "fail"} ${
          FAIL_HOW[groupedBy()]
        }</summary>${group}</details>`
        : line,
      markup`<small class="narrow">${repository}</small>`,
      quarantine &&
      markup`<small>Quarantined ${at(quarantine.quarantinedAt)}${author}${
        limit && `, ${limit}`
      }${reason}.
${end}: ${at(quarantine.quarantineExpiresAt)}.${
        others.some((other) => !isSameEntry(other.quarantine, quarantine)) &&
        " The others have other entries."
      }</small>`,
    ];
    return [
      cell,
      // The other figures belong to the test that is named.
      group ? [formatCount(buildCount), markup`<small>together</small>`] : formatCount(buildCount),
      repository,
      ...COLUMNS.map(({ cell }) => {
        const shown = cell(test);
        return typeof shown === "object" ? at(shown.at) : shown;
      }),
    ];
  });
  const builds = {
    name: linkWith("Builds lost", { sort: undefined, after: undefined }),
    className: "number",
    ...order === BY_BUILDS && { order: "descending" as const },
  };
  const names = [{ name: "Test", className: "name" }, builds, {
    name: "Repository",
    className: "wide nowrap",
  }];
  return table("Tests", [...names, ...heads], rows, "lines");
}
