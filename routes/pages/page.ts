/** What all pages have in common. They are no part of the API: the route table does not list them. */
import * as v from "valibot";
import { layout, type Page, PAGE_HEADERS } from "../../lib/html/layout.ts";
import {
  type Content,
  type Markup,
  markup,
  pathsFrom,
  type PathTo,
} from "../../lib/html/markup.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { formatRepositoryName, type RepositoryName } from "../../lib/base/repository_name.ts";
import type { Context } from "../../lib/http/request/context.ts";
import type {
  ApiRequest,
  Endpoint,
  ParametersSchema,
  Resource,
} from "../../lib/http/request/route.ts";

/** Declares a page; `show` may send the reader to another address instead. */
export function definePage<Query extends ParametersSchema = ParametersSchema>(
  { path, resource, query, show }: {
    path: string;
    resource?: Resource;
    query?: Query;
    show(
      request: ApiRequest<v.InferOutput<Query>>,
      tools: { context: Context; pathTo: PathTo },
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
    async handler(request, context) {
      const pathTo = pathsFrom(request.root);
      const page = await show(request, { context, pathTo });
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
  return [
    { text: "Repositories", address: pathTo(["repos"]) },
    ...(repository
      ? [{ text: formatRepositoryName(repository), address: repositoryPath(pathTo, repository) }]
      : []),
  ];
}

/** The name of a test as a link to its page, with what tells it apart. */
export function testName(pathTo: PathTo, id: string, test: TestIdentity): Markup {
  const where = [test.suite, test.class, test.file].filter((text) => text !== "").join(" · ");
  return markup`<a href="${pathTo(["tests", id])}"><bdi>${test.name}</bdi></a>${
    where && markup`<small>${where}</small>`
  }`;
}

/** A column of a table: `number` is aligned right, `wide` is not shown on a phone. */
export interface Column {
  name: Content;
  className?: string;
  isSorted?: boolean;
}

/** A table that scrolls in itself where it does not fit. The first cell of a row is its header. */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly Content[])[],
): Markup {
  const classes = columns.map(({ className }) => className && markup` class="${className}"`);
  const cells = (row: readonly Content[]) =>
    row.map((cell, index) =>
      index === 0
        ? markup`<th scope="row"${classes[0]}>${cell}</th>`
        : markup`<td${classes[index]}>${cell}</td>`
    );
  return markup`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<thead><tr>${
    columns.map(({ name, isSorted }, index) =>
      markup`<th scope="col"${classes[index]}${
        isSorted && markup` aria-sort="descending"`
      }>${name}</th>`
    )
  }</tr></thead>
<tbody>${rows.map((row) => markup`<tr>${cells(row)}</tr>\n`)}</tbody></table></div>`;
}

/** Columns by their names; the class of one follows after a bar, as in `Builds|number`. */
export function columns(...names: readonly string[]): Column[] {
  return names.map((text) => {
    const [name, className] = text.split("|");
    return { name, className };
  });
}

/** Key figures: a name, a value, and what it is made of. */
export function facts(list: readonly (readonly [name: string, value: Content, more?: Content])[]) {
  return markup`<dl class="facts">${
    list.map(([name, value, more]) =>
      markup`<div><dt>${name}</dt><dd>${value}${more && markup`<small>${more}</small>`}</dd></div>`
    )
  }</dl>`;
}
