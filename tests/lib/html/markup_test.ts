import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { breakable, testPlace } from "../../../lib/html/elements.ts";
import { externalAddress, externalLink, markup, pathsFrom } from "../../../lib/html/markup.ts";
import { HOSTILE } from "./hostile.ts";

describe("markup", () => {
  it("escapes whatever is interpolated", () => {
    for (const [text, shown] of HOSTILE) {
      assert.equal(
        String(markup`<p title="${text}">${text}</p>`),
        `<p title="${shown}">${shown}</p>`,
      );
    }
  });

  it("takes markup as it is, lists of it, numbers, and nothing", () => {
    const items = ["a", "<b>"].map((text) => markup`<li>${text}</li>`);
    assert.equal(
      String(markup`<ul>${items}</ul>${0}${null}${undefined}${false}${""}`),
      "<ul><li>a</li><li>&lt;b&gt;</li></ul>0",
    );
  });
});

describe("an address", () => {
  it("becomes a link to another site only with http or https", () => {
    assert.equal(
      String(externalLink("https://ci.example.org/?a=1&b=<2>", "run")),
      '<a href="https://ci.example.org/?a=1&amp;b=%3C2%3E" rel="noreferrer">run</a>',
    );
    for (
      const url of [
        "",
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " https://blank.example.org",
        "data:text/html,x",
        "ftp://example.org",
        "//example.org",
        "https://",
        "/local",
      ]
    ) {
      assert.equal(externalAddress(url), null, url);
      assert.equal(String(externalLink(url, "<run>")), "&lt;run&gt;");
    }
  });

  it("is relative and encoded if it is that of a page of this service", () => {
    const pathTo = pathsFrom("../../");
    assert.equal(
      String(pathTo(["repos", "group/team", "a b?#"], { q: "x&y=<z>" })),
      "../../repos/group%2Fteam/a%20b%3F%23?q=x%26y%3D%3Cz%3E",
    );
    assert.equal(String(pathsFrom("")(["repos"])), "repos");
  });
});

describe("names", () => {
  it("break between their words, and inside of very long ones only", () => {
    const breaks = (text: string) => String(breakable(text)).replaceAll("<wbr>", "|");
    assert.equal(breaks("tests/checkout/test_cart.py"), "tests/|checkout/|test_|cart.py");
    assert.equal(breaks("com.acme.CartServiceTest"), "com.|acme.|Cart|Service|Test");
    assert.equal(breaks("main · 24d0c8b · #1252"), "main · 24d0c8b · #1252");
    assert.equal(breaks("keeps <b> items"), "keeps &lt;b&gt; items");
    assert.equal(breaks("a".repeat(50)), `${"a".repeat(24)}|${"a".repeat(24)}|aa`);
  });

  it("differ by suite, class or file, each shown once", () => {
    const place = (suite: string, className: string, file: string) =>
      testPlace({ suite, class: className, file });
    assert.equal(place("a.test.ts", "a.test.ts", "a.test.ts"), "a.test.ts");
    assert.equal(place("pytest", "tests.test_a", "tests/test_a.py"), "pytest · tests/test_a.py");
    assert.equal(place("", "tests.test_a.TestA", "tests/test_a.py"), "TestA · tests/test_a.py");
    assert.equal(place("com.x.A", "com.x.A", "src/com/x/A.java"), "src/com/x/A.java");
    assert.equal(place("example.com/a", "example.com/a", ""), "example.com/a");
    assert.equal(place("Suite", "Class", "a.ts"), "Suite · Class · a.ts");
    assert.equal(place("", "", ""), "");
  });
});
