import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";

const ROOT = new URL("../../", import.meta.url);

/** Pages by their path in the project. */
const pages = new Map<string, string>();
for await (const path of pagesBelow("")) {
  pages.set(path, await Deno.readTextFile(new URL(path, ROOT)));
}

/** Markdown files that stand in the project's own folder, and all in `docs/`. */
async function* pagesBelow(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder || ".", ROOT))) {
    const path = `${folder}${name}`;
    if (isDirectory && path.startsWith("docs")) yield* pagesBelow(`${path}/`);
    else if (name.endsWith(".md")) yield path;
  }
}

/** Where a page's links lead: a path in the project, and a chapter there or none. */
function linksOf(page: string): { target: string; chapter: string }[] {
  const prose = (pages.get(page) ?? "").replaceAll(/^ *```[^]*?^ *```/gm, "");
  return [...prose.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, link = ""]) => {
    const { pathname, hash } = new URL(link, new URL(page, "file:///"));
    return { target: pathname.slice(1), chapter: hash.slice(1) };
  });
}

/** What a chapter is called in a link. */
function anchorsOf(page: string): string[] {
  return [...(pages.get(page) ?? "").matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title.toLowerCase().replaceAll(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-")
  );
}

describe("the documentation", () => {
  it("links to files and chapters that are there", async () => {
    const dead: string[] = [];
    for (const page of pages.keys()) {
      for (const { target, chapter } of linksOf(page)) {
        const isThere = await Deno.stat(new URL(target, ROOT)).then(() => true, () => false);
        if (!isThere || chapter && !anchorsOf(target).includes(chapter)) {
          dead.push(`${page}: ${target}#${chapter}`);
        }
      }
    }
    assert.deepEqual(dead, []);
  });

  it("has every page in its index, once", () => {
    const listed = linksOf("docs/README.md").map(({ target }) => target)
      .filter((target) => target.endsWith(".md"));
    const there = [...pages.keys()]
      .filter((page) => page.startsWith("docs/") && page !== "docs/README.md");
    assert.deepEqual(listed.sort(), there.sort());
  });

  it("calls pages what they call themselves", () => {
    for (const [, title = "", target = ""] of indexEntries()) {
      const heading = /^# (.*)$/m.exec(pages.get(`docs/${target}`) ?? "")?.[1];
      assert.equal(title, heading, target);
    }
  });
});

/** The index's links to guides, explanations and decisions, with what they are called there. */
function indexEntries(): RegExpMatchArray[] {
  const index = pages.get("docs/README.md") ?? "";
  return [...index.matchAll(/^- \[(.*)\]\(((?!reference\/api)[^)]*\.md)\)/gm)];
}
