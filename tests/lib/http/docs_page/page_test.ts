import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "@std/testing/bdd";
import { docsPage } from "../../../../lib/http/docs_page/page.ts";
import { openapiDocument } from "../../../../lib/http/openapi/document.ts";
import { routes } from "../../../../routes/mod.ts";

const RENDERER = "console.log('a renderer')";

function page(renderer = RENDERER) {
  return docsPage({ contract: openapiDocument(routes), title: "A product", renderer });
}

/** The contract as the page holds it. */
function embedded() {
  const json = /<script type="application\/json" id="contract">(.*?)<\/script>/s.exec(page().html);
  return JSON.parse(json?.[1] ?? "");
}

describe("the documentation page", () => {
  it("lets run exactly the scripts that it holds", () => {
    const { html, headers } = page();
    const scripts = [...html.matchAll(/<script>(.*?)<\/script>/gs)].map(([, text = ""]) => text);
    assert.equal(scripts.length, 2);
    assert.equal(scripts[0], RENDERER);
    const hashes = scripts.map((script) =>
      `'sha256-${createHash("sha256").update(script).digest("base64")}'`
    );
    const policy = headers["content-security-policy"] ?? "";
    assert.ok(policy.split("; ").includes(`script-src ${hashes.join(" ")}`), policy);
    assert.ok(policy.split("; ").includes("default-src 'none'"), policy);
  });

  it("names no other host", () => {
    const { html, headers } = page();
    const own = html.replace(/<script type="application\/json".*?<\/script>/s, "");
    const namespaces = /http:\/\/www\.w3\.org\/2000\/svg|http%3A%2F%2Fwww\.w3\.org%2F2000%2Fsvg/g;
    assert.doesNotMatch(own.replaceAll(namespaces, ""), /https?:|https?%3A|["(]\/\//);
    assert.doesNotMatch(JSON.stringify(headers), /https?:|\*/);
  });

  it("has every operation of the contract, and one way to authenticate", () => {
    const contract = embedded();
    assert.deepEqual(Object.keys(contract.paths), Object.keys(openapiDocument(routes).paths ?? {}));
    assert.deepEqual(Object.keys(contract.components.securitySchemes), ["bearer"]);
    assert.deepEqual(contract.paths["/health"].get.security, []);
    assert.deepEqual(contract.paths["/docs"].get.security, [{ bearer: [] }]);
  });

  it("cannot be left by what the contract says", () => {
    const contract = { ...openapiDocument(routes), "x-trap": "</script><script>alert(1)</script>" };
    const { html } = docsPage({ contract, title: "A product", renderer: RENDERER });
    assert.ok(!html.includes("alert(1)</script>"));
  });

  it("refuses a renderer that would end too early", () => {
    for (const text of ["</script>", "<SCRIPT>"]) {
      assert.throws(() => page(`const text = "${text}"`), /the renderer contains "</);
    }
  });
});
