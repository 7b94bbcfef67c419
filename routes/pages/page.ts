/** Shared code of all pages. Pages are not part of the API: the route table does not list them. */
import * as v from "valibot";
import { recordedAtOf, type TestIdentity } from "../../lib/base/identity.ts";
import { formatRepositoryName, type RepositoryName } from "../../lib/base/repository_name.ts";
import { formatTime } from "../../lib/html/format.ts";
import { layout, type Page, PAGE_HEADERS } from "../../lib/html/layout.ts";
import {
  type Content,
  type Markup,
  markup,
  pathsFrom,
  type PathTo,
} from "../../lib/html/markup.ts";
import type { Context } from "../../lib/http/request/context.ts";
import type {
  ApiRequest,
  Endpoint,
  Entries,
  QueryOf,
  Resource,
} from "../../lib/http/request/route.ts";

/** A request of a page, with what its links and times need. */
export interface PageRequest<Query = unknown> extends ApiRequest<Query> {
  sql: Context["sql"];
  pathTo: PathTo;
  /** Formats seconds since 1970; `never` for `null`. */
  at(seconds: number | null): Markup;
}

/** Declares a page; `show` may return an address to redirect to instead. */
export function definePage<Query extends Entries>(
  { query, show, ...page }: {
    path: string;
    resource?: Resource;
    query?: Query;
    show(request: PageRequest<QueryOf<Query>>): Promise<Page | Markup> | Page | Markup;
  },
): Endpoint {
  const endpoint: Endpoint<QueryOf<Query>> = {
    ...page,
    access: "token or basic",
    isPage: true,
    parameters: { query: v.object({ ...query }) },
    response: { status: 200, description: "", mediaType: "text/html; charset=utf-8" },
    async handler(request, { sql }) {
      const pathTo = pathsFrom(request.root);
      const at = (seconds: number | null) =>
        seconds === null ? markup`never` : formatTime(seconds, request.today);
      const shown = await show({ ...request, sql, pathTo, at });
      return "content" in shown
        ? { body: layout(shown, pathTo), headers: PAGE_HEADERS }
        : { body: "", redirect: String(shown) };
    },
  };
  // Sound: the handler only receives what this schema produced.
  return endpoint as Endpoint;
}

/** A link to the page of a repository. */
export function repositoryLink({ pathTo }: PageRequest, repository: RepositoryName): Markup {
  const address = pathTo(["repos", repository.owner, repository.name]);
  return markup`<a href="${address}">${formatRepositoryName(repository)}</a>`;
}

/** Breadcrumbs from the list of repositories down to one. */
export function crumbsTo(page: PageRequest, repository: RepositoryName | null): Markup[] {
  const all = markup`<a href="${page.pathTo(["repos"])}">Repositories</a>`;
  return repository ? [all, repositoryLink(page, repository)] : [all];
}

/** A link to the inventory with these parameters. */
export function inventoryLink(
  { pathTo }: PageRequest,
  query: Record<string, string>,
  text: Content,
): Markup {
  return markup`<a href="${pathTo(["flaky-tests"], query)}">${text}</a>`;
}

/** Suite, class and file: they distinguish tests of the same name. */
export function placeOf({ suite, class: className, file }: TestIdentity): string {
  return [suite, className, file].filter((text) => text !== "").join(" · ");
}

/** The name of a test as a link to its page. */
export function testLink({ pathTo }: PageRequest, id: string, test: TestIdentity): Markup {
  return markup`<a href="${pathTo(["tests", id])}"><bdi>${test.name}</bdi></a>
<small>${placeOf(test)}</small>`;
}

/** The time of a submission, or another text, as a link to its build. */
export function buildLink(
  { pathTo, at }: PageRequest,
  { owner, name }: RepositoryName,
  submissionId: string,
  text: Content = at(recordedAtOf(submissionId)),
): Markup {
  const address = pathTo(["repos", owner, name, "builds", submissionId]);
  return markup`<a href="${address}">${text}</a>`;
}

/** A text in place of an empty section. */
export function emptyState(...content: Content[]): Markup {
  return markup`<div class="empty">${content}</div>`;
}

/** A word that stands out, such as a tag of a test. */
export function label(text: string): Markup {
  return markup`<span class="tag">${text}</span>`;
}

/** A command line to copy, or other text that keeps its lines. */
export function verbatim(text: string): Markup {
  return markup`<pre tabindex="0">${text}</pre>`;
}

/** The command that uploads the first report. */
export function firstUpload(repository: string): Markup {
  return verbatim(`test-analytics ingest --org NAME --repo ${repository} --commit HEAD reports/`);
}

/** A list of key figures: name, value and detail. */
export function keyFigures(
  ...list: readonly [name: string, value: Content, more?: Content][]
): Markup {
  const items = list.map(([name, value, more]) => {
    const detail = more && markup`<small>${more}</small>`;
    return markup`<div><dt>${name}</dt><dd>${value}${detail}</dd></div>`;
  });
  return markup`<dl class="facts">${items}</dl>`;
}

/** A failure: a summary that expands to its content and stack trace. */
export function failureDetails(
  summary: Content,
  { content, body, isOpen }: { content: Content; body: string | undefined; isOpen: boolean },
): Markup {
  return markup`<details class="cause"${isOpen && markup` open`}>
<summary>${summary}</summary>
${content}${body ? verbatim(body) : markup`<p>The report has no stack trace.</p>`}
</details>`;
}
