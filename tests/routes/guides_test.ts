import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { describeWithDatabase } from "../database.ts";
import { DOCUMENT_PATHS, FILE_PATHS } from "../../lib/http/documentation/documents.ts";
import { createFixture, type Fixture, request } from "./fixture.ts";
import { assertHarmless, type Html, parseHtml } from "./html.ts";

const ROOT = new URL("../../", import.meta.url);

describeWithDatabase("the guides", (database) => {
  let acme: Fixture;
  before(async () => {
    acme = await createFixture(database(), { name: "acme" });
  });

  async function read(path: string): Promise<Html> {
    const response = await acme.get(path);
    assert.equal(response.status, 200, path);
    assert.match(
      response.headers.get("content-security-policy")!,
      /^default-src 'none'; style-src/,
    );
    return parseHtml(await response.text());
  }

  it("are all of docs/guides and docs/reference, except for the API, which is /docs", async () => {
    const found: string[] = [];
    for (const folder of ["guides", "reference"]) {
      for await (const { name } of Deno.readDir(new URL(`docs/${folder}`, ROOT))) {
        if (name.endsWith(".md")) found.push(`${folder}/${name.slice(0, -3)}`);
      }
    }
    const expected = found.filter((path) => path !== "reference/api").sort();
    assert.deepEqual([...DOCUMENT_PATHS].sort(), expected);
  });

  it("have a title, harmless markup, and links that lead somewhere", async () => {
    const pages = new Map<string, Html>();
    for (const path of ["/docs/guides", ...DOCUMENT_PATHS.map((path) => `/docs/${path}`)]) {
      const page = await read(path);
      assertHarmless(page);
      assert.equal(page.all("h1").length, 1, path);
      assert.doesNotMatch(page.all("h1")[0]!.text, /[`*]/);
      pages.set(path, page);
    }
    let count = 0;
    for (const [path, page] of pages) {
      for (const { attributes: { href = "" } } of page.all("main")[0]!.all("a")) {
        if (/^https?:/.test(href)) continue;
        const { pathname, hash } = new URL(href, `http://127.0.0.1:8000${path}`);
        const target = pages.get(pathname) ?? null;
        if (!target) {
          assert.equal((await acme.get(pathname)).status, 200, `${path}: ${href}`);
        } else if (hash !== "" && hash !== "#main") {
          const ids = target.all().map(({ attributes }) => attributes["id"]);
          assert.ok(ids.includes(hash.slice(1)), `${path}: ${href}`);
        }
        count++;
      }
    }
    assert.ok(count > 80, String(count));
  });

  it("are all linked from their list, which leaves out what is not served", async () => {
    const [content] = (await read("/docs/guides")).all(".prose");
    for (const item of content!.all("li")) assert.equal(item.all("a").length, 1, item.text);
    assert.doesNotMatch(content!.text, /Decisions|Design and measurements/);
  });

  it("show commands as they are in the file", async () => {
    const page = await read("/docs/guides/ci");
    assert.ok(
      page.all("pre").some(({ text }) =>
        text.includes("test-analytics token create --org acme --upload")
      ),
    );
  });

  it("come with the files that they refer to, as they are", async () => {
    for (const [name, path] of Object.entries(FILE_PATHS)) {
      const response = await acme.get(`/docs/files/${name}`);
      assert.equal(response.headers.get("content-type"), "text/plain; charset=utf-8");
      assert.equal(await response.text(), await Deno.readTextFile(new URL(path, ROOT)), name);
    }
  });

  it("need a token, and are reached from every page", async () => {
    for (const path of ["/docs/guides", "/docs/guides/ci", "/docs/files/upload.sh"]) {
      assert.equal((await acme.app(request(path))).status, 401, path);
    }
    assert.equal((await acme.get("/docs/guides/nothing")).status, 404);
    const links = (await read("/repos")).all("nav")[0]!.all("a").map(({ attributes }) =>
      attributes["href"]
    );
    assert.ok(links.includes("docs/guides"));
  });
});
