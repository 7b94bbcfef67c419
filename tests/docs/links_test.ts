import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";

const ROOT = new URL("../../", import.meta.url);

/** Text of each page by its path in the project. */
const pages = new Map<string, string>();
for await (const path of pagesBelow("")) {
  pages.set(path, await Deno.readTextFile(new URL(path, ROOT)));
}

/** Markdown files in the root folder, and all below `docs/`. */
async function* pagesBelow(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder || ".", ROOT))) {
    const path = `${folder}${name}`;
    if (isDirectory && path.startsWith("docs")) yield* pagesBelow(`${path}/`);
    else if (name.endsWith(".md")) yield path;
  }
}

/** The links of a page: a path in the project, and a heading's anchor or `""`. */
function linksOf(page: string): { target: string; anchor: string }[] {
  const prose = (pages.get(page) ?? "").replaceAll(/^ *```[^]*?^ *```/gm, "");
  return [...prose.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, link = ""]) => {
    const { pathname, hash } = new URL(link, new URL(page, "file:///"));
    return { target: pathname.slice(1), anchor: hash.slice(1) };
  });
}

/** The anchors of a page, as Markdown renderers generate them from headings. */
function anchorsOf(page: string): string[] {
  return [...(pages.get(page) ?? "").matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title.toLowerCase().replaceAll(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-")
  );
}

describe("the documentation", () => {
  it("has no dead links", async () => {
    const dead: string[] = [];
    for (const page of pages.keys()) {
      for (const { target, anchor } of linksOf(page)) {
        const exists = await Deno.stat(new URL(target, ROOT)).then(() => true, () => false);
        if (!exists || anchor && !anchorsOf(target).includes(anchor)) {
          dead.push(`${page}: ${target}#${anchor}`);
        }
      }
    }
    assert.deepEqual(dead, []);
  });

  it("names files that exist", async () => {
    const missing: string[] = [];
    const path = /`((?:db|deploy|fixtures|lib|routes|tests|tools)\/[\w./-]+)`/g;
    for (const [page, text] of pages) {
      for (const [, file = ""] of text.matchAll(path)) {
        const exists = await Deno.stat(new URL(file, ROOT)).then(() => true, () => false);
        if (!exists) missing.push(`${page}: ${file}`);
      }
    }
    assert.deepEqual(missing, []);
  });

  it("lists every page once in its index", () => {
    const listed = linksOf("docs/README.md").map(({ target }) => target)
      .filter((target) => target.endsWith(".md"));
    const existing = [...pages.keys()]
      .filter((page) => page.startsWith("docs/") && page !== "docs/README.md");
    assert.deepEqual(listed.sort(), existing.sort());
  });

  it("lists the decisions by date, with their status", () => {
    const rows = [
      ...pages.get("docs/README.md")!.matchAll(/^\| (\d.*?) +\| .*decisions\/.* \| (.*?) +\|$/gm),
    ];
    assert.equal(
      rows.length,
      [...pages.keys()].filter((page) => page.startsWith("docs/decisions/")).length,
    );
    const dates = rows.map(([, date = ""]) => date);
    assert.deepEqual(dates, dates.toSorted());
    for (const [, date = "", status = ""] of rows) {
      assert.match(date, /^\d{4}-\d\d-\d\d$/);
      assert.match(status, /^(in force|replaced by \[)/);
    }
  });

  it("lists pages under their titles", () => {
    const entries = indexEntries();
    assert.ok(entries.length > 40, String(entries.length));
    for (const [, title = "", target = ""] of entries) {
      const heading = /^# (.*)$/m.exec(pages.get(`docs/${target}`) ?? "")?.[1];
      assert.equal(title, heading, target);
    }
  });
});

/** Links of the index with their text. The API reference has a generated title. */
function indexEntries(): RegExpMatchArray[] {
  const index = pages.get("docs/README.md") ?? "";
  return [...index.matchAll(/^(?:-|\| [\d-]+ \|) \[(.*)\]\(((?!reference\/api)[^)]*\.md)\)/gm)];
}
