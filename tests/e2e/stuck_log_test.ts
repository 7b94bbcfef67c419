import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { copyTemplate } from "../database.ts";
import { newServiceData, prepare } from "./prepare.ts";
import { command } from "./program.ts";
import { waitUntil } from "../wait_until.ts";
import { pause } from "../../lib/base/delay.ts";

/** More lines than the pipe (64 kB) and the queue hold, of half a kB each. */
const REQUESTS = 3_000;
const AT_A_TIME = 20;
/** A response that waits for the reader of the log would wait for ever. */
const LONGEST_MS = 5_000;

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** A service whose standard error is a pipe that is not read until `read` is called. */
async function startUnread(environment: Record<string, string>) {
  const [port, opsPort] = [freePort(), freePort()];
  const child = command(
    ["up", "--port", `${port}`, "--upload-port", "0", "--ops-port", `${opsPort}`],
    { environment: { ...environment, LOG_FORMAT: "json" } },
  ).spawn();
  const url = `http://127.0.0.1:${port}`;
  const responds = () => fetch(`${url}/health`).then(async (it) => !!await it.text(), () => false);
  await waitUntil("the service responds", responds, { pauseMs: 50 });
  return {
    url,
    child,
    read: () => new Response(child.stderr).text(),
    async dropped(): Promise<number> {
      const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
      return Number(/^test_analytics_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
    },
    async end(): Promise<void> {
      try {
        child.kill("SIGKILL");
      } catch {
        // Ended already.
      }
      await child.status;
      await child.stdout.cancel();
      if (!child.stderr.locked) await child.stderr.cancel();
    },
  };
}

/** Sends requests whose log lines are long. */
async function sendRequests(url: string): Promise<void> {
  const headers = { "user-agent": "x".repeat(200), "x-request-id": "i".repeat(60) };
  let sent = 0;
  await Promise.all(Array.from({ length: AT_A_TIME }, async () => {
    while (sent++ < REQUESTS) {
      const signal = AbortSignal.timeout(LONGEST_MS);
      const response = await fetch(`${url}/health`, { headers, signal });
      await response.body?.cancel();
    }
  }));
}

describe("a service whose log is not read", () => {
  it("answers requests, counts the dropped lines, and logs the count once it is read", async () => {
    const dataDir = await copyTemplate();
    const service = await startUnread({ DATA_DIR: dataDir });
    try {
      assert.equal(await service.dropped(), 0);
      await sendRequests(service.url);
      const dropped = await service.dropped();
      assert.ok(dropped > 0 && dropped < REQUESTS, `${dropped} dropped`);
      // Another process uses the embedded database.
      await prepare({ DATA_DIR: dataDir }, ["org create acme"]);

      const reading = service.read();
      await pause(500);
      await sendRequests(service.url);
      service.child.kill("SIGTERM");
      const lines = (await reading).trim().split("\n").filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line));
      assert.equal((await service.child.status).code, 0);
      const counted = lines.filter(({ message }) => message === "log lines dropped");
      assert.ok(counted.length > 0);
      const all = counted.reduce((sum, { level, count }) => {
        assert.equal(level, "warn");
        return sum + count;
      }, 0);
      assert.ok(all >= dropped, `${all} of ${dropped}`);
      const requests = lines.filter(({ message }) => message === "request").length;
      // The others asked whether it had started.
      assert.ok(requests + all >= 2 * REQUESTS, `${requests} and ${all}`);
    } finally {
      await service.end();
      await Deno.remove(dataDir, { recursive: true });
    }
  });

  it("ends in time, with the code 0", async () => {
    const { environment, remove } = await newServiceData();
    const service = await startUnread(environment);
    try {
      await sendRequests(service.url);
      const begun = performance.now();
      service.child.kill("SIGTERM");
      const { code } = await service.child.status;
      assert.equal(code, 0);
      assert.ok(performance.now() - begun < 10_000);
    } finally {
      await service.end();
      await remove();
    }
  });
});
