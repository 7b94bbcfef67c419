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
  ParametersSchema,
  Resource,
} from "../../lib/http/request/route.ts";

/** Dependencies of a page, and helpers for its links and times. */
export interface PageContext {
  sql: Context["sql"];
  pathTo: PathTo;
  /** Formats seconds since 1970; `never` for `null`. */
  at(seconds: number | null): Markup;
}

/** Declares a page; `show` may return an address to redirect to instead. */
export function definePage<Query extends ParametersSchema = ParametersSchema>(
  { path, resource, query, show }: {
    path: string;
    resource?: Resource;
    query?: Query;
    show(
      request: ApiRequest<v.InferOutput<Query>>,
      context: PageContext,
    ): Promise<Page | Markup> | Page | Markup;
  },
): Endpoint {
  const endpoint: Endpoint<v.InferOutput<Query>> = {
    path,
    access: "token or basic",
    isPage: true,
    parameters: { query: query ?? v.object({}) },
    response: { status: 200, description: "", mediaType: "text/html; charset=utf-8" },
    resource,
    async handler(request, { sql }) {
      const pathTo = pathsFrom(request.root);
      const at = (seconds: number | null) =>
        seconds === null ? markup`never` : formatTime(seconds, request.today);
      const page = await show(request, { sql, pathTo, at });
      return "content" in page
        ? { body: layout(page, pathTo), headers: PAGE_HEADERS }
        : { body: "", redirect: String(page) };
    },
  };
  // Sound: the handler only receives what this schema produced.
  return endpoint as Endpoint;
}

/** The address of the page of a repository. */
export function repositoryPath(pathTo: PathTo, { owner, name }: RepositoryName): Markup {
  return pathTo(["repos", owner, name]);
}

/** Breadcrumbs from the list of repositories down to one. */
export function crumbsTo(pathTo: PathTo, repository: RepositoryName | null) {
  const all = [{ text: "Repositories", address: pathTo(["repos"]) }];
  if (!repository) return all;
  const address = repositoryPath(pathTo, repository);
  return [...all, { text: formatRepositoryName(repository), address }];
}

/** Suite, class and file: they distinguish tests of the same name. */
export function placeOf({ suite, class: className, file }: TestIdentity): string {
  return [suite, className, file].filter((text) => text !== "").join(" · ");
}

/** The name of a test as a link to its page. */
export function testName({ pathTo }: PageContext, id: string, test: TestIdentity): Markup {
  return markup`<a href="${pathTo(["tests", id])}"><bdi>${test.name}</bdi></a>
<small>${placeOf(test)}</small>`;
}

/** The time of a submission as a link to its build. */
export function buildLink(
  { pathTo, at }: PageContext,
  { owner, name }: RepositoryName,
  submissionId: string,
): Markup {
  const address = pathTo(["repos", owner, name, "builds", submissionId]);
  return markup`<a href="${address}">${at(recordedAtOf(submissionId))}</a>`;
}

/** A text in place of an empty section. */
export function emptyState(...content: Content[]): Markup {
  return markup`<div class="empty">${content}</div>`;
}

/** The command that uploads the first report. */
export function firstUpload(repository: string): Markup {
  return markup`<pre tabindex="0">test-analytics ingest --org NAME --repo ${repository} --commit HEAD reports/</pre>`;
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

/** A summary that expands to its content. */
export function disclosure(summary: Content, content: Content, isOpen: boolean): Markup {
  return markup`<details class="cause"${isOpen && markup` open`}>
<summary>${summary}</summary>
${content}
</details>`;
}

/** The stack trace of a failure. */
export function stackTrace(body: string | undefined): Markup {
  return body
    ? markup`<pre tabindex="0">${body}</pre>`
    : markup`<p>The report has no stack trace.</p>`;
}
