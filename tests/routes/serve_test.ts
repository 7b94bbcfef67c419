import assert from "node:assert/strict";
import { after, before, it } from "@std/testing/bdd";
import { createLog } from "../../lib/base/log.ts";
import type { RunningServer } from "../../lib/http/server/server.ts";
import { serve } from "../../routes/mod.ts";
import { describeWithDatabase } from "../database.ts";
import { createFixture, type Fixture, flaky, NOW } from "./fixture.ts";

describeWithDatabase("over the wire", (database) => {
  let fixture: Fixture;
  let server: RunningServer;
  let log = "";

  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
    await fixture.upload(await fixture.addRepository("acme", "shop"), flaky("a"));
    server = serve({
      sql: database().sql,
      log: createLog({ write: (line) => log += `${line}\n`, now: () => NOW }),
      host: "127.0.0.1",
      port: 0,
      now: () => NOW,
    });
  });

  after(async () => {
    await server.shutdown();
  });

  /** Sends the lines of a request verbatim and returns the whole response. */
  async function send(...lines: string[]): Promise<string> {
    const { hostname, port } = new URL(server.url);
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const head = [...lines, "Host: x", "Connection: close", "", ""].join("\r\n");
    await connection.write(new TextEncoder().encode(head));
    return await new Response(connection.readable).text();
  }

  it("responds to HEAD with the length and no body", async () => {
    const authorization = `Authorization: token ${fixture.token}`;
    const path = "/api/repos/acme/shop/tests";
    const get = await send(`GET ${path} HTTP/1.1`, authorization);
    const head = await send(`HEAD ${path} HTTP/1.1`, authorization);
    const length = /content-length: (\d+)/.exec(get)?.[1];
    assert.ok(Number(length) > 256);
    assert.match(
      head,
      new RegExp(`^HTTP/1\\.1 200 OK\r\n(?:.+\r\n)*content-length: ${length}\r\n`),
    );
    assert.ok(head.endsWith("\r\n\r\n"));
    const missing = await send("HEAD /nowhere HTTP/1.1", authorization);
    assert.match(missing, /^HTTP\/1\.1 404 .*\r\n(?:.+\r\n)*content-length: 24\r\n/);
    assert.ok(missing.endsWith("\r\n\r\n"));
  });

  it("sends 401, 204 and 304 without a body", async () => {
    const authorization = `Authorization: token ${fixture.token}`;
    for (
      const [status, ...lines] of [
        [401, "GET /api HTTP/1.1"],
        [401, "GET /api HTTP/1.1", authorization, authorization],
        [204, "GET /api HTTP/1.1", authorization],
        [304, "GET /health HTTP/1.1", "If-None-Match: *"],
      ] as const
    ) {
      const response = await send(...lines);
      assert.match(response, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.ok(response.endsWith("\r\n\r\n"), response);
      assert.doesNotMatch(response, /\ncontent-type:/i);
    }
  });

  it("handles unusual request lines", async () => {
    assert.match(await send("OPTIONS * HTTP/1.1"), /^HTTP\/1\.1 401 /);
    assert.match(await send("GET http://[x/health HTTP/1.1"), /^HTTP\/1\.1 (200|400) /);
    assert.match(await send("GET /health/ HTTP/1.1", "Host: a b"), /^HTTP\/1\.1 (200|400) /);
    assert.match(await send("TRACE /health HTTP/1.1"), /^HTTP\/1\.1 405 /);
  });

  it("compresses for clients that accept gzip", async () => {
    const response = await fetch(`${server.url}/api/repos/acme/shop/tests`, {
      headers: { authorization: `Bearer ${fixture.token}`, "accept-encoding": "gzip" },
    });
    assert.match(response.headers.get("etag") ?? "", /^W\//);
    assert.equal((await response.json()).count, 1);
  });

  it("logs each request with its id and route, without path and query", async () => {
    log = "";
    await send("GET /api/repos/acme/shop/tests?q=hidden HTTP/1.1", "X-Request-Id: r-1");
    assert.match(
      log,
      /^\S+Z info request request_id=r-1 method=GET route=\/api\/repos\/:owner\/:name\/tests status=401 duration_ms=[\d.]+ organization_id=null token_id=null client_address=127\.0\.0\.1\n$/,
    );
  });
});
