import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { describeWithDatabase } from "../database.ts";
import { createFixture, type Fixture, request } from "./fixture.ts";

describeWithDatabase("the documents", (database) => {
  let fixture: Fixture;
  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
  });

  for (const [path, type] of [["/docs", "text/html"], ["/llms-full.txt", "text/plain"]] as const) {
    it(`are returned for a token in a header or as a password: ${path}`, async () => {
      const basic = `Basic ${btoa(`any:${fixture.token}`)}`;
      const bodies: string[] = [];
      for (const authorization of [basic, `token ${fixture.token}`, `Bearer ${fixture.token}`]) {
        for (const address of [path, `${path}/`]) {
          const response = await fixture.app(request(address, { authorization }));
          assert.equal(response.status, 200);
          assert.equal(response.headers.get("content-type"), `${type}; charset=utf-8`);
          bodies.push(await response.text());
        }
      }
      assert.equal(new Set(bodies).size, 1);
      const refused = await fixture.app(request(path));
      assert.equal(refused.status, 401);
      assert.match(refused.headers.get("www-authenticate") ?? "", /^Basic realm="/);
    });

    it(`are the same for all organizations, with 304 for a current entity tag: ${path}`, async () => {
      const other = await createFixture(database(), { name: `other ${path}` });
      const [mine, theirs] = await Promise.all([fixture.get(path), other.get(path)]);
      await Promise.all([mine.body?.cancel(), theirs.body?.cancel()]);
      const etag = mine.headers.get("etag") ?? "";
      assert.equal(theirs.headers.get("etag"), etag);
      const again = await fixture.get(path, { "if-none-match": etag });
      assert.deepEqual([again.status, again.body], [304, null]);
    });
  }

  it("are small enough for a page: below 34 kB compressed", async () => {
    const response = await fixture.get("/docs", { "accept-encoding": "gzip" });
    assert.equal(response.headers.get("content-encoding"), "gzip");
    const { byteLength } = await response.arrayBuffer();
    assert.ok(byteLength > 5_000 && byteLength < 34_000, `${byteLength} bytes`);
  });

  it("restrict the page to its own script and this service", async () => {
    const response = await fixture.get("/docs");
    await response.body?.cancel();
    const policy = response.headers.get("content-security-policy") ?? "";
    const directives = policy.split("; ").map((text) => text.replace(/'sha256-[^']+'/g, "HASH"));
    assert.deepEqual(directives, [
      "default-src 'none'",
      "style-src HASH",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "script-src HASH",
      "connect-src 'self'",
      "img-src blob: data:",
      "form-action 'none'",
    ]);
    assert.equal(response.headers.get("x-content-type-options"), "nosniff");
    assert.equal(response.headers.get("referrer-policy"), "no-referrer");
  });
});
