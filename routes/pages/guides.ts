// Tests: tests/routes/guides_test.ts
/** `/docs/guides` and below: the guides and the reference, from the Markdown of the project. */
import * as v from "valibot";
import { FILE_PATHS } from "../../lib/http/guides/files.ts";
import { DOCUMENT_PATHS } from "../../lib/http/guides/paths.ts";
import { externalAddress, type Markup, markup } from "../../lib/html/markup.ts";
import type { ResolveLink } from "../../lib/html/markdown.ts";
import type { Endpoint } from "../../lib/http/request/route.ts";
import { definePage, type PageRequest } from "./page.ts";

const SERVED: ReadonlySet<string> = new Set(DOCUMENT_PATHS);

/** What follows in the index is not served: it is for contributors. */
const FOR_CONTRIBUTORS = "\n## Design and measurements\n";

/** The document and the renderer are loaded by the first request for a guide. */
async function rendered(path: string, { pathTo }: Pick<PageRequest, "pathTo">) {
  const [{ DOCUMENTS, INDEX }, { renderMarkdown }] = await Promise.all([
    import("../../lib/http/guides/texts.ts"),
    import("../../lib/html/markdown.ts"),
  ]);
  const text = DOCUMENTS[path] ?? INDEX.split(FOR_CONTRIBUTORS)[0]!;
  return renderMarkdown(text, linksFrom(`docs/${path}.md`, pathTo));
}

/** Resolves the links of a file of the project: to pages of this service, or to other sites. */
function linksFrom(file: string, pathTo: PageRequest["pathTo"]): ResolveLink {
  return (address) => {
    if (/^[a-z]+:/i.test(address)) return externalAddress(address);
    const { pathname, hash } = new URL(address, `http://project/${file}`);
    const path = pathname.slice(1);
    const to = addressOf(path === file ? null : path, pathTo);
    return to && markup`${to}${hash}`;
  };
}

/** The page of a file of the project; `null` if it is not served. */
function addressOf(path: string | null, pathTo: PageRequest["pathTo"]): Markup | null {
  if (path === null) return markup``;
  if (path === "docs/reference/api.md" || path === "docs/openapi.yaml") return pathTo(["docs"]);
  if (path === "docs/README.md") return pathTo(["docs", "guides"]);
  const name = path.replace(/^docs\//, "").replace(/\.md$/, "");
  if (SERVED.has(name)) return pathTo(["docs", ...name.split("/")]);
  const [file] = Object.entries(FILE_PATHS).find(([, source]) => source === path) ?? [];
  return file === undefined ? null : pathTo(["docs", "files", file]);
}

/** `/docs/guides`: the list of all. */
const indexPage = definePage({
  path: "/docs/guides",
  async show(page) {
    const { content } = await rendered("README", page);
    return {
      title: "Guides",
      content: markup`<h1>Documentation</h1><div class="prose">${content}</div>`,
    };
  },
});

const documentPages = DOCUMENT_PATHS.map((path) =>
  definePage({
    path: `/docs/${path}`,
    async show(page) {
      const { title, content } = await rendered(path, page);
      return {
        title,
        crumbs: [markup`<a href="${page.pathTo(["docs", "guides"])}">Documentation</a>`],
        content: markup`<h1>${title}</h1><div class="prose">${content}</div>`,
      };
    },
  })
);

/** The pages of the documentation. */
export const guidePages: readonly Endpoint[] = [indexPage, ...documentPages];

/** Files that the guides refer to, as they are. */
export const guideFiles: readonly Endpoint[] = Object.keys(FILE_PATHS).map((name) => ({
  path: `/docs/files/${name}`,
  access: "token or basic",
  query: v.object({}),
  response: { status: 200, mediaType: "text/plain; charset=utf-8" },
  handler: async () => ({ body: (await import("../../lib/http/guides/texts.ts")).FILES[name]! }),
}));
