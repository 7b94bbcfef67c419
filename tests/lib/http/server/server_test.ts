import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { limitRequests, listen, MAX_RUNNING_REQUESTS } from "../../../../lib/http/server/server.ts";
import { createLog } from "../../../../lib/base/log.ts";

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
  let timeouts = 0;
  const limited = limitRequests(slow.app, {
    log: slow.log,
    requestTimeoutMs,
    onTimeout: () => timeouts++,
  });
  return {
    ...slow,
    timeouts: () => timeouts,
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
  while (lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  return lines.join("\n");
}

const DONE = { status: 200, body: "done", retryAfter: null };

describe("an app at its limit of running requests", () => {
  it("refuses further requests at once, and accepts more when others have finished", async () => {
    const { limited, lines, release, ask } = limitedApp();
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
  });
});

describe("a request that takes too long", () => {
  it("gets a 500, and still counts while the app works on it", async () => {
    const { ask, timeouts, release, lines } = limitedApp(100);
    const gaveUp = { status: 500, body: "", retryAfter: null };
    const running = Array.from({ length: MAX_RUNNING_REQUESTS }, () => ask("/slow"));
    for (const response of await Promise.all(running)) assert.deepEqual(response, gaveUp);
    assert.equal(timeouts(), 1);
    assert.equal((await ask("/other")).retryAfter, "1");
    release();
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual(await ask("/other"), DONE);
    assert.equal(
      await firstLine(lines),
      "warn requests timed out count=1000 after_ms=100\n" +
        "warn refused requests count=1",
    );
  });

  it("delays a shutdown until the drain timeout only", async () => {
    const { app, log, lines, held, release } = slowApp();
    const server = listen(app, { host: "127.0.0.1", port: 0, log, drainTimeoutMs: 100 });
    const answer = fetch(`${server.url}/slow`);
    while (held() < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    await server.shutdown();
    assert.deepEqual(lines, ["warn drain timeout: running requests were aborted after_ms=100"]);
    release();
    await (await answer).text();
  });
});
