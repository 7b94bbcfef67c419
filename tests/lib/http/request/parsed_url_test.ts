import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { createUrlReader } from "../../../../lib/http/request/parsed_url.ts";
import { routes } from "../../../../routes/mod.ts";

const read = createUrlReader(routes);

describe("what a URL asks for", () => {
  it("is kept when it is asked for again, and is the same for all requests with that URL", async () => {
    for (const limit of [7, 8, 9]) {
      const url = `http://localhost/api/repos/acme/shop/tests?limit=${limit}`;
      const first = await read(url);
      const second = await read(url.replace("localhost", "elsewhere"));
      assert.notEqual(second, first);
      assert.equal(await read(url), second);
    }
  });

  it("is not kept of a path that is asked for once", async () => {
    const url = "http://localhost/nowhere/at/all";
    assert.notEqual(await read(url), await read(url));
    assert.equal(await read(url), await read(url));
  });

  it("is not kept for a URL that is very long", async () => {
    const url = `http://localhost/api/repos/acme/shop/tests?q=${"x".repeat(3_000)}`;
    assert.notEqual(await read(url), await read(url));
  });

  it("holds route, values, mistakes and what is looked up", async () => {
    const asked = await read(
      "http://localhost/api/repos/Acme/shop/tests?limit=0&sort=recency&no=1",
    );
    assert.equal(asked.route?.path, "/api/repos/:owner/:name/tests");
    assert.deepEqual(asked.raw, { limit: "0", sort: "recency" });
    assert.deepEqual(Object.keys(asked.errors), ["limit"]);
    assert.deepEqual(asked.selection, { kind: "repository", ownerKey: "acme", nameKey: "shop" });
  });

  it("has another tag for other data, another URL, and the same data again", async () => {
    const one = await read("http://localhost/api/repos/acme/shop/tests");
    const other = await read("http://localhost/api/repos/acme/shop/tests?limit=1");
    const tag = one.etag([1]);
    assert.notEqual(one.etag([2]), tag);
    assert.equal(one.etag([1]), tag);
    assert.notEqual(other.etag([1]), tag);
  });

  it("lets a browser show documents before they are known to be there", async () => {
    assert.equal((await read("http://localhost/docs")).access, "token or basic");
    assert.equal((await read("http://localhost/api/none")).access, "token");
  });
});
