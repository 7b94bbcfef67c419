import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import type { Database } from "../../db/connection/connect.ts";
import type { RunningServer } from "../../lib/http/server/server.ts";
import { serve } from "../../routes/serve.ts";
import { exchange, parseResponse } from "../raw_http.ts";

/** Nothing here gets as far as a database. */
const noDatabase = (() => {
  throw new Error("the database was asked");
}) as unknown as Database["sql"];

describe("the size of a request", () => {
  let server: RunningServer;

  before(() => {
    server = serve({ sql: noDatabase, port: 0 });
  });
  after(() => server.shutdown());

  async function statusOf(head: string, body = ""): Promise<number | undefined> {
    const bytes = await exchange(
      server.url,
      `${head}\r\nHost: x\r\nConnection: close\r\n\r\n${body}`,
    );
    return parseResponse(bytes)?.status;
  }

  it("is bounded: a head of 60,000 bytes is read, one of 70,000 is not", async () => {
    assert.equal(await statusOf(`GET /health?${"x".repeat(60_000)} HTTP/1.1`), 200);
    assert.equal(await statusOf(`GET /health?${"x".repeat(70_000)} HTTP/1.1`), 400);
    assert.equal(await statusOf(`GET /health HTTP/1.1\r\nX: ${"x".repeat(70_000)}`), 400);
  });

  it("is bounded in headers: 90 are read, 200 are not", async () => {
    const headers = (count: number) =>
      Array.from({ length: count }, (_, number) => `X-${number}: y`).join("\r\n");
    assert.equal(await statusOf(`GET /health HTTP/1.1\r\n${headers(90)}`), 200);
    assert.equal(await statusOf(`GET /health HTTP/1.1\r\n${headers(200)}`), 400);
  });

  it("does not depend on a body, which nobody waits for", async () => {
    const head = "GET /health HTTP/1.1\r\nContent-Length: 100000000000";
    assert.equal(await statusOf(head, "z".repeat(1_000_000)), 200);
  });
});

describe("slow clients", () => {
  it("keep nobody else waiting, and do not keep the service from ending", async () => {
    const server = serve({ sql: noDatabase, port: 0, drainTimeoutMs: 500 });
    const { hostname, port } = new URL(server.url);
    const connections: Deno.Conn[] = [];
    try {
      for (let count = 0; count < 200; count++) {
        const connection = await Deno.connect({ hostname, port: Number(port) });
        connections.push(connection);
        // Some have said nothing yet, others are in the middle of a word.
        if (count % 2 === 0) await connection.write(new TextEncoder().encode("GET /hea"));
      }
      const begun = performance.now();
      const response = await fetch(`${server.url}/health`);
      assert.deepEqual(await response.json(), { status: "ok" });
      assert.ok(performance.now() - begun < 1_000);
    } finally {
      const begun = performance.now();
      await server.shutdown();
      assert.ok(performance.now() - begun < 3_000);
      for (const connection of connections) connection.close();
    }
  });
});
