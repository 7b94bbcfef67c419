// Tests: tests/routes/page_parameters_test.ts tests/routes/pages_test.ts
/** Turning the pages of a list: which items this one has, and links to the ones before and after. */
import { encodeOffsetCursor } from "../../lib/base/cursor.ts";
import { type Markup, markup } from "../../lib/html/markup.ts";
import type { PageRequest } from "./page.ts";

interface PagePlace {
  /** The page without its parameters. */
  path: readonly string[];
  /** Items before this page. */
  offset: number;
  /** Maximum number of items on a page. */
  limit: number;
  /** Items on all pages. */
  count: number;
}

/** A link to the page after a number of items, with the other parameters of this one. */
export function pageAt(
  { pathTo, parameters }: Pick<PageRequest, "pathTo" | "parameters">,
  { path, offset, text }: Pick<PagePlace, "path" | "offset"> & { text: string },
): Markup {
  const after = encodeOffsetCursor(Math.max(0, offset));
  return markup`<a href="${pathTo(path, { ...parameters, after })}">${text}</a>`;
}

/** Links to the page before and the page after, where there is one. */
export function turnPages(
  page: Pick<PageRequest, "pathTo" | "parameters">,
  { path, offset, limit, count }: PagePlace,
  [previous, next] = ["Previous page", "Next page"],
): Markup {
  const to = (offset: number, text = "") => pageAt(page, { path, offset, text });
  return markup`<nav class="pages" aria-label="Pages">${offset > 0 && to(offset - limit, previous)}
${offset + limit < count && to(offset + limit, next)}</nav>`;
}

/** Which items of a list a page has, `, 51 to 100 on this page`; `""` when it has all. */
export function shownRange(
  { offset, count, shown }: Pick<PagePlace, "offset" | "count"> & { shown: number },
): string {
  return shown < count ? `, ${offset + 1} to ${offset + shown} on this page` : "";
}
