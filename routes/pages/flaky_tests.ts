/** `/flaky-tests`: the inventory. Its parameters are those of the API. */
import { loadRepositoryDetails } from "../../db/read/repositories.ts";
import { disruptivenessThousandths, type TrackedTest } from "../../lib/analysis/tracked_test.ts";
import { encodeOffsetCursor } from "../../lib/base/cursor.ts";
import { parseTestId } from "../../lib/base/identity.ts";
import { formatRepositoryName, type RepositoryName } from "../../lib/base/repository_name.ts";
import { formatThousandths, moment, plural } from "../../lib/html/format.ts";
import { type Markup, markup, type PathTo } from "../../lib/html/markup.ts";
import type { RawParameters } from "../../lib/http/request/route.ts";
import { inventoryParameters, isListedBy } from "../flaky_tests.ts";
import {
  type Column,
  columns,
  crumbsTo,
  definePage,
  repositoryPath,
  table,
  testName,
} from "./page.ts";

/** `/flaky-tests`. */
export const flakyTestsPage = definePage({
  path: "/flaky-tests",
  resource: "repositories in query",
  query: inventoryParameters,
  async show(request, { context: { sql }, pathTo }) {
    const { branch, ...page } = request.query;
    const { parameters } = request;
    const [tests, details] = await Promise.all([
      request.loadTests({ branches: branch }),
      loadRepositoryDetails(sql, request.repositories.map(({ repositoryId }) => repositoryId)),
    ]);
    const found = tests.list({ ...page, isListed: isListedBy(page) });
    const repositories = new Map(details.map((one) => [one.idPrefix, one]));
    const isFlakyView = (page.quarantine ?? page.quarantined) === "false";
    const title = isFlakyView ? "Flaky tests" : "Quarantined tests";
    const link = (changes: Record<string, string | undefined>) =>
      pathTo(["flaky-tests"], withChanges(parameters, changes));
    const end = page.after + page.limit;
    return {
      title,
      crumbs: crumbsTo(pathTo, parameters.repository && details.length === 1 ? details[0]! : null),
      content: markup`<h1>${title}</h1>
<ul class="views">${
        ([["false", "Flaky"], ["true", "Quarantined"]] as const).map(([quarantine, name]) =>
          markup`<li><a href="${link({ quarantine, quarantined: undefined, after: undefined })}"${
            isFlakyView === (quarantine === "false") && markup` aria-current="page"`
          }>${name}</a></li>`
        )
      }</ul>
${filters(parameters, pathTo)}
<p>${plural(found.count, "test")}${found.count > 0 && rangeText(page.after, found)}</p>
${
        found.tests.length === 0
          ? nothingFound(parameters, isFlakyView)
          : testTable(found.tests, { link, parameters, repositories, pathTo, today: request.today })
      }
${
        (page.after > 0 || end < found.count) &&
        markup`<nav class="pages" aria-label="Pages">${
          page.after > 0 &&
          markup`<a href="${
            link({ after: encodeOffsetCursor(Math.max(0, page.after - page.limit)) })
          }">Previous page</a>`
        }
${
          end < found.count &&
          markup`<a href="${link({ after: encodeOffsetCursor(end) })}">Next page</a>`
        }</nav>`
      }`,
    };
  },
});

/** The parameters of the address with some replaced or, when `undefined`, removed. */
function withChanges(
  parameters: RawParameters,
  changes: Record<string, string | undefined>,
): Record<string, string> {
  const all = Object.entries({ ...parameters, ...changes });
  return Object.fromEntries(
    all.filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

function rangeText(after: number, { count, tests }: { count: number; tests: readonly unknown[] }) {
  return count > tests.length && `, ${after + 1} to ${after + tests.length} on this page`;
}

function filters(parameters: RawParameters, pathTo: PathTo): Markup {
  const { q = "", repository = "", branch = "", sort = "" } = parameters;
  const kept = ["quarantine", "quarantined", "repository_id", "limit"].map((name) =>
    parameters[name] !== undefined &&
    markup`<input type="hidden" name="${name}" value="${parameters[name]}">`
  );
  const field = (name: string, label: string, value: string, hint: string) =>
    markup`<div><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${value}" placeholder="${hint}" autocomplete="off" spellcheck="false"></div>`;
  const option = (value: string, name: string) =>
    markup`<option value="${value}"${sort === value && markup` selected`}>${name}</option>`;
  return markup`<form class="filters" action="${pathTo(["flaky-tests"])}" role="search">${kept}
${field("q", "Search", q, "word tags:owner:web last-seen:>=2026-01-31")}
${field("repository", "Repository", repository, "all, or owner/name")}
${field("branch", "Branch", branch, "all, or main,release/*")}
<div><label for="sort">Sort by</label><select id="sort" name="sort">${
    option("disruptivenessRatio", "share of flaky failures")
  }${option("recency", "latest flaky failure")}</select></div>
<button>Show</button></form>`;
}

function nothingFound({ q, branch, repository }: RawParameters, isFlakyView: boolean): Markup {
  if (q || branch) {
    return markup`<p class="empty">Nothing matches. Remove a word of the search, or the branch.</p>`;
  }
  if (!isFlakyView) {
    return markup`<p class="empty">No test is quarantined. The page of a flaky test has the command
that quarantines it.</p>`;
  }
  return markup`<p class="empty">No test ${
    repository ? markup`of ${repository}` : "of any repository"
  } failed in the last 14 days on code on which it also passed. Tests are found flaky when the same
commit is tested twice, or when a report has retries.</p>`;
}

function testTable(
  tests: readonly TrackedTest[],
  { link, parameters, repositories, pathTo, today }: {
    link(changes: Record<string, string | undefined>): Markup;
    parameters: RawParameters;
    repositories: ReadonlyMap<number, RepositoryName>;
    pathTo: PathTo;
    today: number;
  },
): Markup {
  const order = parameters.sort || "disruptivenessRatio";
  const sortable = (sort: string, name: string, className: string): Column => ({
    name: markup`<a href="${link({ sort, after: undefined })}">${name}</a>`,
    className,
    isSorted: order === sort,
  });
  const head = [
    ...columns("Test|name", "Repository|wide"),
    sortable("disruptivenessRatio", "Flaky share", "number"),
    ...columns("Flaky failures|number wide", "First|nowrap wide"),
    sortable("recency", "Latest", ""),
  ];
  return table(
    "Tests",
    head,
    tests.map((test) => {
      const { firstDisruptionAt, latestDisruption, tags, quarantine } = test;
      const repository = repositories.get(parseTestId(test.id)!.idPrefix)!;
      return [
        markup`${testName(pathTo, test.id, test)}${
          tags.map((tag) => markup`<span class="tag">${tag}</span>`)
        }`,
        markup`<a href="${repositoryPath(pathTo, repository)}">${
          formatRepositoryName(repository)
        }</a>`,
        formatThousandths(disruptivenessThousandths(test)),
        test.disruptionCount,
        firstDisruptionAt === null ? "never" : moment(firstDisruptionAt, today),
        markup`${
          latestDisruption
            ? markup`${
              moment(latestDisruption.recordedAt, today)
            }<small><code>${latestDisruption.message}</code></small>`
            : "never"
        }${
          quarantine &&
          markup`<small>Quarantined ${moment(quarantine.quarantinedAt, today)}${
            quarantine.quarantinedBy && ` by ${quarantine.quarantinedBy}`
          }</small>`
        }`,
      ];
    }),
  );
}
