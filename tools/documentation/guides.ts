/**
 * The documents that the program serves as HTML: all of `docs/guides/` and `docs/reference/` except the
 * reference of the API, which `/docs` shows, and the list of them.
 */
import { externalAddress, markup } from "../../lib/html/markup.ts";
import { FILE_PATHS } from "../../lib/http/documentation/documents.ts";
import { renderMarkdown, type ResolveLink } from "./markdown.ts";

const DOCS = new URL("../../docs/", import.meta.url);
const NOT_SERVED: ReadonlySet<string> = new Set(["reference/api"]);

/** What follows in the index is not served: it is for contributors. */
const FOR_CONTRIBUTORS = "\n## Design and measurements\n";

/** A document as it is served. */
interface Document {
  /** Below `docs/`, without extension. */
  path: string;
  title: string;
  /** Addresses of this service begin with `page:`. */
  html: string;
}

/** Renders all documents. */
export async function renderDocuments(): Promise<Document[]> {
  const paths = ["guides", "reference"].flatMap((folder) =>
    [...Deno.readDirSync(new URL(`${folder}/`, DOCS))]
      .map(({ name }) => `${folder}/${name.replace(/\.md$/, "")}`)
  ).filter((path) => !NOT_SERVED.has(path)).sort();
  return await Promise.all(["README", ...paths].map(async (path) => {
    const text = await Deno.readTextFile(new URL(`${path}.md`, DOCS));
    const served = path === "README" ? text.split(FOR_CONTRIBUTORS)[0]! : text;
    const { title, content } = renderMarkdown(served, linksFrom(`docs/${path}.md`, new Set(paths)));
    return { path, title, html: String(content) };
  }));
}

/** Resolves the links of a file of the project: to pages of the service, or to other sites. */
function linksFrom(file: string, served: ReadonlySet<string>): ResolveLink {
  return (address) => {
    if (/^[a-z]+:/i.test(address)) return externalAddress(address);
    const { pathname, hash } = new URL(address, `http://project/${file}`);
    const path = pathname.slice(1);
    if (path === file) return markup`${hash}`;
    const page = pageOf(path, served);
    return page === null ? null : markup`page:${page}${hash}`;
  };
}

/** The page of a file of the project; `null` if it is not served. */
function pageOf(path: string, served: ReadonlySet<string>): string | null {
  if (path === "docs/reference/api.md" || path === "docs/openapi.yaml") return "docs";
  if (path === "docs/README.md") return "docs/guides";
  const name = path.replace(/^docs\//, "").replace(/\.md$/, "");
  if (served.has(name)) return `docs/${name}`;
  const [file] = Object.entries(FILE_PATHS).find(([, source]) => source === path) ?? [];
  return file === undefined ? null : `docs/files/${file}`;
}
