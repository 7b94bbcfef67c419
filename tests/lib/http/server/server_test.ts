import assert from "node:assert/strict";
import { once } from "node:events";
import http2 from "node:http2";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "@std/testing/bdd";
import { createLog } from "../../../../lib/base/log.ts";
import { Metrics } from "../../../../lib/base/metrics.ts";
import { serveOps } from "../../../../lib/http/ops/ops_server.ts";
import { logRequests } from "../../../../lib/http/request/request_log.ts";
import {
  limitRequests,
  listen,
  MAX_RUNNING_REQUESTS,
  type RunningServer,
} from "../../../../lib/http/server/server.ts";
import { exchange, parseResponse } from "../../../raw_http.ts";
import { silentLog } from "../../../silent_log.ts";
import { waitUntil } from "../../../wait_until.ts";
import { pause } from "../../../../lib/base/delay.ts";

const isAnswered = (received: Uint8Array) => parseResponse(received) !== null;

/** An app whose requests to `/slow` wait until they are released. */
function slowApp() {
  const lines: string[] = [];
  const held: (() => void)[] = [];
  return {
    lines,
    log: createLog({ write: (line) => lines.push(line.slice(21)), now: () => 0 }),
    async app(request: Request) {
      if (request.url.endsWith("/slow")) await new Promise<void>((resolve) => held.push(resolve));
      return new Response("done");
    },
    release: () => held.splice(0).forEach((resolve) => resolve()),
    held: () => held.length,
  };
}

/** A limited app, called without a server. */
function limitedApp(requestTimeoutMs = 60_000) {
  const slow = slowApp();
  const metrics = new Metrics();
  let timeouts = 0;
  const context = {
    log: { ...slow.log, info: () => {} },
    metrics,
    requestTimeoutMs,
    onTimeout: () => void timeouts++,
  };
  const app = logRequests(context, (request, logged) => {
    logged.route = new URL(request.url).pathname;
    return slow.app(request);
  });
  const limited = limitRequests(app, context);
  return {
    ...slow,
    timeouts: () => timeouts,
    counted: (route: string, status: number) =>
      Number(
        metrics.text().split(`http_requests_total{route="${route}",status="${status}"} `)[1]
          ?.split("\n")[0] ?? 0,
      ),
    async ask(path: string) {
      const headers = { "x-request-id": "r-1" };
      const response = await limited(new Request(`http://service${path}`, { headers }));
      const body = await response.text();
      return { status: response.status, body, retryAfter: response.headers.get("retry-after") };
    },
    limited,
  };
}

async function firstLine(lines: readonly string[]): Promise<string> {
  await waitUntil("there is a line", () => lines.length > 0);
  return lines.join("\n");
}

const DONE = { status: 200, body: "done", retryAfter: null };

describe("an app at its limit of running requests", () => {
  it("refuses further requests at once, and accepts more when others have finished", async () => {
    const { limited, lines, release, ask, counted } = limitedApp();
    const running = Array.from({ length: MAX_RUNNING_REQUESTS }, () => ask("/slow"));
    const refused = { status: 500, body: "", retryAfter: "1" };
    const request = new Request("http://service/", { headers: { "x-request-id": "r-1" } });
    const { headers } = await limited(request);
    assert.equal(headers.get("x-request-id"), "r-1");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.deepEqual(await ask("/other"), refused);
    assert.deepEqual(await ask("/slow"), refused);
    assert.deepEqual(await ask("/health"), DONE, "the liveness probe is answered");
    assert.deepEqual(await ask("/health?x"), DONE);
    release();
    for (const response of await Promise.all(running)) assert.deepEqual(response, DONE);
    assert.deepEqual(await ask("/other"), DONE);
    assert.equal(await firstLine(lines), "warn refused requests count=3");
    assert.equal(counted("unknown", 500), 3);
    assert.equal(counted("/slow", 200), MAX_RUNNING_REQUESTS);
  });
});

describe("a request that takes too long", () => {
  it("gets a 500 and is over: it leaves its place to others, and is counted once", async () => {
    const { ask, timeouts, release, lines, counted } = limitedApp(100);
    const gaveUp = { status: 500, body: "", retryAfter: "5" };
    const running = Array.from({ length: MAX_RUNNING_REQUESTS }, () => ask("/slow"));
    for (const response of await Promise.all(running)) assert.deepEqual(response, gaveUp);
    assert.equal(timeouts(), 1);
    assert.deepEqual(await ask("/other"), DONE);
    release();
    await pause(20);
    assert.equal(counted("/slow", 500), MAX_RUNNING_REQUESTS);
    assert.equal(counted("/slow", 200), 0);
    assert.equal(await firstLine(lines), "warn requests timed out count=1000 after_ms=100");
  });

  it("delays a shutdown until the drain timeout only", async () => {
    const { app, log, lines, held, release } = slowApp();
    const server = listen(app, { host: "127.0.0.1", port: 0, log, drainTimeoutMs: 100 });
    const answer = fetch(`${server.url}/slow`);
    await waitUntil("the app has the request", () => held() === 1);
    await server.shutdown();
    assert.deepEqual(lines, ["warn drain timeout: running requests were aborted after_ms=100"]);
    release();
    await (await answer).text();
  });
});

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
    const response = parseResponse(await exchange(url, message, { isEnough: isAnswered }));
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
      parseResponse(await exchange(server.url, message, { isEnough: isAnswered }))?.status ?? 0;
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
