import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { serveTools } from "../../../lib/mcp/mod.ts";
import { FAKE_TOKEN, type FakeApi, flakyPage, startFakeApi } from "../api_client/fake_api.ts";

const INITIALIZE = {
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
};
const CALL = { method: "tools/call", params: { name: "find_flaky_tests", arguments: {} } };

/** Serves the tools on in-memory streams. */
function serve(api: FakeApi, drainMs?: number) {
  const input = new PassThrough();
  const stop = new AbortController();
  let written = "";
  const notes: string[] = [];
  const done = serveTools({
    baseUrl: api.url,
    token: FAKE_TOKEN,
    version: "1.2.3",
    input,
    write: async (text) => {
      await Promise.resolve();
      written += text;
    },
    stop: stop.signal,
    note: (text) => notes.push(text),
    ...drainMs === undefined ? {} : { drainMs },
  });
  let id = 0;
  return {
    input,
    stop,
    notes,
    done,
    ask: (message: object) =>
      input.write(`${JSON.stringify({ jsonrpc: "2.0", id: ++id, ...message })}\n`),
    /** The answers so far; throws when anything else was written. */
    answers: () => written.split("\n").slice(0, -1).map((line) => JSON.parse(line)),
  };
}

describe("serving over streams", () => {
  it("answers pending calls after the input ended", async () => {
    const api = startFakeApi(async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return Response.json(flakyPage());
    });
    const server = serve(api);
    server.ask(INITIALIZE);
    server.ask(CALL);
    server.ask(CALL);
    server.input.end();
    await server.done;
    assert.deepEqual(server.answers().map(({ id }) => id), [1, 2, 3]);
    assert.equal(server.answers()[2].result.structuredContent.count, 1);
    await api.close();
  });

  it("ends at once without pending calls", async () => {
    const api = startFakeApi(() => Response.json(flakyPage()));
    const server = serve(api, 60_000);
    server.ask(INITIALIZE);
    const began = performance.now();
    server.input.end();
    await server.done;
    assert.ok(performance.now() - began < 1000);
    await api.close();
  });

  it("stops waiting after the drain timeout", async () => {
    const late = Promise.withResolvers<Response>();
    const api = startFakeApi(() => late.promise);
    const server = serve(api, 20);
    server.ask(INITIALIZE);
    server.ask(CALL);
    server.input.end();
    await server.done;
    assert.deepEqual(server.answers().map(({ id }) => id), [1]);
    late.resolve(new Response());
    await api.close();
  });

  it("does not wait for a call that was cancelled", async () => {
    const late = Promise.withResolvers<Response>();
    const api = startFakeApi(() => late.promise);
    const server = serve(api, 60_000);
    server.ask(INITIALIZE);
    server.ask(CALL);
    server.ask({ id: undefined, method: "notifications/cancelled", params: { requestId: 2 } });
    server.input.end();
    await server.done;
    assert.deepEqual(server.answers().map(({ id }) => id), [1]);
    late.resolve(new Response());
    await api.close();
  });

  it("answers a call while another is in flight", async () => {
    const late = Promise.withResolvers<Response>();
    const api = startFakeApi((_request, index) =>
      index === 0 ? late.promise : Response.json(flakyPage())
    );
    const server = serve(api);
    server.ask(INITIALIZE);
    server.ask(CALL);
    while (api.asked.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    server.ask(CALL);
    while (server.answers().length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(server.answers().map(({ id }) => id), [1, 3]);
    late.resolve(Response.json(flakyPage()));
    server.input.end();
    await server.done;
    assert.deepEqual(server.answers().map(({ id }) => id), [1, 3, 2]);
    await api.close();
  });

  it("stops at once on the stop signal", async () => {
    const late = Promise.withResolvers<Response>();
    const api = startFakeApi(() => late.promise);
    const server = serve(api, 60_000);
    server.ask(INITIALIZE);
    server.ask(CALL);
    while (api.asked.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    server.stop.abort();
    await server.done;
    late.resolve(new Response());
    await api.close();
  });

  it("answers lines that are no messages with an error, and continues", async () => {
    const api = startFakeApi(() => Response.json(flakyPage()));
    const server = serve(api);
    server.input.write("hello\n{}\n[]\n\n \r\n");
    server.ask(INITIALIZE);
    server.input.end();
    await server.done;
    assert.deepEqual(
      server.answers().map(({ id, error }) => [id, error?.code]),
      [[null, -32700], [null, -32600], [null, -32600], [1, undefined]],
    );
    assert.equal(server.notes.length, 3);
    await api.close();
  });

  it("reads a line that comes in parts and without its end", async () => {
    const api = startFakeApi(() => Response.json(flakyPage()));
    const server = serve(api);
    const line = new TextEncoder().encode(
      `${JSON.stringify({ jsonrpc: "2.0", id: "ü", ...INITIALIZE })}`,
    );
    for (const byte of line) server.input.write(Uint8Array.of(byte));
    server.input.end();
    await server.done;
    assert.deepEqual(server.answers().map(({ id }) => id), ["ü"]);
    await api.close();
  });

  it("ends when a line is too long", async () => {
    const api = startFakeApi(() => Response.json(flakyPage()));
    const server = serve(api);
    const part = new Uint8Array(1 << 20).fill(0x61);
    for (let number = 0; number < 11; number++) server.input.write(part);
    await server.done;
    assert.match(server.notes.join(), /a line of more than 10485760 characters/);
    await api.close();
  });
});
