/** `sections.ts`, as a forge renders it. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import MarkdownIt from "markdown-it";
import { parseFragment } from "parse5";
import { commentBody, parseComment } from "../../../lib/comment/sections.ts";
import { HOSTILE_NAMES } from "./hostile_names.ts";
import { BUILD, hostileSection, PAGE } from "./hostile_section.ts";

/** As forges do: with HTML, and with links made of addresses. */
const renderer = new MarkdownIt("default", { html: true, linkify: true });

interface Node {
  nodeName: string;
  value?: string;
  attrs?: { name: string; value: string }[];
  childNodes?: Node[];
}

/** The elements of rendered Markdown and its text outside of `code`. */
function read(
  body: string,
): { tags: Set<string>; links: string[]; text: string; comments: number } {
  const found = { tags: new Set<string>(), links: [] as string[], text: "", comments: 0 };
  const visit = (node: Node) => {
    if (node.nodeName === "#text") found.text += node.value;
    if (node.nodeName === "#comment") found.comments++;
    if (!node.nodeName.startsWith("#")) found.tags.add(node.nodeName);
    found.links.push(
      ...(node.attrs ?? []).filter(({ name }) => ["href", "src"].includes(name))
        .map(({ value }) => value),
    );
    if (node.nodeName !== "code") node.childNodes?.forEach(visit);
  };
  visit(parseFragment(renderer.render(body)) as unknown as Node);
  return found;
}

describe("a comment with hostile names", () => {
  for (const text of HOSTILE_NAMES) {
    it(`has no element, link or mention of them: ${JSON.stringify(text.slice(0, 40))}`, () => {
      const section = hostileSection(text);
      const body = commentBody([section]);
      const { tags, links, text: outside, comments } = read(body);
      assert.deepEqual([...tags].sort(), ["a", "code", "h4", "li", "p", "strong", "ul"]);
      assert.deepEqual(new Set(links), new Set([PAGE, BUILD]));
      assert.doesNotMatch(outside, /@|octocat|evil|alert|[<>`]|^\s*\/\w/m);
      // The marks of the comment and of its section.
      assert.equal(comments, 3);
      assert.equal((body.match(/<!--/g) ?? []).length - comments, countIn(section.text, "<!--"));
      assert.doesNotMatch(body, /^\s*\/\w/m);
      assert.deepEqual(parseComment(body).map(({ job }) => job), [section.job]);
    });
  }
});

function countIn(text: string, part: string): number {
  return text.split(part).length - 1;
}
