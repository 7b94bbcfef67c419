import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { lastingServer } from "../../../../lib/http/server/restarting_listener.ts";
import { createLog } from "../../../../lib/base/log.ts";
import { pause } from "../../../../lib/base/delay.ts";

/** Servers that are told how they end, and how they were started. */
function servers({ failAtOnce = false } = {}) {
  const started: { signal: AbortSignal; fail(text: string): void; shutdowns: number }[] = [];
  const lasting = lastingServer(({ port, signal }) => {
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
  return { lasting, started };
}

describe("a server that goes on", () => {
  it("pauses before it listens again, also when it can listen and fails at once", async () => {
    const { lasting, started } = servers({ failAtOnce: true });
    await pause(500);
    await lasting.shutdown();
    assert.ok(started.length >= 2 && started.length <= 4, `${started.length} starts in 500 ms`);
    const { length } = started;
    await pause(300);
    assert.equal(started.length, length, "nothing starts after the shutdown");
  });

  it("listens again on its port, and cuts connections only when there were too many", async () => {
    const { lasting, started } = servers();
    started[0]!.fail("cannot accept (os error 22)");
    await pause(300);
    assert.deepEqual([started.length, started[0]!.signal.aborted], [2, false]);
    started[1]!.fail("Too many open files (os error 24)");
    await pause(900);
    assert.deepEqual([started.length, started[1]!.signal.aborted], [3, true]);
    await lasting.shutdown();
    assert.deepEqual([started[2]!.shutdowns, started[2]!.signal.aborted], [1, false]);
    assert.equal(started[0]!.signal.aborted, true);
  });

  for (const code of [22, 24]) {
    it(`lets requests finish when it is shut down after error ${code}`, async () => {
      const { lasting, started } = servers();
      const [server] = started;
      let wasCut = false;
      server!.signal.addEventListener("abort", () => wasCut = server!.shutdowns === 0);
      server!.fail(`cannot accept (os error ${code})`);
      await pause(10);
      await lasting.shutdown();
      assert.deepEqual([started.length, server!.shutdowns, wasCut], [1, 1, false]);
    });
  }

  it("cuts nothing when accepting fails after it was told to shut down", async () => {
    const { lasting, started } = servers();
    const shutdown = lasting.shutdown();
    started[0]!.fail("Too many open files (os error 24)");
    await shutdown;
    await pause(10);
    assert.deepEqual([started.length, started[0]!.signal.aborted], [1, false]);
  });
});
