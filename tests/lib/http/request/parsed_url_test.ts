import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { createUrlParser, formatOfPath } from "../../../../lib/http/request/parsed_url.ts";
import { routes } from "../../../../routes/mod.ts";

const parse = createUrlParser(routes);

describe("a parsed URL", () => {
  it("has the route, the parameters that the route knows, and the selected repository", () => {
    const { route, parameters, selection } = parse(
      "http://localhost/api/repos/Acme/shop/tests?limit=0&sort=recency&no=1&limit=2",
    );
    assert.equal(route?.path, "/api/repos/:owner/:name/tests");
    assert.deepEqual(parameters, { limit: "0", sort: "recency" });
    assert.deepEqual(selection, { kind: "named", ownerKey: "acme", nameKey: "shop" });
  });

  it("accepts one trailing slash, and no other spelling of a path", () => {
    const pathOf = (path: string) => parse(`http://localhost${path}`).route?.path ?? null;
    assert.equal(pathOf("/api/repos/a%2Fb/c/tests/"), "/api/repos/:owner/:name/tests");
    for (
      const path of ["/api//", "//api", "/API", "/api/repos/a/%ff/tests", "/api/repos/a//tests"]
    ) {
      assert.equal(pathOf(path), null, path);
    }
  });

  it("has the format of a list that its path ends with", () => {
    assert.deepEqual(formatOfPath("/a/tests.csv"), { path: "/a/tests", format: "csv" });
    assert.deepEqual(formatOfPath("/a/tests.ndjson/"), { path: "/a/tests", format: "ndjson" });
    for (const path of ["/a/.csv", "/a/tests.CSV", "/a/tests.csv//", "/a/tests.csv.gz", "/csv"]) {
      assert.equal(formatOfPath(path), null, path);
    }
  });
});
