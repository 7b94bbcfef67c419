import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { listen, type ListenOptions } from "../../../../lib/http/server/server.ts";
import { createLog } from "../../../../lib/base/log.ts";

/** A server whose requests to `/slow` wait until they are released. */
function slowServer(changes: Partial<ListenOptions> = {}) {
  const lines: string[] = [];
  const held: (() => void)[] = [];
  let timeouts = 0;
  const server = listen(
    async (request) => {
      if (request.url.endsWith("/slow")) await new Promise<void>((resolve) => held.push(resolve));
      return new Response("done");
    },
    {
      host: "127.0.0.1",
      port: 0,
      log: createLog({ write: (line) => lines.push(line.slice(21)), now: () => 0 }),
      drainTimeoutMs: 5_000,
      maxRunningRequests: 2,
      requestTimeoutMs: 60_000,
      onTimeout: () => timeouts++,
      ...changes,
    },
  );
  return {
    server,
    lines,
    timeouts: () => timeouts,
    release: () => held.splice(0).forEach((resolve) => resolve()),
    async heldCount(count: number) {
      while (held.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    async ask(path: string) {
      const response = await fetch(`${server.url}${path}`);
      return {
        status: response.status,
        body: await response.text(),
        retryAfter: response.headers.get("retry-after"),
      };
    },
  };
}

const DONE = { status: 200, body: "done", retryAfter: null };

describe("a server at its limit of running requests", () => {
  it("refuses further requests at once, and accepts more when others have finished", async () => {
    const { server, lines, release, heldCount, ask } = slowServer();
    try {
      const running = [ask("/slow"), ask("/slow")];
      await heldCount(2);
      const refused = { status: 500, body: "", retryAfter: "1" };
      const { headers } = await fetch(server.url, { headers: { "x-request-id": "r-1" } });
      assert.equal(headers.get("x-request-id"), "r-1");
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.deepEqual(await ask("/other"), refused);
      assert.deepEqual(await ask("/slow"), refused);
      assert.deepEqual(await ask("/health"), DONE, "the liveness probe is answered");
      assert.deepEqual(await ask("/health?x"), DONE);
      release();
      assert.deepEqual(await Promise.all(running), [DONE, DONE]);
      assert.deepEqual(await ask("/other"), DONE);
      while (lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
      assert.deepEqual(lines, ["warn refused requests count=3 running=2"]);
    } finally {
      release();
      await server.shutdown();
    }
  });
});

describe("a request that takes too long", () => {
  it("gets a 500, and still counts while the app works on it", async () => {
    const slow = slowServer({ requestTimeoutMs: 100, maxRunningRequests: 1 });
    try {
      const begun = performance.now();
      assert.deepEqual(await slow.ask("/slow"), { status: 500, body: "", retryAfter: null });
      assert.ok(performance.now() - begun < 10_000);
      assert.equal(slow.timeouts(), 1);
      assert.equal((await slow.ask("/other")).retryAfter, "1");
      slow.release();
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert.deepEqual(await slow.ask("/other"), DONE);
      while (slow.lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
      assert.match(slow.lines[0] ?? "", /^warn gave up requests that took too long count=1 /);
    } finally {
      slow.release();
      await slow.server.shutdown();
    }
  });

  it("delays a shutdown until the drain timeout only", async () => {
    const slow = slowServer({ drainTimeoutMs: 100 });
    const answer = slow.ask("/slow");
    await slow.heldCount(1);
    await slow.server.shutdown();
    assert.deepEqual(slow.lines, ["warn gave up running requests count=1 after_ms=100"]);
    slow.release();
    await answer;
  });
});
