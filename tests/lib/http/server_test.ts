import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import type { App } from "../../../lib/http/app.ts";
import { listen, type ListenOptions } from "../../../lib/http/server.ts";
import { silentLog } from "../../../lib/log.ts";

const OPTIONS: ListenOptions = {
  host: "127.0.0.1",
  port: 0,
  log: silentLog,
  drainTimeoutMs: 5_000,
};

const hello: App = () => Promise.resolve(new Response("hello"));

describe("the server", () => {
  it("tells where it listens and stops when told to, idle connections or not", async () => {
    const server = listen(hello, OPTIONS);
    assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+$/);
    const response = await fetch(server.url);
    assert.equal(await response.text(), "hello");
    // The connection of fetch is kept alive and must not hold up the end.
    const startedAt = performance.now();
    await server.shutdown();
    assert.ok(performance.now() - startedAt < 2_000);
    await assert.rejects(fetch(server.url));
  });

  it("lets a running request finish", async () => {
    const begun = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const server = listen(async () => {
      begun.resolve();
      await release.promise;
      return new Response("done");
    }, OPTIONS);
    const answer = fetch(server.url).then((response) => response.text());
    await begun.promise;
    const stopped = server.shutdown();
    release.resolve();
    assert.equal(await answer, "done");
    await stopped;
  });

  it("gives up a request that takes too long, with a 500", async () => {
    const begun = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const server = listen(async () => {
      begun.resolve();
      await release.promise;
      return new Response("too late");
    }, { ...OPTIONS, drainTimeoutMs: 50 });
    const answer = fetch(server.url);
    await begun.promise;
    await server.shutdown();
    const response = await answer;
    assert.equal(response.status, 500);
    assert.equal(await response.text(), "");
    release.resolve();
  });

  it("says so when the port is taken", async () => {
    const server = listen(hello, OPTIONS);
    const port = Number(new URL(server.url).port);
    assert.throws(() => listen(hello, { ...OPTIONS, port }), Deno.errors.AddrInUse);
    await server.shutdown();
  });

  it("writes an IPv6 address as URLs have it", async () => {
    const server = listen(hello, { ...OPTIONS, host: "::1" });
    assert.match(server.url, /^http:\/\/\[::1\]:\d+$/);
    assert.equal(await (await fetch(server.url)).text(), "hello");
    await server.shutdown();
  });
});
