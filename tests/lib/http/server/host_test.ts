import assert from "node:assert/strict";
import { after, before, describe, it } from "@std/testing/bdd";
import http2 from "node:http2";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { Metrics } from "../../../../lib/base/metrics.ts";
import { serveOps } from "../../../../lib/http/ops/ops_server.ts";
import { listen, type RunningServer } from "../../../../lib/http/server/server.ts";
import { exchange, parseResponse } from "../../../raw_http.ts";
import { silentLog } from "../../../silent_log.ts";

describe("a request without a valid Host", () => {
  let server: RunningServer;
  let ops: ReturnType<typeof serveOps>;
  const seen: string[] = [];

  before(() => {
    const host = "127.0.0.1";
    server = listen((request) => {
      seen.push(request.url);
      return Promise.resolve(new Response("answered"));
    }, { host, port: 0, log: silentLog });
    const checkReady = () => Promise.resolve();
    ops = serveOps({ host, port: 0, metrics: new Metrics(), log: silentLog, checkReady });
  });
  after(async () => {
    await server.shutdown();
    await ops.shutdown();
  });

  async function statusOf(lines: string[], { url = server.url, end = "\r\n" } = {}) {
    const message = [...lines, "Connection: close", "", ""].join(end);
    const response = parseResponse(await exchange(url, message, { patienceMs: 2_000 }));
    const body = new TextDecoder().decode(response?.body);
    if (response?.status === 400) assert.equal(body, "");
    return response?.status;
  }

  it("is refused, on every port and path", async () => {
    for (
      const host of [
        [],
        ["Host:"],
        ["Host:  "],
        ["Host: a", "Host: b"],
        ["Host: a/repos"],
        ["Host: a?q=x"],
        ["Host: a#"],
        ["Host: user@a"],
        ["Host: a b"],
        ["Host: a\\b"],
        ["Host: a,b"],
        ["Host: a:port"],
      ]
    ) {
      for (
        const line of ["GET /health HTTP/1.1", "GET /health HTTP/1.0", "PUT /upload/a/b HTTP/1.1"]
      ) {
        assert.equal(await statusOf([line, ...host]), 400, `${line} ${host}`);
      }
      const status = await statusOf(["GET /ready HTTP/1.1", ...host], { url: ops.url });
      assert.equal(status, 400, `${host} of the operators' port`);
    }
    assert.deepEqual(seen, []);
  });

  it("is answered when it has one", async () => {
    for (
      const host of ["a", "127.0.0.1:8000", "[::1]:8000", "ci-1.example.org.", "test_analytics"]
    ) {
      assert.equal(await statusOf(["GET /health HTTP/1.1", `Host: ${host}`]), 200, host);
      assert.match(seen.at(-1) ?? "", /\/health$/);
      const ready = await statusOf(["GET /ready HTTP/1.1", `Host: ${host}`], { url: ops.url });
      assert.equal(ready, 200, host);
    }
  });

  it("of HTTP/2 has the authority instead", async () => {
    const client = http2.connect(server.url);
    try {
      const request = client.request({ ":path": "/health" });
      assert.equal(await text(request), "answered");
    } finally {
      client.close();
      await once(client, "close");
    }
  });
});

describe("the runtime", () => {
  it("refuses ambiguous messages, but takes a bare line feed as the end of a line", async () => {
    const host = "127.0.0.1";
    const server = listen(async (request) => new Response(await request.text()), {
      host,
      port: 0,
      log: silentLog,
    });
    const status = async (message: string) =>
      parseResponse(await exchange(server.url, message, { patienceMs: 500 }))?.status ?? 0;
    const end = "Host: a\r\nConnection: close\r\n\r\n";
    try {
      for (
        const lines of [
          "Transfer-Encoding: chunked\r\nContent-Length: 3",
          "Content-Length: 3\r\nContent-Length: 4",
          "X: 1\r\n 2",
          "X : 1",
          "X: 1\rY: 2",
        ]
      ) assert.equal(await status(`POST / HTTP/1.1\r\n${lines}\r\n${end}0\r\n\r\n`), 400, lines);
      // The program never sees the bytes: docs/guides/reverse_proxy.md tells it.
      assert.equal(await status("GET / HTTP/1.1\nHost: a\nConnection: close\n\n"), 200);
    } finally {
      await server.shutdown();
    }
  });
});
