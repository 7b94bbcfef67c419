import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "@std/testing/bdd";
import { docsPage } from "../../../lib/http/documentation/docs_page.ts";
import { describedParameters } from "../../../tools/documentation/description.ts";
import { docsPageContent } from "../../../tools/documentation/docs_page.ts";
import type { Route } from "../../../lib/http/request/route.ts";
import { routes } from "../../../routes/mod.ts";

const { body: html, headers } = docsPage();

function hashes(pattern: RegExp): string {
  return [...html.matchAll(pattern)].map(([, text = ""]) =>
    `'sha256-${createHash("sha256").update(text).digest("base64")}'`
  ).join(" ");
}

describe("the documentation page", () => {
  it("allows exactly its own script and style sheet", () => {
    const policy = headers["content-security-policy"]?.split("; ") ?? [];
    assert.ok(policy.includes(`script-src ${hashes(/<script>(.*?)<\/script>/gs)}`));
    assert.ok(policy.includes(`style-src ${hashes(/<style>(.*?)<\/style>/gs)}`));
    assert.ok(policy.includes("default-src 'none'"));
    assert.doesNotMatch(html, / style="|<script [^>]|\son\w+="/);
  });

  it("loads nothing and does not link to other hosts", () => {
    assert.doesNotMatch(html, /\b(?:src|href|action)="(?:https?:)?\/\//);
    assert.doesNotMatch(html, /url\(|@import/);
    assert.doesNotMatch(JSON.stringify(headers), /https?:|\*/);
  });

  it("shows the general rules, with the table of errors", () => {
    assert.match(html, /<li><b>window<\/b>: The last 14 x 24 hours/);
    assert.match(html, /<th scope="col">status<\/th>.*<tr><td>401<\/td><td>empty<\/td>/s);
  });

  it("has a form for every route with a field for every parameter", () => {
    for (const route of routes) {
      const { operationId, path } = route;
      const [, form = ""] = html.split(`id="${operationId}" `)[1]!.split("<form ");
      assert.ok(form.startsWith(`data-path="${path}"`), path);
      const fields = form.slice(0, form.indexOf("</form>")).matchAll(/ name="(\w+)"/g);
      assert.deepEqual(
        [...fields].map(([, name]) => name),
        describedParameters(route).map(({ name }) => name),
      );
    }
  });

  it("has unique ids, and every reference leads to one", () => {
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!);
    assert.equal(new Set(ids).size, ids.length);
    const references = [...html.matchAll(/ (?:for="|aria-\w+by="|href="#)([\w-]+)"/g)];
    assert.ok(references.length > 20);
    for (const [, id] of references) assert.ok(ids.includes(id!), id);
  });

  it("escapes every text of the route table", () => {
    const trap = `"><script>alert(1)</script>`;
    const [route] = routes;
    const changed = {
      ...route,
      summary: trap,
      description: `- ${trap}`,
      response: { ...route?.response, example: trap },
    } as Route;
    assert.doesNotMatch(docsPage(docsPageContent([changed])).body, /<script>alert/);
  });
});
