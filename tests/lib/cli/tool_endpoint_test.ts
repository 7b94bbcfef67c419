import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { WINDOW_SECONDS } from "../../../lib/base/time.ts";
import { MAX_TOKEN_CALLS, toolEndpoint } from "../../../lib/cli/tool_endpoint.ts";
import type { App } from "../../../lib/http/request/context.ts";
import { Metrics } from "../../../lib/base/metrics.ts";
import { createApp, serve } from "../../../routes/mod.ts";
import { describeWithDatabase } from "../../database.ts";
import { createShop, flaky, NOW } from "../../routes/fixture.ts";
import { exchange, parseResponse } from "../../raw_http.ts";
import { silentLog } from "../../silent_log.ts";
import { waitUntil } from "../../wait_until.ts";

const URL_OF_SERVICE = "http://flaky.example:8000";

const isAnswered = (received: Uint8Array) => parseResponse(received) !== null;

interface LogLine {
  message: string;
  fields: Record<string, unknown>;
}

describeWithDatabase("POST /mcp", (database) => {
  let token = "";
  let foreignToken = "";
  const lines: LogLine[] = [];

  before(async () => {
    const { fixture, shop } = await createShop(database());
    token = fixture.token;
    foreignToken = await fixture.addToken({ expiresAt: NOW - 1 });
    for (const build of ["1", "2"]) {
      await fixture.upload(shop, flaky("pays"), {
        commitOid: `abcdef${build}`,
        recordedAt: NOW - 60,
        buildUrl: `https://ci.example.org/${build}`,
      });
    }
  });

  function service(publicUrl = ""): App {
    const log = {
      ...silentLog,
      info: (message: string, fields: Record<string, unknown> = {}) =>
        void lines.push({ message, fields }),
    };
    return createApp(
      { sql: database().sql, now: () => NOW, windowSeconds: WINDOW_SECONDS, log },
      (app) => [toolEndpoint(app, { publicUrl, log })],
    );
  }

  function post(app: App, body: BodyInit, headers: Record<string, string> = {}) {
    return app(
      new Request(`${URL_OF_SERVICE}/mcp`, {
        method: "POST",
        body,
        headers: {
          host: "flaky.example:8000",
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...headers,
        },
      }),
      "192.0.2.7",
    );
  }

  /** The official client, connected over HTTP. */
  async function connect(app: App, bearer = token): Promise<Client> {
    const client = new Client({ name: "test", version: "1.0.0" });
    const transport = new StreamableHTTPClientTransport(new URL(`${URL_OF_SERVICE}/mcp`), {
      requestInit: {
        headers: { authorization: `Bearer ${bearer}`, host: "flaky.example:8000" },
      },
      fetch: (url, init) => app(new Request(url, init), "192.0.2.7"),
    });
    await client.connect(transport);
    return client;
  }

  it("serves the tools and prompts to the official client, with the token of the API", async () => {
    const app = service();
    const client = await connect(app);
    assert.equal((await client.listTools()).tools.length, 13);
    assert.equal((await client.listPrompts()).prompts.length, 4);
    const { structuredContent, isError } = await client.callTool({
      name: "find_flaky_tests",
      arguments: { repository: "acme/shop" },
    });
    assert.ok(!isError);
    const { tests, web_url } = structuredContent as { tests: { id: string }[]; web_url: string };
    const [test] = tests;
    assert.ok(web_url.startsWith(`${URL_OF_SERVICE}/flaky-tests?`), web_url);
    const headers = { authorization: `Bearer ${token}` };
    const page = await (await app(new Request(web_url, { headers }), "192.0.2.7")).text();
    assert.match(page, new RegExp(`<h1>Flaky tests</h1>.*tests/${test?.id}`, "s"));
    await client.close();
  });

  it("links to PUBLIC_URL, and takes it for its own origin", async () => {
    const app = service("https://flaky.acme.example/tests");
    const client = await connect(app);
    const { structuredContent } = await client.callTool({ name: "list_repositories" });
    const { web_url } = structuredContent as Record<string, unknown>;
    assert.equal(web_url, "https://flaky.acme.example/tests/repos");
    await client.close();
    const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    for (
      const [origin, status] of [
        ["https://flaky.acme.example", 200],
        ["http://flaky.example:8000", 200],
        ["https://evil.example", 403],
        ["http://flaky.example", 403],
        ["null", 403],
      ] as const
    ) {
      const response = await post(app, message, { origin });
      assert.equal(response.status, status, origin);
      await response.body?.cancel();
    }
  });

  it("answers 401 without a valid token, and 405 to other methods", async () => {
    const app = service();
    for (const authorization of ["", "Bearer tk_wrong", `Bearer ${foreignToken}`]) {
      const response = await post(app, "{}", { authorization });
      assert.equal(response.status, 401);
      assert.match(
        (await response.json()).message,
        /^the token is missing, unknown, revoked or exp/,
      );
      assert.equal(response.headers.get("www-authenticate"), "Bearer");
    }
    for (const method of ["GET", "DELETE", "PUT", "HEAD"]) {
      const headers = { authorization: `Bearer ${token}` };
      const response = await app(new Request(`${URL_OF_SERVICE}/mcp`, { method, headers }));
      assert.deepEqual([response.status, response.headers.get("allow")], [405, "POST"]);
      await response.body?.cancel();
    }
  });

  it("answers a ping of every revision of the protocol that has it", async () => {
    const app = service();
    const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]) {
      const response = await post(app, ping, { "mcp-protocol-version": revision });
      assert.equal(response.status, 200, revision);
      assert.match(await response.text(), /"result":\{\}/, revision);
    }
  });

  it("refuses anything but a single message, and bodies that are too large", async () => {
    const app = service();
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    for (
      const [body, status, message] of [
        ["{", 400, /not JSON/],
        ["", 400, /not JSON/],
        [JSON.stringify([ping, ping]), 400, /expected one message/],
        ["1", 400, /./],
        ["{}", 400, /./],
        [`"${"x".repeat(2 << 20)}"`, 413, /more than 1 MiB/],
      ] as const
    ) {
      const response = await post(app, body);
      assert.equal(response.status, status, body.slice(0, 20));
      assert.match(await response.text(), message);
    }
  });

  it("is given up when its body never ends, while others are answered", async () => {
    const errors: string[] = [];
    const metrics = new Metrics();
    const log = { ...silentLog, error: (message: string) => void errors.push(message) };
    const server = serve({
      sql: database().sql,
      now: () => NOW,
      log,
      metrics,
      host: "127.0.0.1",
      port: 0,
      requestTimeoutMs: 2_000,
      more: (app) => [toolEndpoint(app, { publicUrl: "", log, requestTimeoutMs: 2_000 })],
    });
    const begin = [
      "POST /mcp HTTP/1.1",
      "Host: a",
      `Authorization: Bearer ${token}`,
      "Content-Length: 1000",
      "",
      "{",
    ].join("\r\n");
    const stalled = async (patienceMs = 5_000) =>
      parseResponse(await exchange(server.url, begin, { patienceMs, isEnough: isAnswered }));
    try {
      const calls = Array.from({ length: MAX_TOKEN_CALLS + 2 }, () => stalled());
      await waitUntil(
        "two are refused",
        () => /route="\/mcp",status="429"} 2/.test(metrics.text()),
      );
      assert.equal((await fetch(`${server.url}/health`)).status, 200);
      const headers = { authorization: `Bearer ${token}` };
      assert.equal((await fetch(`${server.url}/api`, { headers })).status, 204);
      const responses = await Promise.all(calls);
      const counts = Map.groupBy(responses, (response) => response?.status);
      assert.deepEqual([counts.get(408)?.length, counts.get(429)?.length], [MAX_TOKEN_CALLS, 2]);
      assert.equal(counts.get(429)?.[0]?.headers.get("retry-after"), "1");
      const text = new TextDecoder().decode(counts.get(408)?.[0]?.body);
      assert.match(text, /the body is incomplete after 1 s/);
      // A client that is gone is no error of the service.
      await stalled(50);
      await waitUntil("it is counted", () => /route="\/mcp",status="408"} 33/.test(metrics.text()));
      assert.deepEqual(errors, []);
    } finally {
      await server.shutdown();
    }
  });

  it("says what is wrong with a call in the words of the tools", async () => {
    const client = await connect(service());
    for (
      const [args, message] of [
        [{ repository: "acme/nope" }, /No repository "acme\/nope"/],
        [{ repository: "acme/shop", q: "x" }, /unknown argument "q"/],
      ] as const
    ) {
      const result = await client.callTool({ name: "find_flaky_tests", arguments: args });
      assert.ok(result.isError);
      assert.match(JSON.stringify(result.content).replaceAll("\\", ""), message);
    }
    await client.close();
  });

  it("logs the request and those that its tools make, with one id and the same client", async () => {
    const app = service();
    lines.length = 0;
    const body = { name: "get_repo_flakiness", arguments: { owner: "acme", name: "shop" } };
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: body };
    const response = await post(app, JSON.stringify(call), { "x-request-id": "abc-1" });
    assert.match(await response.text(), /"percentage":100/);
    const seen = lines.map(({ fields }) => [
      fields.route,
      fields.method,
      fields.status,
      fields.request_id,
      fields.client_address,
      typeof fields.token_id,
    ]);
    assert.deepEqual(seen.sort(), [
      ["/api/v1/flaky/badges", "GET", 200, "abc-1", "192.0.2.7", "number"],
      ["/mcp", "POST", 200, "abc-1", "192.0.2.7", "number"],
    ]);
    assert.ok(!JSON.stringify(lines).includes(token));
  });
});
