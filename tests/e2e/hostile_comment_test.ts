/** The corpus of hostile names as a comment, rendered as a forge does and shown by a real browser. */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import MarkdownIt from "markdown-it";
import { commentBody } from "../../lib/comment/sections.ts";
import { HOSTILE_NAMES } from "../lib/comment/hostile_names.ts";
import { BUILD, hostileSection, PAGE } from "../lib/comment/hostile_section.ts";
import { launch, NO_BROWSER } from "./browser.ts";

/** What a page has: elements by name, addresses, and the text outside of `code`. */
interface Found {
  tags: string[];
  addresses: string[];
  outside: string;
}

/** Runs in the browser. */
const READ = `(() => {
  const root = document.querySelector("main");
  const elements = [...root.querySelectorAll("*")];
  const outside = [];
  const walk = (node) => {
    if (node.nodeType === 3) outside.push(node.data);
    if (node.localName !== "code") for (const child of node.childNodes) walk(child);
  };
  walk(root);
  return {
    tags: [...new Set(elements.map(({ localName }) => localName))].sort(),
    addresses: [...new Set(elements.flatMap((one) => one.href ?? one.src ?? []))].sort(),
    outside: outside.join("\\n"),
  };
})()`;

describe("a comment of hostile names in a browser", { skip: NO_BROWSER !== false }, () => {
  it("has no live mention, link, image, tag or script of them", async () => {
    const renderer = new MarkdownIt("default", { html: true, linkify: true });
    const browser = await launch();
    try {
      const page = await browser.newPage();
      const requested: string[] = [];
      const dialogs: string[] = [];
      page.on("request", (request) => void requested.push(request.url()));
      page.on("dialog", (dialog) => {
        dialogs.push(dialog.message());
        void dialog.dismiss();
      });
      for (const text of HOSTILE_NAMES) {
        const html = renderer.render(commentBody([hostileSection(text)]));
        await page.setContent(`<!doctype html><meta charset="utf-8"><main>${html}</main>`);
        const { tags, addresses, outside } = await page.evaluate(READ) as Found;
        const name = JSON.stringify(text.slice(0, 40));
        assert.deepEqual(tags, ["a", "code", "h4", "li", "p", "strong", "ul"], name);
        assert.deepEqual(addresses, [BUILD, PAGE].sort(), name);
        assert.doesNotMatch(outside, /@|octocat|evil|alert|[<>`]|^\s*\/\w/m, name);
      }
      assert.deepEqual(requested, [], "nothing is fetched");
      assert.deepEqual(dialogs, []);
    } finally {
      await browser.close();
    }
  });
});
