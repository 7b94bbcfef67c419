// Tests: tests/routes/guides_test.ts
/** `/docs/guides` and below: the guides and the reference, from the Markdown of the project. */
import * as v from "valibot";
import {
  DOCUMENT_PATHS,
  DOCUMENT_TITLES,
  FILE_PATHS,
} from "../../lib/http/documentation/documents.ts";
import { builtMarkup, type Markup, markup } from "../../lib/html/markup.ts";
import type { Endpoint } from "../../lib/http/request/route.ts";
import { definePage, type PageRequest } from "./page.ts";

/** Loaded with the first request for one. */
const texts = () => import("../../lib/http/documentation/texts.ts");

async function prose(path: string, { pathTo }: Pick<PageRequest, "pathTo">): Promise<Markup> {
  const { DOCUMENTS } = await texts();
  const html = DOCUMENTS[path]!.replaceAll(
    /(?<=href=")page:([^"#]*)/g,
    (_, page) => String(pathTo(page.split("/"))),
  );
  return markup`<div class="prose">${builtMarkup(html)}</div>`;
}

/** `/docs/guides`: the list of all. */
const indexPage = definePage({
  path: "/docs/guides",
  async show(page) {
    return {
      title: "Guides",
      content: markup`<h1>Documentation</h1>${await prose("README", page)}`,
    };
  },
});

const documentPages = DOCUMENT_PATHS.map((path) =>
  definePage({
    path: `/docs/${path}`,
    async show(page) {
      const title = DOCUMENT_TITLES[path]!;
      return {
        title,
        crumbs: [markup`<a href="${page.pathTo(["docs", "guides"])}">Documentation</a>`],
        content: markup`<h1>${title}</h1>${await prose(path, page)}`,
      };
    },
  })
);

export const guidePages: readonly Endpoint[] = [indexPage, ...documentPages];

/** Files that the guides refer to, as they are. */
export const guideFiles: readonly Endpoint[] = Object.keys(FILE_PATHS).map((name) => ({
  path: `/docs/files/${name}`,
  access: "token or basic",
  query: v.object({}),
  response: { status: 200, mediaType: "text/plain; charset=utf-8" },
  handler: async () => ({ body: (await texts()).FILES[name]! }),
}));
