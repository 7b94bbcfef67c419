import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { gunzipSync } from "node:zlib";
import { deleteRepository, type Repository } from "../../db/admin/repositories.ts";
import { describeWithDatabase } from "../database.ts";
import {
  assertError,
  createFixture,
  createShop,
  DAY,
  type Fixture,
  flaky,
  idOf,
  NOW,
  quarantine,
  request,
} from "./fixture.ts";

const VARY = "Authorization, Accept-Encoding";

describeWithDatabase("HTTP conventions", (database) => {
  let fixture: Fixture;
  let shop: Repository;
  /** Every path whose response has a body and depends on data. */
  let paths: string[];

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    await fixture.upload(shop, [...flaky("a"), ...flaky("b")]);
    paths = [
      "/api/repos/acme/shop/submissions",
      "/api/repos/acme/shop/tests",
      `/api/tests/${idOf(shop, { name: "a" })}/results`,
      "/api/v1/flaky/tests?quarantine=false",
      "/api/v1/flaky/badges?repository=shop",
      "/api/v1/coverage/badges?repository=shop",
    ];
  });

  async function etagOf(path: string): Promise<string> {
    const response = await fixture.get(path);
    assert.equal(response.status, 200);
    await response.body?.cancel();
    const etag = response.headers.get("etag");
    assert.match(etag ?? "", /^"[\w-]{22}"$/);
    return etag!;
  }

  it("gives all tokens of an organization the same entity tags", async () => {
    const other = await fixture.addToken();
    for (const path of ["/api/repos/acme/shop/tests", "/api/v1/flaky/tests?quarantine=false"]) {
      const response = await fixture.app(request(path, { authorization: `Bearer ${other}` }));
      await response.body?.cancel();
      assert.equal(response.headers.get("etag"), await etagOf(path));
    }
  });

  it("returns 304 while nothing has changed, for lists, weak tags and *", async () => {
    for (const path of [...paths, "/health"]) {
      const etag = await etagOf(path);
      assert.equal(await etagOf(path), etag, "the tag is stable");
      for (const value of [etag, `W/${etag}`, `"other", W/${etag}`, `"a,b" , ${etag}`, "*"]) {
        const response = await fixture.get(path, { "if-none-match": value });
        assert.equal(response.status, 304, value);
        assert.equal(response.body, null);
        assert.equal(response.headers.get("etag"), value.includes("W/") ? `W/${etag}` : etag);
        assert.equal(response.headers.get("vary"), VARY);
        assert.ok(response.headers.get("cache-control"));
        assert.equal(response.headers.get("content-type"), null);
      }
      for (const value of ['"other"', etag.slice(1, -1), "", '"']) {
        const response = await fixture.get(path, { "if-none-match": value });
        assert.equal(response.status, 200, value);
        await response.body?.cancel();
      }
    }
  });

  it("has tags that change with the data", async () => {
    for (const change of [upload, putAside]) {
      const old = await Promise.all(paths.map(etagOf));
      await change();
      for (const [index, path] of paths.entries()) {
        const response = await fixture.get(path, { "if-none-match": old[index]! });
        assert.equal(response.status, 200, path);
        await response.body?.cancel();
      }
    }

    async function upload() {
      await fixture.upload(shop, [{ name: "c" }]);
    }

    async function putAside() {
      await quarantine(database(), idOf(shop, { name: "a" }));
    }
  });

  it("has tags that change in the second in which something expires from the window", async () => {
    await fixture.upload(shop, flaky("edge"), { recordedAt: NOW - 14 * DAY, commitOid: "edge" });
    const edge = `/api/tests/${idOf(shop, { name: "edge" })}/results`;
    const old = await Promise.all([...paths, edge].map(etagOf));
    for (const [index, path] of [...paths, edge].entries()) {
      fixture.clock.now = NOW + 1;
      assert.notEqual(await etagOf(path), old[index], path);
      fixture.clock.now = NOW;
      assert.equal(await etagOf(path), old[index], path);
    }
    const response = await (await fixture.get("/api/repos/acme/shop/tests?q=edge")).json();
    assert.equal(response.count, 1);
    fixture.clock.now = NOW + 1;
    const later = await (await fixture.get("/api/repos/acme/shop/tests?q=edge")).json();
    assert.equal(later.count, 0);
    fixture.clock.now = NOW;
  });

  it("has a tag for each set of parameters, organization and repository", async () => {
    const other = await createFixture(database(), { name: "other" });
    await other.upload(await other.addRepository("acme", "shop"), flaky("a"));
    const path = "/api/repos/acme/shop/tests";
    const tags = new Set<string>();
    for (const query of ["", "?limit=1", "?sort=recency", "?q=a", "?q=b", "?after=b2Zmc2V0OjE="]) {
      tags.add(await etagOf(path + query));
    }
    assert.equal(tags.size, 6);
    for (const one of [path, "/api/v1/flaky/tests"]) {
      const etag = await etagOf(one);
      const response = await other.get(one, { "if-none-match": etag });
      assert.equal(response.status, 200);
      assert.notEqual(response.headers.get("etag"), etag);
      await response.body?.cancel();
    }
    const unknown = await fixture.app(request(path, { "if-none-match": "*" }));
    assert.equal(unknown.status, 401);
  });

  it("has another tag for a repository that was deleted and created again", async () => {
    const { sql } = database();
    const create = async () => {
      const repository = await fixture.addRepository("acme", "phoenix", 70);
      await fixture.upload(repository, flaky("ash"));
      const [state] = await sql<{ dataVersion: number }[]>`
        select data_version::float8 as "dataVersion" from repository_state
        where repository_id = ${repository.repositoryId}`;
      const etag = await etagOf("/api/v1/flaky/tests?repository_id=70&quarantine=false");
      return { ...repository, etag, ...state! };
    };
    const phoenix = await create();
    await sql.begin((tx) => deleteRepository(tx, phoenix));
    const again = await create();
    assert.notEqual(again.etag, phoenix.etag);
    // Even with the same repository_id: after an upload of everything into a new database.
    assert.ok(again.dataVersion > phoenix.dataVersion);
  });

  it("compresses for clients that accept it, with a weak tag", async () => {
    for (const path of paths) {
      const plain = await fixture.get(path);
      const text = await plain.text();
      assert.equal(plain.headers.get("content-encoding"), null);
      assert.equal(Number(plain.headers.get("content-length")), new Blob([text]).size);
      for (let turn = 0; turn < 2; turn++) {
        const response = await fixture.get(path, { "accept-encoding": "br, gzip;q=0.5" });
        const bytes = new Uint8Array(await response.arrayBuffer());
        assert.equal(Number(response.headers.get("content-length")), bytes.length);
        if (text.length < 256) {
          assert.equal(response.headers.get("content-encoding"), null);
          continue;
        }
        assert.equal(response.headers.get("content-encoding"), "gzip");
        assert.equal(response.headers.get("etag"), `W/${plain.headers.get("etag")}`);
        assert.equal(response.headers.get("vary"), VARY);
        assert.equal(new TextDecoder().decode(gunzipSync(bytes)), text);
      }
    }
  });

  it("responds to HEAD as to GET, without the body", async () => {
    const authorization = `token ${fixture.token}`;
    const more = ["/health", "/api", "/nowhere", "/api/repos/acme/shop/tests?limit=0"];
    for (const path of [...paths, ...more]) {
      for (const encoding of ["identity", "gzip"]) {
        const headers = { authorization, "accept-encoding": encoding, "x-request-id": "one" };
        const get = await fixture.app(request(path, headers));
        await get.body?.cancel();
        const head = await fixture.app(
          new Request(`http://127.0.0.1${path}`, { method: "HEAD", headers }),
        );
        assert.equal(head.status, get.status);
        assert.equal(head.body, null);
        assert.deepEqual([...head.headers], [...get.headers]);
      }
    }
  });

  it("refuses other methods on known paths only", async () => {
    const headers = { authorization: `token ${fixture.token}` };
    for (const path of [...paths, "/api", "/health", "/api/repos/none/none/tests?limit=0"]) {
      for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"]) {
        const response = await fixture.app(new Request(`http://x${path}`, { method, headers }));
        assert.equal(response.headers.get("allow"), "GET, HEAD");
        await assertError(response, 405, { message: "Method Not Allowed" });
      }
    }
    const unknown = await fixture.app(new Request("http://x/nowhere", { method: "POST", headers }));
    await assertError(unknown, 404, { message: "Not Found" });
  });

  it("sets the common headers on every response", async () => {
    const answers = [
      ...await Promise.all(paths.map((path) => fixture.get(path))),
      await fixture.get("/health"),
      await fixture.get("/api"),
      await fixture.get("/nowhere"),
      await fixture.get("/api/repos/acme/shop/tests?limit=0"),
      await fixture.app(request("/api")),
    ];
    for (const response of answers) {
      await response.body?.cancel();
      const { headers } = response;
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.match(headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/);
      assert.equal(headers.get("vary"), VARY);
      const isBadge = headers.get("content-type")?.startsWith("image/");
      assert.equal(headers.get("cache-control"), isBadge ? "no-cache" : "private, no-cache");
    }
  });

  it("accepts a valid request id and generates one otherwise", async () => {
    const given = await fixture.get("/api", { "x-request-id": "trace:1/a.b_c-D" });
    assert.equal(given.headers.get("x-request-id"), "trace:1/a.b_c-D");
    for (const id of ["", "a b", "x".repeat(129), 'a"b', "é"]) {
      const made = await fixture.get("/api", { "x-request-id": id });
      assert.match(made.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/);
    }
  });

  it("accepts an invalid Host and unusual paths", async () => {
    const get = (url: string) => {
      const odd = request("/", { authorization: `token ${fixture.token}` });
      Object.defineProperty(odd, "url", { value: url });
      return fixture.app(odd);
    };
    assert.equal((await get("http://a b/health")).status, 200);
    assert.equal((await get("http://x:999999/api?x=%zz")).status, 204);
    assert.equal((await get("http://x")).headers.get("location"), "repos");
    for (const url of ["http://x/*", "http://x//api", "x", "", "http://x/%"]) {
      assert.equal((await get(url)).status, 404, url);
    }
  });
});
