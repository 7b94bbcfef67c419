import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
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
  it("of another site is http or https", () => {
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

  it("of a page is relative and encoded", () => {
    const pathTo = pathsFrom("../../");
    assert.equal(
      String(pathTo(["repos", "group/team", "a b?#"], { q: "x&y=<z>" })),
      "../../repos/group%2Fteam/a%20b%3F%23?q=x%26y%3D%3Cz%3E",
    );
    assert.equal(String(pathsFrom("")(["repos"])), "repos");
  });
});
