import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { renderMarkdown } from "../../../tools/documentation/markdown.ts";
import { externalAddress, markup } from "../../../lib/html/markup.ts";

const render = (text: string) =>
  renderMarkdown(
    text,
    (address) => address.startsWith("#") ? markup`${address}` : externalAddress(address),
  );
const html = (text: string) => String(render(text).content).replaceAll(/\n/g, "");

describe("Markdown", () => {
  it("has headings that can be linked to, the first of which is the title", () => {
    const { title, content } = render("# One\n\n## What `gate` does: a & b\n\n### Three");
    assert.equal(title, "One");
    assert.match(
      String(content),
      /^<h2 id="what-gate-does-a--b">What <code>gate<\/code> does: a &amp; b/,
    );
    assert.match(String(content), /<h3 id="three">Three<\/h3>/);
  });

  it("has paragraphs, lists, tables, code, and links that are resolved", () => {
    assert.equal(html("a **b** *c* `d < e`"), "<p>a <b>b</b> <em>c</em> <code>d &lt; e</code></p>");
    assert.equal(html("- a\n- b `c`"), "<ul><li>a</li><li>b <code>c</code></li></ul>");
    assert.equal(html("2. a"), "<ol><li>a</li></ol>");
    assert.equal(html("```sh\na <b>\n```"), '<pre tabindex="0">a &lt;b&gt;</pre>');
    assert.match(
      html("| a | b |\n|---|---|\n| 1 | `x \\| y` |"),
      /<td>1<\/td><td><code>x \| y<\/code>/,
    );
    assert.equal(html("[a](#b) [c](d.md)"), '<p><a href="#b">a</a> c</p>');
  });

  it("has no headings of the page in a quotation", () => {
    assert.equal(
      html("> #### `a`\n>\n> b"),
      "<blockquote><p><b><code>a</code></b></p><p>b</p></blockquote>",
    );
  });

  it("shows HTML as text, and links to nothing but http and https", () => {
    for (
      const text of [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "<div onclick=x>\n\nb\n\n</div>",
        "[a](javascript:alert(1)) [b](data:text/html,x)",
        '![a"onload=x](https://a.example/x.png "t\\"x")',
        "# <svg onload=x>\n\n## <b onclick=x>",
        "```<script>\n</pre><script>\n```",
        "| <a href=x> |\n|---|\n| <script> |",
        '[a](https://a.example/"onclick=x)',
      ]
    ) {
      const { title, content } = render(text);
      const made = String(markup`<h1>${title}</h1>${content}`);
      assert.doesNotMatch(made, /<(script|img|div on|svg|b on|a href=(?!"https?:))/i, text);
      assert.doesNotMatch(made, /<[^>]*"\s*on\w+=/, text);
    }
  });
});
