import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import type { Database } from "../../db/connection/connect.ts";
import { silentLog } from "../silent_log.ts";
import type { RunningServer } from "../../lib/http/server/server.ts";
import { serve } from "../../routes/mod.ts";
import { exchange, parseResponse } from "../raw_http.ts";

/** None of these requests reaches the database. */
const noDatabase = (() => {
  throw new Error("unexpected statement");
}) as unknown as Database["sql"];

describe("the size of a request", () => {
  let server: RunningServer;

  before(() => {
    server = serve({ sql: noDatabase, log: silentLog, host: "127.0.0.1", port: 0 });
  });
  after(() => server.shutdown());

  async function statusOf(head: string, body = ""): Promise<number | undefined> {
    const bytes = await exchange(
      server.url,
      `${head}\r\nHost: x\r\nConnection: close\r\n\r\n${body}`,
      // It stays open until the whole body has arrived.
      { isEnough: (received) => parseResponse(received) !== null },
    );
    return parseResponse(bytes)?.status;
  }

  it("is limited: a head of 60,000 bytes is accepted, one of 70,000 is not", async () => {
    assert.equal(await statusOf(`GET /health?${"x".repeat(60_000)} HTTP/1.1`), 200);
    assert.equal(await statusOf(`GET /health?${"x".repeat(70_000)} HTTP/1.1`), 400);
    assert.equal(await statusOf(`GET /health HTTP/1.1\r\nX: ${"x".repeat(70_000)}`), 400);
  });

  it("is limited to 100 headers: 90 are accepted, 200 are not", async () => {
    const headers = (count: number) =>
      Array.from({ length: count }, (_, number) => `X-${number}: y`).join("\r\n");
    assert.equal(await statusOf(`GET /health HTTP/1.1\r\n${headers(90)}`), 200);
    assert.equal(await statusOf(`GET /health HTTP/1.1\r\n${headers(200)}`), 400);
  });

  it("does not depend on the body, which is not read", async () => {
    const head = "GET /health HTTP/1.1\r\nContent-Length: 100000000000";
    assert.equal(await statusOf(head, "z".repeat(1_000_000)), 200);
  });
});

describe("slow clients", () => {
  it("do not delay others or the shutdown", async () => {
    const server = serve({
      sql: noDatabase,
      log: silentLog,
      host: "127.0.0.1",
      port: 0,
      drainTimeoutMs: 500,
    });
    const { hostname, port } = new URL(server.url);
    const connections: Deno.Conn[] = [];
    try {
      for (let count = 0; count < 200; count++) {
        const connection = await Deno.connect({ hostname, port: Number(port) });
        connections.push(connection);
        // Some have sent nothing yet, others a part of the head.
        if (count % 2 === 0) await connection.write(new TextEncoder().encode("GET /hea"));
      }
      const begun = performance.now();
      const response = await fetch(`${server.url}/health`);
      assert.deepEqual(await response.json(), { status: "ok" });
      assert.ok(performance.now() - begun < 5_000);
    } finally {
      const begun = performance.now();
      await server.shutdown();
      assert.ok(performance.now() - begun < 8_000);
      for (const connection of connections) connection.close();
    }
  });
});
