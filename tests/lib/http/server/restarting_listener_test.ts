import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { listenWithRestarts } from "../../../../lib/http/server/restarting_listener.ts";
import { createLog } from "../../../../lib/base/log.ts";
import { pause } from "../../../../lib/base/delay.ts";

/** Fake servers that fail on demand. */
function servers({ failAtOnce = false } = {}) {
  const started: { signal: AbortSignal; fail(text: string): void; shutdowns: number }[] = [];
  const listener = listenWithRestarts(({ port, signal }) => {
    const { promise: finished, reject } = Promise.withResolvers<void>();
    const server = { signal, fail: (text: string) => reject(new Error(text)), shutdowns: 0 };
    started.push(server);
    if (failAtOnce) server.fail("cannot accept (os error 22)");
    return {
      addr: { transport: "tcp", hostname: "127.0.0.1", port: port || 8000 },
      finished,
      shutdown: () => {
        server.shutdowns++;
        return Promise.resolve();
      },
    } as unknown as Deno.HttpServer<Deno.NetAddr>;
  }, { port: 0, log: createLog({ write: () => {}, now: () => 0 }) });
  return { listener, started };
}

describe("a listener that restarts", () => {
  it("pauses before it listens again, even if it fails at once", async () => {
    const { listener, started } = servers({ failAtOnce: true });
    await pause(500);
    await listener.shutdown();
    assert.ok(started.length >= 2 && started.length <= 4, `${started.length} starts in 500 ms`);
    const { length } = started;
    await pause(300);
    assert.equal(started.length, length, "nothing starts after the shutdown");
  });

  it("listens again on its port, and closes connections only when it ran out of handles", async () => {
    const { listener, started } = servers();
    started[0]!.fail("cannot accept (os error 22)");
    await pause(300);
    assert.deepEqual([started.length, started[0]!.signal.aborted], [2, false]);
    started[1]!.fail("Too many open files (os error 24)");
    await pause(900);
    assert.deepEqual([started.length, started[1]!.signal.aborted], [3, true]);
    await listener.shutdown();
    assert.deepEqual([started[2]!.shutdowns], [1]);
  });

  for (const code of [22, 24]) {
    it(`lets requests finish when it is shut down after error ${code}`, async () => {
      const { listener, started } = servers();
      const [server] = started;
      let wasClosed = false;
      server!.signal.addEventListener("abort", () => wasClosed = server!.shutdowns === 0);
      server!.fail(`cannot accept (os error ${code})`);
      await pause(10);
      await listener.shutdown();
      assert.deepEqual([started.length, server!.shutdowns, wasClosed], [1, 1, false]);
    });
  }

  it("does not listen again when accepting fails during the shutdown", async () => {
    const { listener, started } = servers();
    const shutdown = listener.shutdown();
    started[0]!.fail("Too many open files (os error 24)");
    await shutdown;
    await pause(10);
    assert.deepEqual([started.length, started[0]!.shutdowns], [1, 1]);
  });
});
